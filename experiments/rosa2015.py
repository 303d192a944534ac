"""What the experiments of Rosà et al. share: a population of tasks with the paper's own statistics.

Rosà, Chen and Binder, "Catching Failures of Failures at Big-Data Clusters: a Two-Level Neural
Network Approach", IWQoS 2015. The paper gives what its forecasts are worth (`Calibrated.rosa`), the
84th percentiles of execution time of three classes, and results; it gives no distribution. This
population has what it gives, and two laws that its results imply:

- Execution times of evicted, failed and killed tasks are lognormal, with the 84th percentiles at
  324, 56 and 83 minutes (section IV-2) and one `SPREAD`; the logarithm of a task's requests follows
  that of its time with one slope for each resource. The spread was fitted to the time that the
  policy saves, the slopes to cpu, memory and disk (section IV-3).
- Execution times of tasks that finish are lognormal; their law was fitted to the share of them that
  outlast their grace periods (.106 to .128, from .0941 before and .01 to .012 after, section IV).

Of the jobs 42 % fail; 25.6 % of their tasks do not finish, nearly all of them killed (section II,
Fig. 2). A task has one attempt, starts when its job is submitted, and is submitted in the 14 days
of the testing phase. Jobs are of 24 tasks, or of 8 if they succeed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.paper_worlds import GRACE_PERIOD
from failgym.baselines import GracePeriod, ImmediateKill, Replay
from failgym.evaluation import run_policy, whole_trace_world
from failgym.predictors import Calibrated, Forecast
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE

__all__ = [
    "CLASS_MINUTES",
    "DAY",
    "DAYS",
    "RESOURCES",
    "Considered",
    "Outcomes",
    "considered",
    "forecast",
    "population",
    "requests",
    "simulated",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

DAY = 24 * 60 * MINUTE
DAYS = 14
"""Length of the testing phase (section IV)."""
PERCENTILE = 0.84
CLASS_MINUTES = {"evict": 324.0, "fail": 56.0, "kill": 83.0}
"""Class grace periods, the 84th percentiles of execution time (section IV-2) [min]."""
RESOURCES = ("cpu", "memory", "disk")
FAILING = 0.42
"""Share of the jobs that do not finish ("more than 40 %", section I)."""
WIDTH = (24, 8)
"""Tasks of a job that fails, and of one that succeeds; chosen."""
UNFINISHED = 0.256
"""Share of the tasks of failing jobs that do not finish ("25 %", section I; Fig. 2)."""
CLASS_SHARES = (0.012, 0.028, 0.96)
"""Evicted, failed and killed among these; chosen so that (f, kl), (f, fi) and (s, fi) are almost
99 % of the tasks (section II)."""
SPREAD = 1.5
"""Standard deviation of the logarithm of their execution times; fitted."""
SLOPES = (0.66, 0.56, -0.26)
"""Of the logarithm of cpu, memory and disk requested over that of the execution time; fitted."""
FINISH_MINUTES, FINISH_SPREAD = 12.5, 1.81
"""Median execution time of tasks that finish [min], and the standard deviation of its logarithm;
fitted."""
MEDIAN_REQUEST = (0.01, 0.01, 0.001)
REQUEST_NOISE = 0.3
"""Of the logarithm of requests; it does not change what is saved."""


def population(seed: int, jobs: int = 2_000) -> Trace:
    """The jobs of the testing phase."""
    rng = np.random.default_rng([2015, seed])
    failing = rng.permutation(jobs) < round(FAILING * jobs)
    width = np.where(failing, *WIDTH)
    job = np.repeat(np.arange(jobs), width)
    tasks = len(job)
    kind = np.where(
        failing[job] & (rng.random(tasks) < UNFINISHED),
        1 + np.searchsorted(np.cumsum(CLASS_SHARES), rng.random(tasks)),
        0,
    )
    minutes = _minutes(kind, rng)
    submit = np.sort(rng.integers(0, DAYS * DAY, jobs))
    start = submit[job]
    outcomes = np.array([Outcome.FINISH, Outcome.EVICT, Outcome.FAIL, Outcome.KILL])[kind]
    causes = np.array([None, Cause.PREEMPTION, Cause.INTRINSIC, Cause.USER])[kind]
    return Trace.of(
        Meta("population after Rosà et al. 2015"),
        jobs={
            "original_id": [str(row) for row in range(jobs)],
            "submit": submit,
            "width": width,
            "outcome": np.where(failing, Outcome.KILL, Outcome.FINISH),
        },
        tasks={
            "job": job,
            "index": np.arange(tasks) - np.repeat(np.cumsum(width) - width, width),
            "width": 1,
            **dict(zip(RESOURCES, _requests(kind, minutes, rng), strict=True)),
        },
        attempts={
            "task": np.arange(tasks),
            "queued": start,
            "start": start,
            "end": start + np.maximum(np.floor(minutes * MINUTE + 0.5), 1).astype(np.int64),
            "outcome": outcomes,
            "cause": causes.tolist(),
        },
    )


def _medians() -> Floats:
    """Median execution times of finished, evicted, failed and killed tasks [min]."""
    z = NormalDist().inv_cdf(PERCENTILE)
    unfinished = [value * math.exp(-z * SPREAD) for value in CLASS_MINUTES.values()]
    return np.array([FINISH_MINUTES, *unfinished])


def _minutes(kind: Ints, rng: np.random.Generator) -> Floats:
    spread = np.where(kind > 0, SPREAD, FINISH_SPREAD)
    return _medians()[kind] * np.exp(spread * rng.standard_normal(len(kind)))


def _requests(kind: Ints, minutes: Floats, rng: np.random.Generator) -> list[Floats]:
    """cpu, memory and disk of each task, at most a whole machine."""
    relative = np.where(kind > 0, np.log(minutes / _medians()[kind]), 0.0)
    noise = REQUEST_NOISE * rng.standard_normal((len(RESOURCES), len(kind)))
    return [
        np.minimum(median * np.exp(slope * relative + each), 1.0)
        for median, slope, each in zip(MEDIAN_REQUEST, SLOPES, noise, strict=True)
    ]


def forecast(trace: Trace, seed: int) -> Forecast:
    """Class confidences of the quality that the paper reports."""
    return Calibrated.rosa(seed=seed).predict(trace)


def requests(trace: Trace) -> dict[str, Floats]:
    """What each task requested of each resource, and 1 for computational time."""
    asked = {name: trace.column("tasks", name, missing=0).astype(np.float64) for name in RESOURCES}
    return {**asked, "time": np.ones(trace.rows("tasks"))}


@dataclass(frozen=True)
class Considered:
    """Tasks of jobs that are predicted not to finish."""

    tasks: Ints
    """rows of the trace"""
    finishing: Bools
    flagged: Bools
    """put into a class other than finish"""
    day: Ints
    """on which the task would end"""


def considered(trace: Trace, said: Forecast) -> Considered:
    """The considered tasks of a trace of one attempt a task (section III-1)."""
    rows = np.flatnonzero(said.job_confidence[trace.column("tasks", "job")] >= np.float32(0.5))
    return Considered(
        rows,
        trace.task_outcome[rows] == Outcome.FINISH,
        said.confidence[rows].argmax(axis=1) > 0,
        trace.column("attempts", "end")[rows] // DAY,
    )


@dataclass(frozen=True)
class Outcomes:
    """What became of each task, in the order of the trace."""

    replay: dict[str, Any]
    grace: dict[str, Any]
    """with the optimal grace periods"""
    immediate: dict[str, Any]
    """with none"""


@cache
def simulated(seed: int, jobs: int) -> tuple[Trace, Forecast, Outcomes]:
    """The population under the resource conservation policy, with grace periods and without."""
    trace = population(seed, jobs)
    said = forecast(trace, seed)
    scenario = GRACE_PERIOD.override(trace=trace, split="all", forecast=said)
    world = whole_trace_world(trace, scenario)
    tables = [
        run_policy(world, scenario, rule(), threads=1).outcomes
        for rule in (Replay, GracePeriod, ImmediateKill)
    ]
    return trace, said, Outcomes(*(_in_order(table) for table in tables))


def _in_order(table: dict[str, Any]) -> dict[str, Any]:
    order = np.argsort(table["task"], kind="stable")
    return {name: column[order] for name, column in table.items()}
