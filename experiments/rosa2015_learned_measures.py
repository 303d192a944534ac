"""What networks that learned from the earlier part of a trace make of the later one, job by job.

For `experiments.rosa2015_learned`, whose docstring says what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.forecast_measures import half_of_the_time, played
from failgym.baselines import GracePeriod, ImmediateKill, Replay
from failgym.evaluation.scoring import score
from failgym.evaluation.statistics.sampling_units import TracesUnits, of_jobs
from failgym.metrics import known, task_work
from failgym.predictors import Forecast, TwoLevelNetwork
from failgym.predictors.base import CLASSES, task_classes
from failgym.predictors.network.grace_periods import (
    GracePeriods,
    execution_times,
    learn_grace_periods,
    task_grace_periods,
)
from failgym.predictors.network.two_level_network import considered
from failgym.sim.shared.rules import Rules
from failgym.traces import Outcome, Trace
from failgym.vocabulary import MINUTE

__all__ = ["Judged", "Share", "judged", "largest_job", "share_of", "together"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Outcomes = dict[str, npt.NDArray[Any]]
Sums = dict[str, tuple[Floats, Floats]]
"""Name of a share -> [jobs] what is counted, and of how much."""

BOUNDARY = 0.7
"""Of the jobs, by submission, these are learned from."""
TARGET = 0.01
"""False negatives that grace periods leave (section IV-2)."""
RESOURCES = ("cpu", "memory", "disk", "time")
PERIODS = {field: getattr(Rules(), field) for field in (f"grace_{name}" for name in CLASSES[1:])}
"""The paper's class grace periods [ms]: the defaults of the rules."""


@dataclass(frozen=True)
class Judged:
    """What networks made of the later part of one trace."""

    submit: npt.NDArray[np.int64]
    """[jobs] of the later part [ms]"""
    sums: Sums
    minutes: dict[str, float] | None
    """class grace periods that were chosen [min]; None where none leaves so few false negatives"""


@dataclass(frozen=True)
class Share:
    """A share and its interval, and how far apart it is on single traces, or with single seeds."""

    what: str
    value: float
    low: float
    high: float
    lowest: float
    highest: float


def judged(trace: Trace, network: TwoLevelNetwork) -> Judged:
    """Learn from the earlier part of a trace, and judge on the later one."""
    past, future = (trace.split(part, BOUNDARY) for part in ("train", "test"))
    chosen = _chosen(past, network)
    forecast = network.fit(past).predict(future)
    replay = played(future, forecast, Replay(), PERIODS)
    grace, immediate, right = (
        _saved(future, played(future, said, rule, PERIODS), replay)
        for said, rule in (
            (forecast, GracePeriod()),
            (forecast, ImmediateKill()),
            (_right(future, forecast), GracePeriod()),
        )
    )
    sums = {
        **_misclassified(future, forecast),
        "false negatives killed": _killed(future, forecast, PERIODS),
        **{f"saved, {name}": saved for name, saved in grace.items()},
        "saved, time, without grace": immediate["time"],
        "saved, time, foretold rightly": right["time"],
    }
    minutes = None
    if chosen is not None:
        own = _saved(future, played(future, forecast, GracePeriod(), chosen.periods), replay)
        sums["false negatives killed, periods chosen"] = _killed(future, forecast, chosen.periods)
        sums["saved, time, periods chosen"] = own["time"]
        minutes = {name: value / MINUTE for name, value in chosen.periods.items()}
    return Judged(future.column("jobs", "submit"), sums, minutes)


def together(each: Sequence[Judged]) -> Judged:
    """Several networks on one trace: what is counted is added up, job by job."""
    shared = [name for name in each[0].sums if all(name in one.sums for one in each)]
    sums: Sums = {}
    for name in shared:
        counted, of = (np.sum([one.sums[name][i] for one in each], axis=0) for i in (0, 1))
        sums[name] = counted, of
    return Judged(each[0].submit, sums, None)


def share_of(traces: Sequence[Judged], single: Sequence[Judged], name: str) -> Share:
    """A ratio of sums, with its interval over traces and blocks of jobs.

    Args:
        traces: one for each trace.
        single: of which the lowest and the highest are told: the same, or one for each seed.
        name: of the share.
    """
    told = [one for one in traces if name in one.sums]
    each = [of_jobs(np.arange(len(one.submit)), one.submit, apart=False) for one in told]
    units = TracesUnits.joined(each)
    counted, of = (units.sums(np.concatenate([one.sums[name][i] for one in told])) for i in (0, 1))
    found = score(of, of - counted, np.zeros(len(of)), traces=units.trace)
    alone = [_ratio(*one.sums[name]) for one in single if name in one.sums]
    value, low, high = (x / 100.0 for x in found)
    return Share(name, value, max(low, 0.0), high, min(alone), max(alone))


def largest_job(judged: Judged) -> float:
    """Share of the time of failed tasks of failed jobs that is one job's."""
    _, spent = judged.sums["saved, time"]
    return _ratio(spent.max(keepdims=True), spent)


def _ratio(counted: Floats, of: Floats) -> float:
    return float(counted.sum() / of.sum()) if of.sum() > 0.0 else np.nan


def _chosen(past: Trace, network: TwoLevelNetwork) -> GracePeriods | None:
    """Class grace periods, chosen on jobs that the networks had not seen; None if none will do."""
    first, rest = (past.split(part, half_of_the_time(past)) for part in ("train", "test"))
    try:
        return learn_grace_periods(rest, network.fit(first).predict(rest), TARGET)
    except ValueError:
        return None


def _right(trace: Trace, forecast: Forecast) -> Forecast:
    """The classes as they came out, with certainty."""
    unfinished = trace.column("jobs", "outcome") != Outcome.FINISH
    return replace(
        forecast,
        confidence=np.eye(len(CLASSES), dtype=np.float32)[task_classes(trace)],
        job_confidence=unfinished.astype(np.float32),
    )


def _misclassified(trace: Trace, forecast: Forecast) -> Sums:
    """How often both levels err; tasks of jobs that are predicted not to finish are considered."""
    outcome, fails = trace.column("jobs", "outcome"), considered(forecast.job_confidence)
    ended = outcome != Outcome.CENSORED
    wrong = ended & ((outcome != Outcome.FINISH) != fails)
    counts = _considered(trace, forecast)
    said, classes = forecast.confidence.argmax(axis=1), task_classes(trace)
    return {
        "jobs misclassified": (wrong.astype(np.float64), ended.astype(np.float64)),
        "tasks misclassified": _by_job(trace, counts & (classes != said), counts),
        "false negatives": _by_job(trace, counts & (classes == 0) & (said > 0), counts),
    }


def _killed(trace: Trace, forecast: Forecast, periods: dict[str, int]) -> tuple[Floats, Floats]:
    """Tasks that finish and outlast their grace period, of those considered."""
    counts = _considered(trace, forecast)
    flagged = (task_classes(trace) == 0) & (forecast.confidence.argmax(axis=1) > 0)
    late = execution_times(trace) > task_grace_periods(forecast, periods)
    return _by_job(trace, counts & flagged & late, counts)


def _considered(trace: Trace, forecast: Forecast) -> Bools:
    of_job = considered(forecast.job_confidence)[trace.column("tasks", "job")]
    return of_job & (trace.task_outcome != Outcome.CENSORED)


def _by_job(trace: Trace, counted: Bools, of: Bools) -> tuple[Floats, Floats]:
    job, jobs = trace.column("tasks", "job"), trace.rows("jobs")
    one, other = (np.bincount(job, x, jobs).astype(np.float64) for x in (counted, of))
    return one, other


def _saved(trace: Trace, policy: Outcomes, replay: Outcomes) -> Sums:
    """What a policy saves of what failed tasks of failed jobs consume, by resource (IV-3)."""
    task = replay["task"]
    job = trace.column("tasks", "job")[task]
    counts = known(replay) & (replay["recorded_outcome"] != Outcome.FINISH)
    counts &= trace.column("jobs", "outcome")[job] != Outcome.FINISH
    before, after = (np.where(counts, task_work(of), 0) for of in (replay, policy))
    found: Sums = {}
    for name in RESOURCES:
        asked = np.ones(trace.rows("tasks"))
        if name != "time":
            asked = trace.column("tasks", name, missing=0).astype(np.float64)
        saved, spent = (
            np.bincount(job, asked[task] * of, trace.rows("jobs")).astype(np.float64)
            for of in (before - after, before)
        )
        found[name] = saved, spent
    return found
