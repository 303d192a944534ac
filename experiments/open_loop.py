"""The price of open-loop replay: does cloning still pay when clones take slots from others?

Claim
    None that is published. El-Sayed et al. (ICDCS 2017, section VI) replay tasks as recorded: a
    clone starts at once, on a machine that nobody else wants, and its price is its machine-time
    (Table V). In a cluster it waits for a slot, and others wait for it. Shown is the time that
    tasks take with clones, over the time that they take without, in the open loop and in clusters
    of several loads.

Kind and band
    New: printed, not judged.

Choices
    One generated trace of Google's batch jobs per seed, in which no task takes more than six hours:
    in the pinned world, and in the scheduled one on as many machines of four slots as make the
    load, which is the recorded work over what the machines could do. First come, first served; no
    outages and no evictions, so that little but the queue differs. The whole trace is one episode,
    and all of its tasks follow the same policy.

    Algorithm 1 with R = 1 and C = 1, at two thresholds of Table V: .9, as the paper recommends, and
    .1. What it is compared with is the same without clones, R = 1 and C = 0: both start the same
    attempts of the record in the same order, so that nothing but the moment differs, and the
    outcome of no task does in the open loop. The paper's R = 4 would mostly repeat attempts that
    are known to fail (Fig. 6). After a second failure nothing is started. The forecast is the one
    calibrated to Table V, and a policy is asked wherever a risk reaches its threshold.

    A time is from submission to the end, waits included. "Mean" is a ratio of sums over tasks,
    "median" the median of the tasks' own ratios, as in Fig. 11. "Failing" are tasks with a FAILed
    attempt in the record, whatever became of them; what gains among the others was mostly killed in
    the record and submitted again, or evicted: the clone is the attempt that came after.
    "Queueing" is the mean time without clones over that in the open loop; it is below 1 where
    nothing has to wait, since in the open loop evictions and the gaps after them are replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.paper_worlds import CLONING, MITIGATION
from experiments.reproduction import BEYOND, Experiment, Kind, Measured, Options, Row
from failgym import metrics
from failgym.baselines import Algorithm1
from failgym.envs import Scenario
from failgym.evaluation import run_policy, whole_trace_world
from failgym.evaluation.progress import Advance
from failgym.traces import Outcome, Trace
from failgym.traces.synthetic import PROFILES, Google2011, generate
from failgym.vocabulary import MINUTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "Fates", "fates", "gains", "measure", "world_of"]

JOBS, QUICK_JOBS = 1_000, 200
SAMPLING = 0.05
"""Share of the system's jobs in the trace: 25 jobs an hour."""
LONGEST = 6 * 60 * MINUTE
"""Machine-time of a task, at most [ms]."""
LOADS = (0.2, 0.7, 0.85, 0.95)
OPEN = "open loop"
THRESHOLDS = (0.9, 0.1)
ALL, FAILING, OTHERS, MEDIAN, WORK = MEASURES = (
    "mean time, all tasks",
    "mean time, failing tasks",
    "mean time, other tasks",
    "median time, failing tasks",
    "work",
)
QUEUEING = "queueing"

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def world_of(load: float | None, threshold: float | None) -> Scenario:
    """The open loop (no load), or a cluster of that load; without a threshold there are no clones.

    Of its trace nothing is used.
    """
    rules: dict[str, Any] = {
        "clone": threshold is not None,
        "retry": True,
        "give_up": False,
        "max_extra": 1,
        "max_clones": 1,
        "restart_limit": 0,
        "decide": "alarm",
        "alarm": threshold or 1.0,
        "forecast": "elsayed",
    }
    if load is None:
        return CLONING.override(**rules)
    rules |= {"load": load, "outages": "none", "scheduler": "fifo", "preemption": False}
    return MITIGATION.override(**rules, checkpoint=False, kill=False)


@dataclass(frozen=True)
class Fates:
    """What became of the tasks that ran in the record and whose fate is known, in its order."""

    time: Floats
    """from submission to the end [ms], [tasks]"""
    work: float
    """machine-time of all of them [machine-ms]"""


def fates(trace: Trace, load: float | None, threshold: float | None) -> Fates:
    """What becomes of the tasks of a trace with Algorithm 1, or the same without clones."""
    scenario = world_of(load, threshold).override(trace=trace)
    world = whole_trace_world(trace, scenario, known_only=True)
    policy = Algorithm1(threshold or 1.0, max_extra=1, max_clones=int(threshold is not None))
    table = run_policy(world, scenario, policy, order=scenario.order, threads=1).outcomes
    rows = np.argsort(table["task"], kind="stable")
    rows = rows[ran(trace)[table["task"][rows]]]
    time = (table["end"] - table["submit"])[rows]
    return Fates(time.astype(np.float64), float(metrics.task_work(table)[rows].sum()))


def ran(trace: Trace) -> Bools:
    """Which tasks have a run in the record, and a known fate [tasks of the trace]."""
    started = _marked(trace, trace.column("attempts", "start", missing=-1) >= 0)
    return started & (trace.task_outcome != Outcome.CENSORED)


def failing(trace: Trace) -> Bools:
    """Which of them have a FAILed attempt in the record [tasks that ran]."""
    return _marked(trace, trace.column("attempts", "outcome") == Outcome.FAIL)[ran(trace)]


def _marked(trace: Trace, attempts: Bools) -> Bools:
    """Which tasks have one of these attempts [tasks of the trace]."""
    marked = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    marked[trace.column("attempts", "task")[attempts]] = True
    return marked


def gains(after: Fates, before: Fates, fails: Bools) -> dict[str, float]:
    """Times and work with clones over those without, by `MEASURES`.

    Args:
        after: with clones.
        before: without.
        fails: which of the tasks have a FAILed attempt in the record.
    """
    took = before.time > 0.0

    def mean(which: Bools) -> float:
        return float(after.time[which].sum() / before.time[which].sum())

    ratios = after.time[fails & took] / before.time[fails & took]
    return {
        ALL: mean(took),
        FAILING: mean(fails),
        OTHERS: mean(~fails),
        MEDIAN: float(np.median(ratios)),
        WORK: after.work / before.work,
    }


def worlds() -> Iterator[tuple[str, float | None]]:
    """The worlds by name, and their loads."""
    yield OPEN, None
    for load in LOADS:
        yield f"load {load:.2f}", load


@cache
def profile() -> Google2011:
    """Google's jobs, no task of which takes longer than that."""
    found = PROFILES["google-2011"]
    assert isinstance(found, Google2011)
    return replace(found, sampling=SAMPLING, longest=LONGEST)


def measure(options: Options, advance: Advance) -> Measured:
    """Every threshold in every world, on the same traces."""
    values: dict[str, list[float]] = {}
    for seed in range(options.seeds):
        jobs = QUICK_JOBS if options.quick else JOBS
        trace = generate(profile(), jobs=jobs, seed=seed, usage=False)
        fails, alone = failing(trace), 1.0
        for name, load in worlds():
            before = fates(trace, load, None)
            alone = before.time.mean() if load is None else alone
            values.setdefault(f"{name}: {QUEUEING}", []).append(before.time.mean() / alone)
            for threshold in THRESHOLDS:
                found = gains(fates(trace, load, threshold), before, fails)
                for what, value in found.items():
                    row = f"{name}, threshold {threshold}: {what}"
                    values.setdefault(row, []).append(value)
            advance(1)
    rows = tuple(Row.over(name, found) for name, found in values.items())
    return Measured(rows, {row.name: [row.ours, row.low, row.high] for row in rows})


def draw(measured: Measured, figure: Figure) -> None:
    """Mean times with clones over those without: of failing tasks, and of the others."""
    names = [name for name, _ in worlds()]
    panels: Any = figure.subplots(1, 2)
    for axes, what in zip(panels, (FAILING, OTHERS), strict=True):
        for place, threshold in enumerate(THRESHOLDS):
            found = [measured.series[f"{name}, threshold {threshold}: {what}"] for name in names]
            ours, low, high = (np.array(x, dtype=np.float64) for x in zip(*found, strict=True))
            x = np.arange(len(names)) + 0.1 * (place - 0.5)
            label = f"threshold {threshold}"
            axes.errorbar(x, ours, [ours - low, high - ours], fmt="o-", capsize=2, label=label)
        axes.axhline(1.0, color="0.6", linewidth=0.8)
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.set_title(what)
    panels[0].set_ylabel("with clones, over without")
    panels[0].legend()


EXPERIMENT = Experiment(
    paper=BEYOND,
    item="open loop",
    title="what clones gain, and cost others, where they compete for slots",
    kind=Kind.NEW,
    measure=measure,
    draw=draw,
    steps=lambda options: options.seeds * (1 + len(LOADS)),
)

if __name__ == "__main__":
    EXPERIMENT.command()
