"""The metrics of the papers: pure functions of the tables of task outcomes, and closed forms.

A table of outcomes is anything that maps a column's name to an array with one row per task: a
dict, a structured array, or what `as_columns` makes of the rows that a simulator returns. The
columns are those of `failgym.sim.outcomes.TaskOutcome`; times are in ms, work in machine-ms. Tasks
whose fate the record does not know (CENSORED) never count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from failgym.sim.forecast import Forecast
from failgym.sim.rules import MINUTE, Rules
from failgym.traces.trace import Outcome, Trace

__all__ = [
    "Columns",
    "Detection",
    "alarms",
    "as_columns",
    "checkpoint_work",
    "cloning_overhead",
    "completion_ratio",
    "completion_ratios",
    "daly_interval",
    "detection",
    "detections",
    "false_kills",
    "false_negative_rate",
    "forfeited",
    "grace_period",
    "known",
    "mean_periodic_saving",
    "rescued",
    "resource_reduction",
    "saving_combined",
    "saving_ml",
    "saving_periodic",
    "task_work",
    "wasted_work",
    "young_interval",
]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

ACCOUNTS = ("useful", "lost", "redundant", "ghost", "checkpoint", "restore", "transfer")
"""The columns among which a settled task's machine-time is divided."""


class Columns(Protocol):
    """A table: a column's name -> an array with one row per task."""

    def __getitem__(self, name: str, /) -> Any: ...


def as_columns(rows: Iterable[NamedTuple]) -> dict[str, npt.NDArray[Any]]:
    """A table from rows: one named tuple per task. Raises ValueError if there are none."""
    rows = list(rows)
    if not rows:
        raise ValueError("outcomes: expected at least one task")
    columns = zip(*rows, strict=True)
    return {name: np.array(column) for name, column in zip(rows[0]._fields, columns, strict=True)}


# --- Work and time of tasks ---------------------------------------------------------------------


def known(outcomes: Columns) -> Bools:
    """Which tasks have a recorded fate [tasks]."""
    return np.asarray(outcomes["recorded_outcome"] != Outcome.CENSORED)


def task_work(outcomes: Columns, accounts: Iterable[str] = ACCOUNTS) -> npt.NDArray[np.int64]:
    """Machine-time of each task in the given accounts [machine-ms]."""
    return np.asarray(sum(np.asarray(outcomes[name], dtype=np.int64) for name in accounts))


def wasted_work(outcomes: Columns) -> int:
    """Work that led to nothing: lost, redundant and ghost [machine-ms]."""
    return int(task_work(outcomes, ("lost", "redundant", "ghost"))[known(outcomes)].sum())


def checkpoint_work(outcomes: Columns) -> int:
    """Machine-time spent on checkpoints and on restoring from them [machine-ms]."""
    return int(task_work(outcomes, ("checkpoint", "restore"))[known(outcomes)].sum())


def cloning_overhead(policy: Columns, replay: Columns) -> float:
    """Increase of all work over the replay's, a ratio (El-Sayed et al. 2017, Table V).

    Both tables hold the same tasks; the sum is over those whose fate is known.
    """
    after = task_work(policy)[known(policy)].sum()
    before = task_work(replay)[known(replay)].sum()
    return _ratio(after - before, before)


def completion_ratios(outcomes: Columns, where: Bools | None = None) -> Floats:
    """Completion time over the recorded one, a ratio per task (El-Sayed et al. 2017, Fig. 11).

    Only tasks whose outcome is the recorded one count, and whose recorded time is not 0; `where`
    restricts them further, for instance to tasks with a failed attempt.
    """
    took = np.asarray(outcomes["end"] - outcomes["submit"], dtype=np.float64)
    recorded = np.asarray(outcomes["recorded_end"] - outcomes["submit"], dtype=np.float64)
    counts = known(outcomes) & (outcomes["outcome"] == outcomes["recorded_outcome"])
    counts &= recorded > 0
    if where is not None:
        counts &= where
    return took[counts] / recorded[counts]


def completion_ratio(outcomes: Columns, where: Bools | None = None) -> float:
    """The median of `completion_ratios`; NaN without such a task."""
    ratios = completion_ratios(outcomes, where)
    return float(np.median(ratios)) if len(ratios) else float("nan")


def forfeited(outcomes: Columns) -> int:
    """Tasks that the record finishes and the policy did not."""
    finished = outcomes["recorded_outcome"] == Outcome.FINISH
    return int(np.sum(finished & (outcomes["outcome"] != Outcome.FINISH)))


def rescued(outcomes: Columns) -> int:
    """Tasks that the policy finished and the record did not."""
    failed = known(outcomes) & (outcomes["recorded_outcome"] != Outcome.FINISH)
    return int(np.sum(failed & (outcomes["outcome"] == Outcome.FINISH)))


def false_kills(outcomes: Columns) -> int:
    """Tasks that the record finishes and the policy killed."""
    finished = outcomes["recorded_outcome"] == Outcome.FINISH
    return int(np.sum(finished & (outcomes["outcome"] != Outcome.FINISH) & outcomes["killed"]))


def resource_reduction(
    policy: Columns,
    replay: Columns,
    request: npt.ArrayLike = 1.0,
    where: Bools | None = None,
) -> float:
    """RRC = (R_o - R_p) / R_o over tasks that did not finish (Rosà et al. 2015, section IV-3).

    Args:
        policy: outcomes under the policy.
        replay: outcomes of the same tasks without it.
        request: requested amount of the resource per task; 1 is computational time.
        where: further restriction; the paper counts the failed tasks of failed jobs.
    """
    counts = known(replay) & (replay["recorded_outcome"] != Outcome.FINISH)
    if where is not None:
        counts &= where
    before = (task_work(replay) * np.asarray(request, dtype=np.float64))[counts].sum()
    after = (task_work(policy) * np.asarray(request, dtype=np.float64))[counts].sum()
    return _ratio(before - after, before)


# --- Predictions --------------------------------------------------------------------------------


def false_negative_rate(
    finishing: Bools,
    flagged: Bools,
    denominator: Literal["considered", "finishing"] = "considered",
) -> float:
    """FINISH tasks taken for another class, or, with the killed as `flagged`, killed for it.

    The definition of Rosà et al. 2015 (section III-1) divides by all tasks considered; their
    conclusion speaks of a share of the tasks that finish. Both arrays hold the tasks considered.
    """
    total = np.sum(finishing) if denominator == "finishing" else len(finishing)
    return _ratio(int(np.sum(finishing & flagged)), int(total))


class Detection(NamedTuple):
    """How well alarms tell the bad from the good."""

    precision: float
    """Share of the alarms that are right; NaN without an alarm."""
    recall: float
    """Share of the bad that raise an alarm; NaN if nothing is bad."""


def detection(bad: Bools, flagged: Bools, weight: npt.ArrayLike = 1.0) -> Detection:
    """Precision and recall of alarms; weighted by work, if a weight per item is given."""
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), bad.shape)
    right = weights[bad & flagged].sum()
    return Detection(_ratio(right, weights[flagged].sum()), _ratio(right, weights[bad].sum()))


def alarms(forecast: Forecast, threshold: float) -> Bools:
    """Which attempts reach the threshold at some window, compared as float32 [attempts]."""
    high = np.concatenate(([0], np.cumsum(forecast.risk >= np.float32(threshold))))
    return np.asarray(high[forecast.offset[1:]] > high[forecast.offset[:-1]])


def detections(trace: Trace, forecast: Forecast, threshold: float) -> dict[str, Detection]:
    """Precision and recall of failure per attempt, task and job, and by machine-time of attempts.

    Bad are the attempts that end in FAIL, and the tasks and jobs that have one; flagged likewise.
    Attempts that did not run, or that the end of the data cut off, do not count.
    """
    outcome = trace.column("attempts", "outcome")
    counts = trace.present("attempts", "start") & (outcome != Outcome.CENSORED)
    task = trace.column("attempts", "task")
    job = trace.column("tasks", "job")[task]
    bad, flagged = counts & (outcome == Outcome.FAIL), counts & alarms(forecast, threshold)
    duration = trace.column("attempts", "end") - trace.column("attempts", "start")
    work = np.where(counts, duration, 0) * trace.column("tasks", "width")[task]
    tasks, jobs = trace.rows("tasks"), trace.rows("jobs")
    return {
        "attempt": detection(bad, flagged),
        "task": detection(_any(bad, task, tasks), _any(flagged, task, tasks)),
        "job": detection(_any(bad, job, jobs), _any(flagged, job, jobs)),
        "work": detection(bad, flagged, work),
    }


def grace_period(
    evict: npt.ArrayLike, fail: npt.ArrayLike, kill: npt.ArrayLike, rules: Rules | None = None
) -> Floats:
    """Grace periods of tasks [minutes] from their class confidences (Rosà et al. 2015, III-4).

    The class grace periods weighted by the confidences of the three classes that do not finish;
    their mean if there are no confidences. `rules` has the class grace periods; by default
    the paper's 324, 56 and 83 minutes.
    """
    rules = rules or Rules()
    classes = np.array([rules.grace_evict, rules.grace_fail, rules.grace_kill]) / MINUTE
    given = np.stack(np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (evict, fail, kill))))
    total = given.sum(axis=0)
    weights = np.where(total > 0, given / np.where(total > 0, total, 1.0), 1.0 / len(classes))
    return np.tensordot(classes, weights, axes=1)


# --- Checkpointing: closed forms. Times in any one unit. ----------------------------------------


def young_interval(cost: float, mtbf: float) -> float:
    """Work between checkpoints, sqrt(2 C M) (Young, CACM 1974)."""
    return float(np.sqrt(2.0 * cost * mtbf))


def daly_interval(cost: float, mtbf: float) -> float:
    """Work between checkpoints, the higher-order estimate (Daly, FGCS 22(3), 2006)."""
    if cost >= 2.0 * mtbf:
        return mtbf
    x = cost / (2.0 * mtbf)
    return young_interval(cost, mtbf) * (1.0 + np.sqrt(x) / 3.0 + x / 9.0) - cost


def saving_periodic(runtime: npt.ArrayLike, work: float, cost: float) -> Floats:
    """S_OCP = N T_w / T_r: what periodic checkpoints save of a failed run, a share of it.

    Kumar et al. 2020, section VI-A. `work` T_w lies between checkpoints of the given `cost` T_s;
    N = floor(T_r / (T_w + T_s)) checkpoints were taken.
    """
    runtime = np.asarray(runtime, dtype=np.float64)
    return np.floor(runtime / (work + cost)) * work / runtime


def saving_ml(
    precision: npt.ArrayLike, recall: npt.ArrayLike, runtime: npt.ArrayLike, cost: float
) -> Floats:
    """S_ML = R (1 - T_s / (P T_r)), at least 0: one checkpoint for each flagged job saves all.

    Kumar et al. 2020, section VI-A.
    """
    ratio = cost / (np.asarray(precision, np.float64) * np.asarray(runtime, np.float64))
    return np.maximum(np.asarray(recall, np.float64) * (1.0 - ratio), 0.0)


def saving_combined(
    precision: npt.ArrayLike,
    recall: npt.ArrayLike,
    runtime: npt.ArrayLike,
    work: float,
    cost: float,
    form: Literal["A", "B", "printed"] = "B",
) -> Floats:
    """S_T, the saving of ML and periodic checkpoints together (Kumar et al. 2020, section VI-A).

    The paper prints two lines that disagree. ``A`` follows from the first one: periodic checkpoints
    are paid for in the runs that the model saved, too. ``B`` does not charge those, and is what
    Table VIII was computed with. ``printed`` is the second line as it stands; it can exceed 1.
    """
    recall, runtime = np.asarray(recall, np.float64), np.asarray(runtime, np.float64)
    flagged = saving_ml(precision, recall, runtime, cost)
    periodic = saving_periodic(runtime, work, cost)
    paid = recall * np.floor(runtime / (work + cost)) * cost / runtime
    if form == "A":
        return flagged - paid + (1.0 - recall) * periodic
    if form == "B":
        return flagged + (1.0 - recall) * periodic
    return flagged - paid + periodic


def mean_periodic_saving(work: float, cost: float, longest: float, shortest: float = 0.0) -> float:
    """The mean of `saving_periodic` over runtimes uniform on (shortest, longest].

    Kumar et al. 2020, Table VIII, "Periodic": normalised area under the curve of Fig. 10. With
    k checkpoints between k T and (k + 1) T, T = T_w + T_s, the area is T_w sum k ln((k + 1) / k),
    the ends cut to the range.
    """
    period = work + cost
    k = np.arange(1, int(longest // period) + 1, dtype=np.float64)
    low = np.maximum(k * period, shortest)
    high = np.maximum(np.minimum((k + 1.0) * period, longest), low)
    return float(work * np.sum(k * np.log(high / low)) / (longest - shortest))


def _any(values: Bools, group: npt.NDArray[np.int64], groups: int) -> Bools:
    """Which groups hold a true value."""
    return np.bincount(group[values], minlength=groups) > 0


def _ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else float("nan")
