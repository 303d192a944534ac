"""Does it pay to copy stragglers? That depends on how much of slowness was chance.

    python -m experiments.speculation --json FILE [--google DIR] [--first 4000] [--traces 10]
    python -m experiments.results_pages --speculation FILE

`late` (Zaharia et al., OSDI 2008) and `spark_speculation` are played in the pinned world, records
going on by rules C1 to C9 of `failgym.sim.reference`, with kappa (`task_share`) at 0, where a copy
draws a new speed, at the estimate, and at 1, where it is as slow as the original. Three records:

Pareto
    Run times as heavy-tailed as Google's: Pareto with shape 1.3 (Ghit and Epema, HPDC 2017, section
    3.2, of the trace of 2011). Chosen: jobs of 100 tasks that start together, ten minutes at least
    and 100 times that at most, a job every ten minutes; nothing fails. Fresh traces; windows of a
    minute.
BTWORLD
    Jobs of BTWORLD as profile `panda-das` generates them: 1.5 % of the tasks of the stages that
    read the input are outliers, of which 70 % take 1.5 to 3 medians and 5 % take 10 and more (the
    same section; the rest is chosen, as the profile says). The profile states run times; here jobs
    are run one after the other on their machines' slots, tasks in order on the slot that is free
    first, nothing fails, and a stage is recorded as a job of its own, since its tasks are each
    other's siblings. Fresh traces; windows of a second, as tasks take six.
Google 2011
    The test split of Google's record, if `--google` names its folder (`failgym trace import`); laws
    by its train split, five draws. Windows of five minutes, asked about at ages that grow by a
    quarter.

What is saved beside replay is told for 1,000 tasks, in machine-hours: an hour of waiting costs one,
a task that does not finish four times its own. Beside it stands by how much jobs end earlier, all
their tasks done, in percent of how long they took; and the price of an hour of waiting, in
machine-hours, from which on a rule saves anything. Intervals are those of a bootstrap of traces and
their jobs, or of blocks of jobs of the record, each with the mean of its draws.

LATE waits a minute before it copies, which is ten medians of a task of BTWORLD; `late_early` waits
a median (`minimum_age` .1). Of Google's record it is also told how the tasks end in the record
that are copied, at kappa 0 and of the first draw. FILE keeps what has been measured: a command
that was stopped goes on.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from failgym.baselines import Heuristic, Late, SparkSpeculation
from failgym.cli.output import print_line, print_table
from failgym.continued import TASK_SHARE
from failgym.envs import Scenario, resolve
from failgym.evaluation.continuing import CONTINUING
from failgym.evaluation.ledger import Run
from failgym.evaluation.runner import run_policy
from failgym.evaluation.statistics.interval_width import stretched
from failgym.evaluation.statistics.resampling import resampled, spread_of
from failgym.evaluation.statistics.sampling_units import of_jobs
from failgym.files import replacing
from failgym.traces import Meta, Outcome, Trace, generate
from failgym.traces.synthetic import PROFILES
from failgym.traces.synthetic.profiles.panda import BTWORLD, PandaDas
from failgym.vocabulary import HOUR, MINUTE, SECOND, TERMS, SimOutcome
from failgym.worlds.build import build_world, split_of
from failgym.worlds.world import World

__all__ = [
    "COLUMNS",
    "TITLES",
    "End",
    "Row",
    "as_run",
    "by_end",
    "cells",
    "ratio",
    "rows_of",
    "saved_by",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHARES = {"0": 0.0, "estimate": TASK_SHARE, "1": 1.0}
RULES: dict[str, Heuristic] = {
    "late": Late(),
    "late_early": Late(minimum_age=0.1),
    "spark_speculation": SparkSpeculation(),
}
PLAYED: dict[str, Any] = {
    "select": "all",
    "forecast": "none",
    "beyond_record": "continued",
    "restarts": "record",
    "task_value": 4.0,
    "waiting_price": 1.0,
    **{f"weight_{term}": 1.0 for term in ("wasted", "overhead", "completion", "forfeited")},
}
SHAPE = 1.3
LEAST, MOST = 10 * MINUTE, 1_000 * MINUTE
PARETO_JOBS, PARETO_TASKS, APART = 60, 100, 10 * MINUTE
"""Jobs of a trace, of which the second half is the test split; tasks of each; and between jobs."""
BTWORLD_JOBS = 2
"""Jobs of BTWORLD in a trace, one after the other; the second is the test split."""
DRAWS = 5
"""Of Google's record."""
COLUMNS = (*TERMS, "tasks", "copied", "overtaken", "earlier", "took")
"""What is kept of each unit: cost saved by term [machine-h], tasks, those copied, those of them
that settled earlier than recorded, by how much its jobs ended earlier and how long they took
[h]."""
SHOWN = ("completion", "wasted", "forfeited")
"""Terms that copies change."""
TITLES = (
    *("record", "rule", "kappa", "copied", "overtake", "jobs earlier [%]"),
    *(*SHOWN, "cost", "pays from"),
)
"""Of a table of `cells`."""
GOOGLE = "Google 2011"
FEW = 100
"""Copied tasks that end alike of which nothing is told if they are fewer."""
DEAREST = 100.0
"""Price of an hour of waiting beyond which none is told [machine-h]."""
THOUSAND, PERCENT = 1_000.0, 100.0
CONFIDENCE = 95.0
RESAMPLED_BY = 0

Interval = tuple[float, float, float]
"""A number, and the ends of its interval."""


@dataclass(frozen=True)
class End:
    """What a rule saves in the tasks that it copies and that end alike in the record."""

    rule: str
    end: str
    copied: int
    overtaken: int
    completion: float
    """[machine-h]"""
    wasted: float
    """[machine-h]"""
    largest_job: float
    """share of what is lost, of one job"""


@dataclass(frozen=True)
class Row:
    """What a rule saves, with intervals."""

    source: str
    rule: str
    share: str
    """kappa"""
    copied: float
    """of 1,000 tasks"""
    overtaken: float
    """share of the copied tasks that settle earlier"""
    earlier: Interval
    """by how much jobs end earlier, in percent of how long they took"""
    terms: dict[str, float]
    """what is saved of each for 1,000 tasks [machine-h]"""
    cost: Interval
    """the sum"""
    units: int

    @property
    def pays_from(self) -> float | None:
        """Price of an hour of waiting [machine-h] from which on something is saved; None: never."""
        other = sum(self.terms.values()) - self.terms["completion"]
        return max(-other / self.terms["completion"], 0.0) if self.terms["completion"] > 0 else None


def pareto(seed: int) -> Trace:
    """Jobs of tasks whose run times are as heavy-tailed as Google's."""
    rng = np.random.default_rng(seed)
    submit = np.arange(PARETO_JOBS) * APART + rng.integers(1, APART, PARETO_JOBS)
    job = np.repeat(np.arange(PARETO_JOBS), PARETO_TASKS)
    over = (1.0 - rng.random(len(job))) ** (-1.0 / SHAPE)
    run = np.minimum(np.floor(LEAST * over), MOST).astype(np.int64)
    return _finished("Pareto run times", job, submit, submit[job], run, [""] * PARETO_JOBS)


def btworld(seed: int) -> Trace:
    """Jobs of BTWORLD as they run."""
    profile = PROFILES["panda-das"]
    assert isinstance(profile, PandaDas)
    made = generate(replace(profile, applications=(BTWORLD,)), jobs=BTWORLD_JOBS, seed=seed)
    return as_run(made, BTWORLD.nodes * profile.slots)


def as_run(planned: Trace, slots: int) -> Trace:
    """The stages of jobs of stated run times as jobs that ran.

    Args:
        planned: tasks in the order of their stages, of which all parents come before them, one
            attempt of stated length each. Each job runs alone, once that before it has ended.
        slots: how many tasks run at a time; each starts on the slot that is free first, once all
            tasks of the stages before have ended.

    Returns:
        A trace whose jobs are the stages, submitted when their first task may start. All attempts
        FINISH; no length is stated.
    """
    stage = planned.column("tasks", "stage").astype(np.int64)
    length = planned.column("attempts", "length").astype(np.int64)
    first = np.searchsorted(stage, np.arange(planned.rows("stages") + 1))
    of_job = planned.column("stages", "job").astype(np.int64)
    parents = _parents(planned)
    submit = planned.column("jobs", "submit").astype(np.int64)
    release, start = np.zeros(len(of_job), dtype=np.int64), np.zeros_like(length)
    through = np.zeros(len(of_job), dtype=np.int64)
    free, begun, job = list[int](), 0, -1
    for number, here in enumerate(of_job.tolist()):
        if here != job:
            begun = max(int(submit[here]), int(through.max(initial=0)))
            free, job = [begun] * slots, here
        ready = [int(through[parent]) for parent in parents[number]]
        release[number] = max(ready, default=begun)
        for task in range(int(first[number]), int(first[number + 1])):
            start[task] = max(free[0], int(release[number]))
            heapq.heapreplace(free, int(start[task] + length[task]))
        tasks = slice(first[number], first[number + 1])
        through[number] = (start[tasks] + length[tasks]).max(initial=release[number])
    return _stages_as_jobs(planned, stage, release, start, length)


def _parents(planned: Trace) -> list[list[int]]:
    """Of each stage, those that come before it."""
    parent: list[int] = planned.column("stage_edges", "parent").tolist()
    child: list[int] = planned.column("stage_edges", "child").tolist()
    before = [list[int]() for _ in range(planned.rows("stages"))]
    for one, other in zip(parent, child, strict=True):
        before[other].append(one)
    return before


def _stages_as_jobs(planned: Trace, stage: Ints, release: Ints, start: Ints, run: Ints) -> Trace:
    order = np.argsort(release, kind="stable")
    place = np.argsort(order, kind="stable")[stage]
    by_job = np.argsort(place, kind="stable")
    names = planned.column("stages", "name").astype(object)[order].tolist()
    source = planned.meta.source
    return _finished(source, place[by_job], release[order], start[by_job], run[by_job], names)


def _finished(
    source: str, job: Ints, submit: Ints, start: Ints, run: Ints, names: list[str]
) -> Trace:
    """A trace of tasks that all finish at once; tasks in the order of their jobs."""
    width = np.bincount(job, minlength=len(submit))
    end = start + run
    return Trace.of(
        Meta(source, end=int(end.max())),
        jobs={
            "original_id": [str(number) for number in range(len(submit))],
            "name": [name or None for name in names],
            "submit": submit,
            "width": width,
            "outcome": Outcome.FINISH,
        },
        tasks={
            "job": job,
            "index": np.arange(len(job)) - np.repeat(np.cumsum(width) - width, width),
            "width": 1,
        },
        attempts={
            "task": np.arange(len(job)),
            "queued": submit[job],
            "start": start,
            "end": end,
            "outcome": Outcome.FINISH,
        },
    )


def scenarios(google: Path | None, seeds: Sequence[int]) -> Iterator[tuple[str, str, Scenario]]:
    """What is played: the source, which trace or draw of it, and the environment."""
    half: dict[str, Any] = {"decide": "every", "boundary": 0.5}
    for seed in seeds:
        yield "Pareto", str(seed), _scenario(trace=pareto(seed), window=MINUTE, **half)
    if google is not None:
        for draw in range(DRAWS):
            yield GOOGLE, str(draw), _scenario(trace=google, draw_seed=draw)
    for seed in seeds:
        yield "BTWORLD", str(seed), _scenario(trace=btworld(seed), window=SECOND, **half)


def _scenario(**fields: Any) -> Scenario:
    return resolve("failgym/Cloning-v1", {**PLAYED, **fields, "split": "test"})


def saved_by(scenario: Scenario, *, apart: bool) -> dict[str, dict[str, Floats]]:
    """What each rule saves beside replay: by kappa, then rule, [units, COLUMNS].

    Args:
        scenario: of which all slices of the split are played.
        apart: are jobs independent of each other? Then each is a unit.
    """
    before, saved = None, dict[str, dict[str, Floats]]()
    for share, kappa in SHARES.items():
        given = scenario.override(task_share=kappa)
        world = build_world(given)
        if before is None:  # what is left alone happens as recorded, whatever kappa
            before = run_policy(world, given, CONTINUING, order=given.order)
        saved[share] = {}
        for name, rule in RULES.items():
            run = run_policy(world, given, rule, order=given.order)
            saved[share][name] = _units(given, world, before, run, apart)
    return saved


def _units(scenario: Scenario, world: World, before: Run, run: Run, apart: bool) -> Floats:
    """[units, COLUMNS]"""
    done = run.outcomes
    job = split_of(scenario, "test").column("tasks", "job")[done["task"]].astype(np.int64)
    units = of_jobs(job, done["submit"], apart=apart)
    copied = done["clones"] > 0
    earlier = copied & (done["end"] < done["recorded_end"])
    columns = [*(_costs(world, before) - _costs(world, run)).T, np.ones(len(job)), copied, earlier]
    _, first, of_job = np.unique(job, return_index=True, return_inverse=True)
    ended, recorded = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
    np.maximum.at(ended, of_job, done["end"])
    np.maximum.at(recorded, of_job, done["recorded_end"])
    for of_jobs_ in (recorded - ended, recorded - done["submit"][first]):
        spread_out = np.zeros(len(job))
        spread_out[first] = of_jobs_ / HOUR
        columns.append(spread_out)
    return np.stack([units.sums(column.astype(np.float64)) for column in columns], axis=1)


def by_end(scenario: Scenario) -> list[End]:
    """What each rule saves by copies, by how tasks end in the record.

    Args:
        scenario: of which all slices of the split are played.
    """
    world = build_world(scenario)
    before, found = run_policy(world, scenario, CONTINUING, order=scenario.order), list[End]()
    job = split_of(scenario, scenario.split).column("tasks", "job").astype(np.int64)
    for name, rule in RULES.items():
        run = run_policy(world, scenario, rule, order=scenario.order)
        done, saved = run.outcomes, _costs(world, before) - _costs(world, run)
        for end in np.unique(done["recorded_outcome"][done["clones"] > 0]).tolist():
            chosen = (done["clones"] > 0) & (done["recorded_outcome"] == end)
            lost = -np.bincount(job[done["task"][chosen]], saved[chosen].sum(axis=1))
            found.append(
                End(
                    rule=name,
                    end=SimOutcome(end).name,
                    copied=int(chosen.sum()),
                    overtaken=int((chosen & (done["end"] < done["recorded_end"])).sum()),
                    completion=float(saved[chosen, TERMS.index("completion")].sum()),
                    wasted=float(saved[chosen, TERMS.index("wasted")].sum()),
                    largest_job=float(lost.max() / lost.sum()),
                )
            )
    return found


def _costs(world: World, run: Run) -> Floats:
    """Cost of each task by term, [tasks, 5] in machine-hours."""
    costs = world.task_costs(run.outcomes)
    assert costs is not None, "tasks of the pinned world have costs of their own"
    return costs / (world.work_price * HOUR)


def rows_of(content: dict[str, Any]) -> list[Row]:
    """What came of each rule.

    Args:
        content: of the file that is written; its "records" are, by source, then trace or draw,
            kappa and rule, the units.
    """
    return [
        _row(source, rule, share, [np.array(found[share][rule]) for found in by_trace.values()])
        for source, by_trace in content["records"].items()
        for rule in RULES
        for share in SHARES
    ]


def _row(source: str, rule: str, share: str, parts: list[Floats]) -> Row:
    if source == GOOGLE:  # draws of one record: each unit is as it fares in the mean
        units = np.mean(parts, axis=0)
        trace = np.zeros(len(units), dtype=np.int64)
    else:
        units = np.concatenate(parts)
        trace = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    column = {name: units[:, at] for at, name in enumerate(COLUMNS)}
    tasks, copied = column["tasks"], float(column["copied"].sum())
    cost = units[:, : len(TERMS)].sum(axis=1)
    return Row(
        source=source,
        rule=rule,
        share=share,
        copied=THOUSAND * copied / float(tasks.sum()),
        overtaken=float(column["overtaken"].sum()) / copied if copied else 0.0,
        earlier=ratio(PERCENT * column["earlier"], column["took"], trace),
        terms={name: THOUSAND * float(column[name].sum() / tasks.sum()) for name in TERMS},
        cost=ratio(THOUSAND * cost, tasks, trace),
        units=len(units),
    )


def ratio(over: Floats, under: Floats, trace: Ints) -> Interval:
    """A ratio of sums over units, and the ends of its 95 % interval.

    Args:
        over: [units].
        under: [units], above 0 in the sum.
        trace: [units] the trace of each, numbered from 0 without gaps.
    """
    value = float(over.sum() / under.sum())
    spread = spread_of((over - value * under) / under.sum(), trace)
    rng = np.random.default_rng(RESAMPLED_BY)
    sums = resampled(np.stack([over, under], axis=1), trace, spread.trace_weight, rng)
    outside = (100.0 - CONFIDENCE) / 2.0
    low, high = np.percentile(sums[:, 0] / sums[:, 1], [outside, 100.0 - outside]).tolist()
    return (value, *stretched(value, (low, high), spread.parts, CONFIDENCE))


def main(
    json_: Annotated[Path, typer.Option("--json", dir_okay=False)] = Path("speculation.json"),
    google: Annotated[Path | None, typer.Option(help="Google's record of 2011, stored.")] = None,
    first: Annotated[int, typer.Option(help="Seed of the first trace.")] = 4_000,
    traces: Annotated[int, typer.Option(min=2, help="Traces that are generated.")] = 10,
) -> None:
    """Print what copies of stragglers save."""
    content: dict[str, Any] = {"records": {}, "ends": []}
    if json_.exists():
        content = json.loads(json_.read_text())
    for source, key, scenario in scenarios(google, range(first, first + traces)):
        known = content["records"].setdefault(source, {})
        if key in known:
            continue
        saved = saved_by(scenario, apart=source != GOOGLE)
        known[key] = {
            share: {rule: units.round(9).tolist() for rule, units in by_rule.items()}
            for share, by_rule in saved.items()
        }
        _write(json_, content)
        print_line(f"{source} {key}")
    if google is not None and not content["ends"]:
        ends = by_end(_scenario(trace=google, task_share=0.0))
        content["ends"] = [asdict(end) for end in ends]
        _write(json_, content)
    rows = [cells(row) for row in rows_of(content)]
    print_table("saved for 1,000 tasks [machine-h]", TITLES, rows)
    for end in content["ends"]:
        print_line(", ".join(f"{name} {value}" for name, value in end.items()))


def _write(file: Path, content: dict[str, Any]) -> None:
    with replacing(file) as path:
        path.write_text(json.dumps(content))


def cells(row: Row) -> list[str]:
    """Of a table."""

    def told(value: Interval) -> str:
        middle, low, high = (f"{number + 0.0:.3g}" for number in value)
        return f"{middle} [{low}, {high}]"

    pays = "never"
    if row.pays_from is not None:
        pays = f"{row.pays_from:.2f}" if row.pays_from <= DEAREST else f"above {DEAREST:g}"
    terms = [f"{row.terms[name] + 0.0:.3g}" for name in SHOWN]
    shown = [f"{row.copied:.2f}", f"{row.overtaken:.2f}", told(row.earlier), *terms]
    return [row.source, row.rule, row.share, *shown, told(row.cost), pays]


if __name__ == "__main__":
    typer.run(main)
