"""What an observation knows besides the record of its task: expectations, the system, a forecast.

Kernel and reference share these tables; none of them decides what happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.forecast import Forecast
from failgym.traces import Trace
from failgym.vocabulary import MINUTE, Cause, Outcome

__all__ = [
    "AGE_BUCKETS",
    "CLASSES",
    "HOUR_BINS",
    "SYSTEM_BIN",
    "SYSTEM_FIELDS",
    "SYSTEM_TABLE",
    "Context",
    "age_bucket",
    "expectations",
    "interruption_rates",
    "interruption_times",
    "task_class",
]

CLASSES = 8
"""Classes of tasks: scheduling class 0 to 3, in a job of one task or of several."""
AGE_BUCKETS = 24
"""Ages double from bucket to bucket: bucket b holds ages of [2**(b-1), 2**b) seconds, 0 less than 1
s."""
SYSTEM_BIN = 5 * MINUTE
"""Spacing of the system table [ms], see `failgym.sim.pinned.system_table`."""
SYSTEM_TABLE = (
    *("running", "waiting", "free", "arrival_rate", "throughput"),
    *("arrival_change", "throughput_change", "failure_rate"),
)
"""Fields of the system table; others of the group are read from `Context.interruption_times`."""
SYSTEM_FIELDS = len(SYSTEM_TABLE)
HOUR_BINS = 60 * MINUTE // SYSTEM_BIN
"""Bins of an hour."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Context:
    """Shared inputs of the observation."""

    expectations: Floats
    """[CLASSES, AGE_BUCKETS, 3] Expected duration [ms], failures per window and chance of FINISH of
    an attempt, given its class and that it has reached the age."""
    system: npt.NDArray[np.float32]
    """[rows, SYSTEM_FIELDS] The fields of `SYSTEM_TABLE`, a row for each bin of ``SYSTEM_BIN`` in
    which they change."""
    forecast: Forecast
    interruptions: Floats = field(default_factory=lambda: np.zeros((CLASSES, AGE_BUCKETS)))
    """[CLASSES, AGE_BUCKETS] Interruptions per ms, given class and age; see
    `interruption_rates`."""
    interruption_times: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """[interruptions] When the system ended attempts, ascending [ms]; see `interruption_times`."""
    system_bins: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """[rows] Bin from which on each row of ``system`` holds, ascending from 0."""

    def __post_init__(self) -> None:
        bins = np.asarray(self.system_bins)
        if len(bins) != len(self.system) or bins[:1].tolist() != [0] or (np.diff(bins) < 1).any():
            raise ValueError("system_bins: expected ascending bins from 0, one for each row")


def task_class(scheduling_class: Ints, job_width: Ints) -> Ints:
    """Class of tasks, 0 to 7, from the scheduling class (-1 unknown) and the tasks of the job."""
    return np.clip(scheduling_class, 0, 3) + 4 * (job_width > 1)


def age_bucket(age: Ints) -> Ints:
    """Bucket of ages [ms]: the bit length of the whole seconds, at most 23."""
    seconds = np.asarray(age) // 1000
    bits = np.frexp(seconds.astype(np.float64))[1].astype(np.int64)
    return np.minimum(bits, AGE_BUCKETS - 1)


def _classes(trace: Trace) -> Ints:
    """Class of each task of the trace."""
    job = trace.column("tasks", "job")
    return task_class(
        trace.column("jobs", "scheduling_class", missing=0)[job],
        trace.column("jobs", "width")[job],
    )


def expectations(train: Trace, window: int) -> Floats:
    """Tables of `Context.expectations` from the attempts of a train split whose end is known.

    A class without attempts of an age takes the mean over all classes, and an age that nothing
    reached that of the age before.
    """
    outcome = train.column("attempts", "outcome")
    seen = (train.column("attempts", "start", missing=-1) >= 0) & (outcome != Outcome.CENSORED)
    outcome = outcome[seen]
    lives = _Lives.of(train, seen)
    alive = lives.reached(np.ones(len(outcome)))
    mean = _ratio(lives.reached(lives.duration), alive)
    hazard = _ratio(lives.ended(outcome == Outcome.FAIL) * window, lives.exposure())
    chance = _ratio(lives.reached(outcome == Outcome.FINISH), alive)
    return np.stack([_filled(x) for x in (mean, np.minimum(hazard, 1.0), chance)], axis=-1)


def interruption_rates(train: Trace) -> Floats:
    """Table of `Context.interruptions` from the attempts of a train split.

    An interruption is an end other than FINISH after which the task was started again: one whose
    unsaved work is lost, where a checkpoint would have kept it for the next attempt. What the end
    of the split cuts off counts as time without interruption.

    So that a rare cell does not say never, each holds one interruption more, at the rate of its age
    over all classes, and that one at the rate of the age before; the first at the rate of all.
    """
    outcome = train.column("attempts", "outcome")
    start, end = (train.column("attempts", name, missing=-1) for name in ("start", "end"))
    task, row = train.column("attempts", "task"), np.arange(train.rows("attempts"))
    last = np.full(train.rows("tasks"), -1, dtype=np.int64)
    np.maximum.at(last, task[start >= 0], row[start >= 0])
    latest = last[task]  # rows of a task are in the order of their starts
    again = (latest > row) & (start[latest] >= end)
    lost = again & (outcome != Outcome.FINISH) & (outcome != Outcome.CENSORED)
    lives = _Lives.of(train, start >= 0)
    ended, exposure = lives.ended(lost[start >= 0]), lives.exposure()
    rate = float(_ratio(ended[-1].sum(), exposure[-1].sum()))
    if not rate > 0.0:
        return np.zeros((CLASSES, AGE_BUCKETS))
    pooled = np.empty(AGE_BUCKETS)
    for b in range(AGE_BUCKETS):
        rate = pooled[b] = (ended[-1, b] + 1.0) / (exposure[-1, b] + 1.0 / rate)
    return (ended[:-1] + 1.0) / (exposure[:-1] + 1.0 / pooled)


def interruption_times(trace: Trace) -> Ints:
    """When the system ended attempts that ran, from the whole record, ascending [ms].

    It ends an attempt by EVICT or LOST, by a FAIL that is not the task's own, or by a KILL after
    which the cluster runs the task again. Kills by the user and at the requested walltime strike
    one job, and say nothing of others.
    """
    outcome = trace.column("attempts", "outcome")
    cause = trace.column("attempts", "cause", missing=-1)
    cut_off = np.isin(outcome, (Outcome.EVICT, Outcome.LOST))
    own = np.isin(cause, (-1, Cause.INTRINSIC, Cause.DEPENDENCY))
    by_cluster = np.isin(cause, (Cause.MACHINE, Cause.PREEMPTION, Cause.REQUEUE))
    failed = (outcome == Outcome.FAIL) & ~own
    killed = (outcome == Outcome.KILL) & by_cluster
    ran = trace.column("attempts", "start", missing=-1) >= 0
    end = trace.column("attempts", "end", missing=-1)
    return np.sort(end[ran & (cut_off | failed | killed)])


@dataclass(frozen=True)
class _Lives:
    """Attempts by class and age; its tables have one row more, over all classes."""

    duration: Ints
    classes: Ints

    @staticmethod
    def of(trace: Trace, kept: npt.NDArray[np.bool_]) -> _Lives:
        """The kept attempts, all of which have a start."""
        start, end = (trace.column("attempts", name, missing=0)[kept] for name in ("start", "end"))
        task = trace.column("attempts", "task")[kept]
        return _Lives(np.maximum(end - start, 0), _classes(trace)[task])

    @cached_property
    def last(self) -> Ints:
        """The age that each has reached in the end."""
        return age_bucket(self.duration)

    def ended(self, weight: npt.ArrayLike) -> Floats:
        """Sum of weights [attempts] by class and age at the end."""
        cell = self.classes * AGE_BUCKETS + self.last
        flat = np.bincount(cell, np.asarray(weight, dtype=np.float64), CLASSES * AGE_BUCKETS)
        per_class = flat.reshape(CLASSES, AGE_BUCKETS).astype(np.float64)
        return np.vstack([per_class, per_class.sum(axis=0)])

    def reached(self, weight: npt.ArrayLike) -> Floats:
        """Sum of weights by class and age that was at least reached."""
        return self.ended(weight)[:, ::-1].cumsum(axis=1)[:, ::-1]

    def exposure(self) -> Floats:
        """Time that was spent at each age [ms]."""
        edges = np.concatenate([[0], 1000 * 2 ** np.arange(AGE_BUCKETS)]).astype(np.float64)
        ones = np.ones(len(self.duration))
        beyond = self.reached(ones) - self.ended(ones)
        return self.ended(self.duration - edges[self.last]) + beyond * np.diff(edges)


def _ratio(over: Floats, under: Floats) -> Floats:
    """``over / under``, NaN where ``under`` is 0."""
    return np.divide(over, under, out=np.full_like(over, np.nan), where=under > 0)


def _filled(values: Floats) -> Floats:
    """Fill NaN cells by the pooled last row, then by the age before, then by 0; drop that row."""
    pooled = values[-1].copy()
    for b in range(AGE_BUCKETS):
        if np.isnan(pooled[b]):
            pooled[b] = pooled[b - 1] if b else 0.0
    return np.where(np.isnan(values[:-1]), pooled, values[:-1])
