"""Forecasts of failures, against what happened."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.metrics.columns import ratio
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def false_negative_rate(
    finishing: Bools,
    flagged: Bools,
    denominator: Literal["considered", "finishing"] = "considered",
) -> float:
    """Share of tasks that finish and were flagged: predicted not to finish, or killed for that.

    The definition of Rosà et al. 2015 (section III-1) divides by all tasks considered; their
    conclusion speaks of a share of the tasks that finish. Both arrays hold the tasks considered.
    """
    total = np.sum(finishing) if denominator == "finishing" else len(finishing)
    return ratio(int(np.sum(finishing & flagged)), int(total))


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
    return Detection(ratio(right, weights[flagged].sum()), ratio(right, weights[bad].sum()))


def alarms(forecast: Forecast, threshold: float) -> Bools:
    """Which attempts reach the threshold at some window, compared as float32 [attempts]."""
    high = np.concatenate(([0], np.cumsum(forecast.risk >= np.float32(threshold))))
    return np.asarray(high[forecast.offset[1:]] > high[forecast.offset[:-1]])


def detections(trace: Trace, forecast: Forecast, threshold: float) -> dict[str, Detection]:
    """Precision and recall of failure per attempt, task and job, and by machine-time of attempts.

    Attempts that end in FAIL are to be flagged, and so are tasks and jobs with such an attempt. A
    task or job is flagged if one of its attempts is. Attempts that did not run, or that the end of
    the data cut off, do not count.
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


def _any(values: Bools, group: npt.NDArray[np.int64], groups: int) -> Bools:
    """Which groups hold a true value."""
    return np.bincount(group[values], minlength=groups) > 0
