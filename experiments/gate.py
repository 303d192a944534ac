"""Is the verdict to be trusted? Hundreds of simulated records whose truth is known.

    python -m experiments.gate --out DIR [--records 200] [--case NAME ...] [--workers 1]
        [--pool 200] [--json FILE]

A record is a generated trace that is played as if it were a real one: it is given as a trace, so
that nothing knows what it was made from. On each the verdict of five folds by time
(`failgym.agents.training.rolling_origin`) is asked for

* of every rule that fits, as published: so are harmful policies met, and such as save a little;
* of what counterfactual learning makes of the record (``train --rolling``), with small settings.

The truth is what the same policy saves on ``--pool`` fresh traces after the same profile, as long
as the record. The earlier half of the jobs is what is known there, the later half is played, as in
the middle fold. Of each trace some tasks are drawn by what is at stake on them
(`failgym.leaderboard.suite.by_stake`), the same for all policies. Costs are machine-hours; the
interval is over traces.

A verdict on learning is about five agents, each of its own past, while the one that is kept is that
of the whole train split. Both have a truth: that of the *kept* agent is what the user gets, and the
one that promises are about; that of the *folds'* agents, on the mean, is what the verdict measured.
Each of the latter is played on every fifth trace. Where a record teaches nothing, or cannot be
judged, there is no verdict, and nothing is adopted: such are told apart.

`CASES` are laws under which a gain is found easily, hardly, or not at all. Records are dealt out to
them in turn. DIR keeps a file of each record and of each fresh trace: the same command goes on
after a kill, and more ``--records`` add to what is there. What is counted is said in
`experiments.gate_summary`.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from experiments.gate_summary import FOLDS as OF_FOLDS
from experiments.gate_summary import KEPT, RULES, Judged, Summary, groups
from experiments.measured_worlds import world_of
from failgym.agents import TrainingSettings, load_agent, train
from failgym.agents.training.result import TrainingResult
from failgym.agents.training.rolling_origin import FOLDER, places_of, verdict_of_folds
from failgym.baselines import REGISTRY, Heuristic
from failgym.baselines.stored import parameters
from failgym.cli.options import RayAddress, WorkersOption, read_workers
from failgym.cli.output import JsonFile, interactive, print_line, print_table
from failgym.envs import Scenario, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Predicts
from failgym.evaluation.progress import Advance, progress_bar
from failgym.evaluation.runner import run_policy
from failgym.evaluation.scoring import Score, score
from failgym.evaluation.verdict import Verdict
from failgym.files import replacing
from failgym.leaderboard.suite.by_stake import draw_by_stake
from failgym.traces import Trace
from failgym.traces.synthetic import PROFILES, generate
from failgym.vocabulary import HOUR
from failgym.workers import each
from failgym.worlds.settings.splitting import FOLDS

__all__ = ["CASES", "Campaign", "Case", "Key", "dealt", "judged_of", "told", "truths_of"]

NO_RULES = frozenset({"replay", "random"})
FRESH = 1_000_000
"""Seed of the first fresh trace; records have those from 0 on."""
LINES = 50
"""That say how many are done."""
SMALL: dict[str, Any] = {"trees": 20, "depth": 3, "models": 3, "caution": [1.0, 2.0], "env": None}
"""What every learner here has in common."""
STOPPING = [{"policy": name} for name in ("optimal_stopping", "grace_period", "immediate_kill")]
INTERVALS = [
    {"policy": "introspective"},
    {"policy": "introspective", "parameters": {"factor": 2.0}},
    {"policy": "young"},
]


@dataclass(frozen=True)
class Case:
    """A law of records, and how is learned on them."""

    name: str
    env: str
    profile: str
    jobs: int
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    """fields of the profile"""
    hyper: dict[str, Any] = field(default_factory=dict[str, Any])
    """of the learner, beside `SMALL`"""
    slices: int = 800
    """tasks of a fresh trace that are played"""
    fewer: int = 1
    """of the fresh traces of a campaign one in so many is played: where each takes long"""

    def fresh(self, pool: int) -> range:
        """The numbers of its fresh traces in a campaign of so many for each case."""
        return range(max(pool // self.fewer, 2))

    def trace(self, seed: int) -> Trace:
        """A trace of this law."""
        profile = replace(PROFILES[self.profile], **self.changes)
        return generate(profile, jobs=self.jobs, seed=seed, usage=False)

    def scenario(self, seed: int, **fields: Any) -> Scenario:
        """The environment on such a trace, as on any record."""
        return resolve(self.env).override(trace=self.trace(seed), **fields)

    @property
    def rules(self) -> dict[str, Heuristic]:
        """Every rule that fits, as published."""
        scenario = resolve(self.env).override(forecast="trained")  # as a record's is
        found = {name: one for name, one in REGISTRY.items() if name not in NO_RULES}
        return {name: one() for name, one in found.items() if one.compatible(scenario)}

    @property
    def law(self) -> dict[str, Any]:
        """All that decides what is found of it, but the code: JSON."""
        of_rules = {name: parameters(rule) for name, rule in self.rules.items()}
        found = {**asdict(self), "small": SMALL, "rules": of_rules, "world": world_of(self.env)}
        return json.loads(json.dumps(found))

    @property
    def settings(self) -> TrainingSettings:
        """How an agent is trained."""
        return TrainingSettings("counterfactual", hyper={**SMALL, **self.hyper}, rolling=True)


KILLS: dict[str, Any] = {"episodes": 3_000, "decisions": 0.1, "advice": STOPPING}
CASES = (
    Case(
        *("kills", "GracePeriod-v1", "google-2011", 24_000),
        *({"job_tasks": 5, "longest": 8 * HOUR}, KILLS),
    ),
    Case(
        *("short tasks", "GracePeriod-v1", "google-2011-applications-narrow", 12_000),
        *({"job_tasks": 5, "longest": 4 * HOUR}, KILLS),
    ),
    Case("large jobs", "GracePeriod-v1", "google-2011-applications-narrow", 6_000, hyper=KILLS),
    Case(
        *("retries", "Cloning-v1", "google-2011-failing", 4_000, {"job_tasks": 20}),
        {"episodes": 2_000, "decisions": 0.2, "advice": []},
    ),
    Case(
        *("checkpoints", "Checkpoint-v1", "system-a-harsh-applications", 6_000),
        hyper={"episodes": 150, "decisions": 0.01, "advice": INTERVALS},
        slices=150,
        fewer=5,
    ),
)
"""In turn, by what fresh traces say: most rules that kill save; they save little; few large jobs
decide, and to kill costs, mostly not surely; to give up saves, and retries and clones harm; nearly
any checkpoint saves."""


class Key(NamedTuple):
    """A record of a case, or a fresh trace."""

    case: str
    number: int

    @property
    def file(self) -> str:
        """The name of its file, without an ending."""
        return f"{self.case.replace(' ', '-')}-{self.number:04d}"


def dealt(cases: Sequence[Case], records: int) -> list[Key]:
    """So many records, dealt out to the cases in turn."""
    return [Key(cases[at % len(cases)].name, at // len(cases)) for at in range(records)]


@dataclass(frozen=True)
class Campaign:
    """What is kept in a folder; other workers get a copy."""

    folder: Path
    cases: tuple[Case, ...]
    keys: tuple[Key, ...]
    """of all records that are asked for"""

    def case(self, name: str) -> Case:
        """The case of a name."""
        return next(one for one in self.cases if one.name == name)

    def agents(self, key: Key) -> Path:
        """The folder of the agents of a record."""
        return self.folder / "agents" / key.file

    def record(self, key: Key) -> None:
        """Judge everything on a record, unless it has been."""
        file, case = self.folder / "records" / f"{key.file}.json", self.case(key.case)
        if _kept(file, case):
            return
        begun = time.perf_counter()
        scenario = case.scenario(key.number)
        found: dict[str, Any] = {"case": case.name, "number": key.number, "law": case.law}
        found["env"] = case.env
        try:
            places = places_of(scenario)
            runs = {
                name: [place.run(rule, threads=1) for place in places]
                for name, rule in case.rules.items()
            }
            found["rules"] = {
                name: verdict_of_folds(places, one).to_json() for name, one in runs.items()
            }
            found["learned"] = self.learned(key, scenario).to_json()
        except ValueError as error:
            found["reason"] = " ".join(str(error).split())
        _write(file, {**found, "seconds": time.perf_counter() - begun})

    def learned(self, key: Key, scenario: Scenario) -> Verdict:
        """The verdict on agents of a record. Raises ValueError if nothing can be learned of it."""
        out, settings = self.agents(key), self.case(key.case).settings
        if out.exists():
            try:
                return _verdict(train(scenario, out, settings, resume=True))
            except ValueError:  # it was stopped before there was anything to go on with
                shutil.rmtree(out)
        return _verdict(train(scenario, out, settings))

    def truth(self, key: Key) -> None:
        """Play everything that is to be on a fresh trace, unless it has been."""
        file, case = self.folder / "truths" / f"{key.file}.json", self.case(key.case)
        found = _kept(file, case) or {"law": case.law, "saved": {}}
        policies = {
            name: policy
            for name, policy in self.policies(case, key.number).items()
            if name not in found["saved"]
        }
        if not policies:
            return
        scenario = case.scenario(FRESH + key.number, boundary=0.5, slice_tasks=1)
        place = Anchors.of(scenario, split="test")
        drawn = draw_by_stake(place.possible, place.spent, case.slices, key.number)
        hours = drawn.weights / place.machine_hour
        replay = place.replay.costs.sum(axis=1)[drawn.slices]
        here = {
            name: float(values[drawn.slices] @ hours)
            for name, values in (("possible", place.possible), ("spent", place.spent))
        }
        if {name: found.get(name, value) for name, value in here.items()} != here:
            raise ValueError(f"{file}: was played in another world: choose another folder")
        found |= here
        for name, policy in policies.items():
            saved = 0.0
            if policy is not None:
                player = load_agent(policy) if isinstance(policy, Path) else policy
                chosen = drawn.slices
                run = run_policy(place.world, place.scenario, player, chosen, threads=1)
                saved = float((replay - run.costs.sum(axis=1)) @ hours)
            found["saved"][name] = saved
        _write(file, found)

    def policies(self, case: Case, number: int) -> dict[str, Predicts | Path | None]:
        """What is to be played on a fresh trace, by name; None stands for replay."""
        found: dict[str, Predicts | Path | None] = dict(case.rules)
        for key in self.keys:
            row = self.row(key) if key.case == case.name else {}
            if "learned" in row:
                out = self.agents(key)
                found[f"{KEPT} {key.number}"] = out / "best.safetensors"
                fold = out / FOLDER.format(number % FOLDS + 1) / "best.safetensors"
                found[f"{OF_FOLDS} {key.number}"] = fold if fold.exists() else None
        return found

    def row(self, key: Key) -> dict[str, Any]:
        """What is known of a record."""
        return json.loads((self.folder / "records" / f"{key.file}.json").read_text("utf-8"))

    def fresh(self, key: Key) -> dict[str, Any]:
        """What is known of a fresh trace. Raises ValueError if nothing is, or of another law."""
        file = self.folder / "truths" / f"{key.file}.json"
        found = _kept(file, self.case(key.case))
        if found is None:
            raise ValueError(f"{file}: no such file: expected what the campaign of verdicts wrote")
        return found


def _verdict(result: TrainingResult) -> Verdict:
    assert result.verdict is not None, "folds have one"
    return result.verdict


def _kept(file: Path, case: Case) -> dict[str, Any] | None:
    """What a file holds, if it is there. Raises ValueError if it is of another law."""
    if not file.exists():
        return None
    found = json.loads(file.read_text("utf-8"))
    if found["law"] != case.law:
        raise ValueError(f"{file}: is of other settings of {case.name!r}: choose another folder")
    return found


def _write(file: Path, content: dict[str, Any]) -> None:
    with replacing(file) as partial:
        partial.write_text(json.dumps(content, indent=1), "utf-8")


def truths_of(fresh: Sequence[dict[str, Any]], *, of_spent: bool = False) -> dict[str, Score]:
    """The true score of each policy that was played on all these traces.

    Args:
        fresh: what is known of each trace.
        of_spent: in percent of what replay spends, not of what the bound saves.
    """
    possible, spent = (np.array([one[name] for one in fresh]) for name in ("possible", "spent"))
    possible = spent if of_spent else possible
    names = set[str].intersection(*(set(one["saved"]) for one in fresh))
    return {
        name: score(
            spent,
            spent - np.array([one["saved"][name] for one in fresh]),
            spent - possible,
            spent=spent,
        )
        for name in sorted(names)
    }


def judged_of(rows: Iterable[dict[str, Any]], truths: dict[str, dict[str, Score]]) -> list[Judged]:
    """Verdicts beside truths.

    Args:
        rows: of records.
        truths: of policies, by case.
    """
    found: list[Judged] = []
    for row in rows:
        true = truths[row["case"]]
        for name, verdict in row.get("rules", {}).items():
            found.append(_judged(row, name, RULES, verdict, true[name]))
        for kind in (KEPT, OF_FOLDS) if "learned" in row else ():
            truth = true[f"{kind} {row['number']}"]
            found.append(_judged(row, "learned", kind, row["learned"], truth))
    return found


def _judged(
    row: dict[str, Any], policy: str, kind: str, verdict: dict[str, Any], truth: Score
) -> Judged:
    answer, smallest = verdict["answer"], verdict["smallest"]
    return Judged(row["case"], row["number"], policy, kind, answer, smallest, truth)


@contextmanager
def told(label: str, total: int) -> Generator[Advance]:
    """Show how many are done: a bar, or every now and then a line, if nobody is looking."""
    if interactive():
        with progress_bar(label, total) as advance:
            yield advance
        return
    done, begun = 0, time.perf_counter()

    def advance_line(more: int) -> None:
        nonlocal done
        before, done = done, done + more
        if done * LINES // total > before * LINES // total:
            hours = (time.perf_counter() - begun) / 3_600.0
            print_line(f"{label}: {done:,} of {total:,} after {hours:.2f} h")

    yield advance_line


TITLES = (
    *("", "adopt", "no evidence", "harm", "harmful: adopted", "twice the smallest: missed"),
    *("by the typical smallest", "unsure: adopted"),
)


def cells(one: Summary) -> tuple[str | int, ...]:
    """What a table shows of a group."""
    return (
        *(one.name, one.adopt, one.none, one.harm, one.harmful_adopted.text, one.missed.text),
        *(one.missed_typical.text, f"{one.unsure_adopted} of {one.unsure}"),
    )


def main(
    out: Annotated[Path, typer.Option(file_okay=False, metavar="DIR", help="Kept there.")],
    records: Annotated[int, typer.Option(min=1, help="Of all cases together.")] = 200,
    case: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Repeatable; all by default.")
    ] = None,
    workers: WorkersOption = "1",
    ray_address: RayAddress = None,
    pool: Annotated[int, typer.Option(min=2, help="Fresh traces of each case.")] = 200,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write it there.")] = None,
) -> None:
    """Count how often the verdict is wrong."""
    file, crew = JsonFile.at(json_file), read_workers(workers, ray_address)
    cases = tuple(one for one in CASES if case is None or one.name in case)
    if unknown := set(case or ()) - {one.name for one in CASES}:
        known = ", ".join(one.name for one in CASES)
        raise typer.BadParameter(f"--case {min(unknown)}: expected one of {known}")
    for name in ("records", "agents", "truths"):
        (out / name).mkdir(parents=True, exist_ok=True)
    keys = dealt(cases, records)
    campaign = Campaign(out, cases, tuple(keys))
    with told("records", len(keys)) as advance:
        each(campaign.record, keys, crew, done=advance, folder=out)
    used = [one for one in cases if any(key.case == one.name for key in keys)]
    fresh = {one.name: [Key(one.name, at) for at in one.fresh(pool)] for one in used}
    todo = [key for of_case in fresh.values() for key in of_case]
    with told("fresh traces", len(todo)) as advance:
        each(campaign.truth, todo, crew, done=advance, folder=out)
    played = {name: [campaign.fresh(key) for key in keys] for name, keys in fresh.items()}
    truths = {name: truths_of(found) for name, found in played.items()}
    of_spent = {
        one.name: {
            rule: truth
            for rule, truth in truths_of(played[one.name], of_spent=True).items()
            if rule in one.rules
        }
        for one in used
    }
    rows = [campaign.row(key) for key in keys]
    judged = judged_of(rows, truths)
    refused = [row["reason"] for row in rows if "reason" in row]
    file.write(
        {
            "records": len(rows),
            "pool": {name: len(keys) for name, keys in fresh.items()},
            "refused": refused,
            "cases": [one.law for one in used],
            "judged": [asdict(one) for one in judged],
            "rules_of_spent": of_spent,  # what advice is held against
        }
    )
    lines = [cells(one) for one in groups(judged)]
    print_table("Verdicts on simulated records", TITLES, lines, unbroken=frozenset(TITLES))
    print_line(f"{len(refused)} of {len(rows)} records could not be judged, or taught nothing")


if __name__ == "__main__":
    typer.run(main)
