"""Class grace periods: how long a task that is predicted not to finish may run before it is killed.

Rosà, Chen and Binder, "Catching failures of failures at big-data clusters", IWQoS 2015, sections
III-4 and IV-2. The grace period of a task is the sum of the class grace periods, weighted by its
class confidences. The class grace periods are one percentile of the execution times of each class:
the lowest with which no more tasks that would finish are killed than a target says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.metrics.forecasts import false_negative_rate, grace_period
from failgym.predictors.base import CLASSES, task_classes
from failgym.predictors.endings import task_ends
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

__all__ = [
    "GracePeriods",
    "class_grace_periods",
    "execution_times",
    "learn_grace_periods",
    "mitigated_false_negatives",
    "task_grace_periods",
]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

UNKNOWN = -1
"""The execution time of a task that never ran, or of which no end is known."""


class GracePeriods(NamedTuple):
    """The class grace periods that meet a target, and what they were chosen by."""

    periods: dict[str, int]
    """`Rules` field -> class grace period [ms]: what a scenario takes."""
    percentile: float
    """Of the execution times of each class; the paper's is 84."""
    false_negatives: float
    """Share of the considered tasks that finish and are predicted not to."""
    mitigated: float
    """Share of the considered tasks that finish and are killed all the same."""


def learn_grace_periods(
    trace: Trace,
    forecast: Forecast,
    target: float = 0.01,
    percentiles: Iterable[float] = range(1, 101),
) -> GracePeriods:
    """The class grace periods at the lowest percentile that meets the target.

    ``gymnasium.make("failgym/GracePeriod-v1", **learned.periods)`` uses them.

    Args:
        trace: what is learned from, a train split.
        forecast: of that trace, made as the forecast will be for which the periods are meant.
        target: false-negative rate that remains at most; the paper's is 1 % (section IV-2).
        percentiles: of execution times, in the order in which they are tried.

    Raises:
        ValueError: in one line: if no percentile meets the target, if no task is considered, or if
            every task finishes.
    """
    before, rate = _false_negatives(trace, forecast), float("nan")
    if np.isnan(before):
        raise ValueError("forecast: no task is considered: it predicts that every job finishes")
    for percentile in percentiles:
        periods = class_grace_periods(trace, percentile)
        rate = mitigated_false_negatives(trace, forecast, periods)
        if rate <= target:
            return GracePeriods(periods, percentile, before, rate)
    raise ValueError(f"target: no percentile leaves at most {target} false negatives, got {rate}")


def class_grace_periods(trace: Trace, percentile: float) -> dict[str, int]:
    """One percentile of the execution times of the tasks of each class [ms], by field of `Rules`.

    The classes are those that the tasks ended in. One in which no task ran takes the percentile
    of all tasks that did not finish.

    Raises:
        ValueError: if no task ran that did not finish.
    """
    times, classes = execution_times(trace), task_classes(trace)
    ran = times != UNKNOWN
    unfinished = ran & (classes > 0)
    if not unfinished.any():
        raise ValueError("no execution times: expected tasks that ran and did not finish")
    periods: dict[str, int] = {}
    for number, name in enumerate(CLASSES[1:], start=1):
        here = ran & (classes == number)
        period = np.percentile(times[here if here.any() else unfinished], percentile)
        periods[f"grace_{name}"] = int(np.floor(period + 0.5))
    return periods


def task_grace_periods(forecast: Forecast, periods: dict[str, int]) -> Ints:
    """The grace period of each task [ms], from its class confidences, int64 [tasks]."""
    evict, fail, kill = forecast.confidence.astype(np.float64).T[1:]
    minutes = grace_period(evict, fail, kill, replace(Rules(), **periods))
    return np.floor(minutes * MINUTE + 0.5).astype(np.int64)


def mitigated_false_negatives(trace: Trace, forecast: Forecast, periods: dict[str, int]) -> float:
    """Share of the considered tasks that finish and that the policy kills; NaN if there are none.

    Considered are tasks of known end in jobs that are predicted not to finish (section III-1).
    Those predicted not to finish are killed when they still run after their grace period.
    """
    return _false_negatives(trace, forecast, task_grace_periods(forecast, periods))


def execution_times(trace: Trace) -> Ints:
    """From the first start of each task to its end [ms], as a grace period is counted; gaps between
    attempts included. `UNKNOWN` where there is no start or no end, int64 [tasks].
    """
    end, task = task_ends(trace), trace.column("attempts", "task")
    started = trace.present("attempts", "start")
    first = np.full(len(end), np.iinfo(np.int64).max)
    np.minimum.at(first, task[started], trace.column("attempts", "start")[started])
    known = (trace.task_outcome != Outcome.CENSORED) & (first <= end)
    return np.where(known, end - first, UNKNOWN)


def _false_negatives(trace: Trace, forecast: Forecast, grace: Ints | int = UNKNOWN) -> float:
    """Rate of the false negatives that outlast their grace periods [ms]; by default of all."""
    job = trace.column("tasks", "job")
    counts = forecast.job_confidence[job] >= np.float32(0.5)
    counts &= trace.task_outcome != Outcome.CENSORED
    flagged = forecast.confidence.argmax(axis=1) > 0
    killed = flagged & (execution_times(trace) > grace)
    return false_negative_rate(task_classes(trace)[counts] == 0, killed[counts])
