"""What the figures of FLAW share: its test bench on stretches of LANL's system 2, and the runs.

"Failure-aware workflow scheduling in cluster environments" (FLAW), Cluster Computing 2010, section
V: ten stretches of two months from 2001 and 2002, in each 32 of the 49 nodes, drawn at random, and
workflows of 175 to 249 jobs that arrive together; a unit of time is five minutes. For each stretch
and accuracy AOA of .5 to .9 there are five traces of predictions; AOA 0 is RANK_HYBD, which asks
nobody, AOA 1 looks up the failures themselves.

Choices
    - A seed is a stretch, and has workflows of its own. Whatever is compared is compared on the
      same stretches and workflows.
    - The test bench of workflows is not public: these are those of the profile lanl-2, whose jobs
      take 200 units in the mean. Ten of them then keep 32 nodes busy for eight weeks, some longer
      than two months, so that stretches here are of 90 days.
    - Failures are those of the trace ``lanl-2`` (LA-UR-05-7318, system 2), if there is one; else
      they are generated after its statistics.
    - Half of the errors of a predictor are false positives, unless something else is said.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from experiments.reproduction import Measured, Options, Row
from failgym.baselines import Flaw, RankHybd
from failgym.envs import Scenario, resolve
from failgym.evaluation import failure_queries, run_policy
from failgym.metrics import COUNTS, aaa
from failgym.traces import Meta, Trace, generate
from failgym.traces.combine import on_nodes_of
from failgym.traces.synthetic import PROFILES, Lanl2
from failgym.worlds.build import build_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ERRORS",
    "Bench",
    "Runs",
    "answers",
    "bench",
    "concurrent",
    "draw_falling",
    "falling",
    "levels",
    "loads",
    "predictions",
    "rank_correlation",
    "runs",
    "sweep",
]

DAGS = 10
"""Concurrent workflows (Fig. 9)."""
LOADS = (1, 2, 5, 10)
"""Concurrent workflows where the load varies (Figs. 10 and 13); the paper's are lost."""
LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Accuracies AOA (section V-B), and the two extremes (section V-D)."""
PREDICTIONS = 5
"""Traces of predictions for each stretch and accuracy (section V-B)."""
ERRORS = 0.5
"""Share of false positives among the errors of a predictor."""
YEARS = (datetime.date(2001, 1, 1), datetime.date(2003, 1, 1))
"""From which stretches are drawn (section V-B)."""
DAY = 24 * 60 * 60_000
STRETCH = 90 * DAY
RECORD = "LANL's system 2"
PROFILE = "profile lanl-2"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bench:
    """Stretches of failures one after the other, in each the workflows that meet them."""

    source: str
    trace: Trace
    dags: int
    """workflows of each stretch"""
    unit: int
    """a unit of the test bench [ms]"""

    def scenario(
        self, accuracy: float, share: float = ERRORS, seed: int = 0, **fields: Any
    ) -> Scenario:
        """The environment, with predictions of an accuracy; 0 and 1 are none and all."""
        named = {0.0: "none", 1.0: "exact"}.get(accuracy, "calibrated")
        given: dict[str, Any] = {
            "trace": self.trace,
            "split": "all",
            "slice_jobs": self.dags,
            "node_forecast": named,
        }
        if named == "calibrated":
            given |= {"node_accuracy": accuracy, "node_false_positives": share, "seed": seed}
        return resolve("Workflow-v1", given | fields)


@dataclass(frozen=True)
class Runs:
    """What section V-C measures, an entry for each stretch; times in units."""

    makespan: Floats
    """of a workflow, in the mean"""
    loss: Floats
    """from dispatch to death, of all that failures ended"""
    reschedulings: Floats


def _lanl_2() -> Lanl2:
    profile = PROFILES["lanl-2"]
    assert isinstance(profile, Lanl2)
    return profile


def concurrent(options: Options) -> int:
    """Concurrent workflows where the load does not vary."""
    return 2 if options.quick else DAGS


def loads(options: Options) -> tuple[int, ...]:
    """Concurrent workflows where the load varies."""
    return LOADS[:2] if options.quick else LOADS


def levels(options: Options) -> tuple[float, ...]:
    """Accuracies AOA."""
    return (0.0, 0.5, 1.0) if options.quick else LEVELS


@cache
def bench(options: Options, dags: int = 0, weight: int = 200) -> Bench:
    """As many stretches as there are seeds, with workflows.

    Args:
        dags: workflows of each stretch; 0: as many as `concurrent` says.
        weight: mean compute time of a job [units].
    """
    dags = dags or concurrent(options)
    profile = replace(_lanl_2(), batch=dags, batch_gap=STRETCH, weight=(1, 2 * weight - 1))
    workload = generate(profile, jobs=dags * options.seeds, seed=dags)
    record = options.trace("lanl-2")
    if record is None:
        return Bench(PROFILE, workload, dags, profile.unit)
    log = _stretches(record, options.seeds)
    return Bench(RECORD, on_nodes_of(workload, log), dags, profile.unit)


def _stretches(record: Trace, count: int) -> Trace:
    """Failures of random stretches one after the other, of nodes in random order.

    A node that is down when its stretch begins, or ends, is down from, or up to, that moment.
    """
    origin = record.meta.unix_origin
    assert origin is not None, "lanl-2: expected a trace that knows its date"
    midnight = datetime.datetime.combine(YEARS[0], datetime.time(), datetime.UTC)
    first = int(midnight.timestamp()) * 1000 - origin
    days = (YEARS[1] - YEARS[0]).days - STRETCH // DAY
    machine, down, up = (record.column("outages", name) for name in ("machine", "down", "up"))
    up = np.where(up < 0, np.iinfo(np.int64).max, up)
    nodes = record.rows("machines")
    parts: list[tuple[Ints, Ints, Ints]] = []
    for number in range(count):
        rng = np.random.default_rng([2, number])
        begin = first + int(rng.integers(0, days)) * DAY
        place = rng.permutation(nodes)
        here = (down < begin + STRETCH) & (up > begin)
        shift = number * STRETCH - begin
        since = np.maximum(down[here], begin) + shift
        until = np.minimum(up[here], begin + STRETCH) + shift
        parts.append((place[machine[here]], since, until))
    row, since, until = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Trace.of(
        Meta(RECORD, end=count * STRETCH),
        machines={"original_id": [str(node) for node in range(nodes)], "speed": 1.0},
        outages={"machine": row, "down": since, "up": until},
    )


def runs(bench: Bench, scenario: Scenario) -> Runs:
    """FLAW, or RANK_HYBD if nothing is predicted, on all stretches."""
    policy = RankHybd() if scenario.node_forecast == "none" else Flaw()
    table = run_policy(build_world(scenario), scenario, policy, order="time", threads=1).outcomes
    job = bench.trace.column("tasks", "job")[table["task"]]
    taken = np.zeros(bench.trace.rows("jobs"), dtype=np.int64)
    np.maximum.at(taken, job, table["end"] - table["submit"])
    loss, kills = (np.bincount(job // bench.dags, table[name]) for name in ("loss", "outages"))
    makespan = taken.reshape(-1, bench.dags).mean(axis=1)
    return Runs(makespan / bench.unit, loss / bench.unit, kills.astype(np.float64))


def predictions(options: Options, accuracy: float) -> range:
    """Seeds of the traces of predictions; one says it all where nothing is drawn."""
    drawn = 0.0 < accuracy < 1.0
    return range(1 if options.quick or not drawn else PREDICTIONS)


@cache
def sweep(options: Options, dags: int = 0) -> dict[float, Runs]:
    """The means over the traces of predictions, by accuracy; `dags` as of `bench`."""
    test = bench(options, dags)
    found: dict[float, Runs] = {}
    for level in levels(options):
        each = [runs(test, test.scenario(level, seed=seed)) for seed in predictions(options, level)]
        names = ("makespan", "loss", "reschedulings")
        means = (np.mean([getattr(one, name) for one in each], axis=0) for name in names)
        found[level] = Runs(*means)
    return found


def falling(options: Options, what: str, most: float) -> Measured:
    """A measure by accuracy, and relative to no predictions on the same stretch.

    Args:
        options: how many stretches.
        what: a field of `Runs`.
        most: band of an AOA of .5, relative to 0.
    """
    found = {level: getattr(runs, what) for level, runs in sweep(options).items()}
    blind = found[0.0]
    rows = [Row.over(f"AOA {level:g}: {what}", list(each)) for level, each in found.items()]
    rows += [
        Row.over(
            f"{what} at AOA {level:g} / at 0",
            list(each / blind),
            band=(0.0, most) if level == 0.5 else None,
        )
        for level, each in found.items()
        if level
    ]
    series = {
        "source": bench(options).source,
        "AOA": levels(options),
        "mean": [float(each.mean()) for each in found.values()],
        "stretches": [each.tolist() for each in found.values()],
    }
    return Measured(tuple(rows), series)


def draw_falling(measured: Measured, figure: Figure, label: str) -> None:
    """The mean, and behind it each stretch."""
    axes: Any = figure.subplots()
    axes.plot(measured.series["AOA"], measured.series["stretches"], color="0.8", linewidth=1)
    axes.plot(measured.series["AOA"], measured.series["mean"], marker="o")
    axes.set_xlabel("AOA")
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0.0)
    axes.set_title(f"10 concurrent DAGs, {measured.series['source']}")


def rank_correlation(one: Sequence[float], other: npt.ArrayLike) -> float:
    """Spearman's; 0 where one of the two does not vary."""
    ranks = [pd.Series(np.asarray(v, np.float64)).rank().to_numpy() for v in (one, other)]
    if any(np.ptp(rank) == 0.0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def answers(test: Bench, scenario: Scenario, counts: Sequence[str] = COUNTS) -> Floats:
    """AAA of each stretch, by how queries are counted, [counts, stretches]."""
    policy = RankHybd() if scenario.node_forecast == "none" else Flaw()
    asked = failure_queries(build_world(scenario), scenario, policy)
    return np.array([[aaa(log, count) for log in asked] for count in counts])  # type: ignore[arg-type]
