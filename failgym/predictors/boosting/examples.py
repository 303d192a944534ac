"""Attempts as examples: what counts as failure, of which kind a job is, when something is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.predictors.base import CLASSES, attempt_numbers, task_classes, window_offsets
from failgym.predictors.endings import passing_ends, task_ends
from failgym.predictors.features.config import CONFIG, Vocabulary, task_config
from failgym.predictors.features.system import NEVER
from failgym.predictors.features.usage import USAGE, Usage
from failgym.traces.trace import Trace
from failgym.vocabulary import Cause, Outcome

__all__ = [
    "FEATURES",
    "JOB_TYPES",
    "Examples",
    "Known",
    "Moments",
    "Target",
    "age_steps",
    "failed",
    "fates_known",
    "features_at_submission",
    "job_types",
    "moments",
    "sampled",
    "spread_over_classes",
    "task_examples",
]

Bools = npt.NDArray[np.bool_]
Floats32 = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Target = Literal["fail", "system", "unfinished"]

JOB_TYPES = ("any", "shared single", "shared multi", "nonshared single", "nonshared multi")
"""Environments and job types (Kumar et al., DSN 2020, Table IV): does a job share its nodes, and
has it one or several? `any` are jobs of which the trace does not say whether they share."""
FEATURES = (*CONFIG, "attempt", "age", *USAGE)
"""What models read: the request, the number of the attempt, its age, its use of resources."""
AGES = 4
"""Steps of an attempt's age to an octave of windows: so it is new seldom, later less often."""


class Examples(NamedTuple):
    """Attempts at moments, or tasks at their submission, and what became of them."""

    features: Floats32
    """[rows, features]"""
    kind: Integers
    """[rows] position in `JOB_TYPES`"""
    bad: Bools
    """[rows] the attempt failed, or the task did not finish"""
    first: Bools
    """[rows] one of each attempt's: to count attempts by"""
    weight: Floats32
    """[rows] for how many rows it stands"""
    end: Integers
    """[rows] when that was known [ms]"""
    until: Integers
    """[rows] when it was no more, as another attempt arrived; `NEVER` if none did [ms]"""

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]], features: int) -> Self:
        """The columns by name. Raises ValueError, in one line, if they are not such examples."""
        for name in cls._fields:
            if name not in arrays:
                raise ValueError(f"examples: array {name!r} is missing")
            if arrays[name].ndim != 1 + (name == "features"):
                raise ValueError(f"examples: array {name!r} has {arrays[name].ndim} dimensions")
            if arrays[name].dtype != _DTYPES[name]:
                raise ValueError(f"examples: array {name!r} is {arrays[name].dtype}")
        if np.isinf(arrays["features"]).any():
            raise ValueError("examples: expected finite features")
        if not np.all((arrays["weight"] > 0) & (arrays["weight"] < np.inf)):
            raise ValueError("examples: expected positive weights")
        if len({len(arrays[name]) for name in cls._fields}) > 1:
            raise ValueError("examples: arrays of different lengths")
        if arrays["features"].shape[1] != features:
            raise ValueError(f"examples: expected {features} features")
        return cls(*(arrays[name] for name in cls._fields))

    def of(self, rows: Integers | Bools) -> Examples:
        """Some rows."""
        columns: Any = self
        return Examples(*(column[rows] for column in columns))

    def within(self, after: int, upto: int) -> Examples:
        """Those of what ended in (after, upto] as far as was known by then [ms]."""
        return self.of((self.end > after) & (self.end <= upto) & (self.until > upto))

    def in_the_end(self) -> Examples:
        """What is known when all is over."""
        return self.of(self.until == NEVER)

    def joined(self, other: Examples) -> Examples:
        """These and others."""
        columns: Any = zip(self, other, strict=True)
        return Examples(*(np.concatenate(parts) for parts in columns))


_DTYPES: dict[str, type[np.generic]] = {
    "features": np.float32,
    "kind": np.int64,
    "bad": np.bool_,
    "first": np.bool_,
    "weight": np.float32,
    "end": np.int64,
    "until": np.int64,
}


class Moments(NamedTuple):
    """When the risks of a forecast are stated, and at which of these something new is known."""

    offset: Integers
    """[attempts + 1] of `window_offsets`"""
    new: Bools
    """[moments] the attempt starts, a window of usage or a step of its age is over, a period of the
    clock begins; at the others all is as before"""
    attempt: Integers
    """[new ones]"""
    time: Integers
    """[new ones] on the trace's clock [ms]"""


def moments(trace: Trace, window: int, period: int) -> Moments:
    """The moments of a forecast; `period` [ms] 0: the clock has none."""
    offset, start = window_offsets(trace, window), trace.column("attempts", "start")
    usage = Usage(trace, window)
    age = np.arange(int(np.diff(offset).max(initial=0)), dtype=np.int64) * window
    steps = age_steps(age, window)
    new = _news(offset, start, usage.first, usage.over, steps, window, period)
    here = np.flatnonzero(new)
    attempt = np.searchsorted(offset, here, side="right") - 1
    return Moments(offset, new, attempt, start[attempt] + (here - offset[attempt]) * window)


@njit(cache=True)
def _news(
    offset: Integers,
    start: Integers,
    first: Integers,
    over: Integers,
    steps: Integers,
    window: int,
    period: int,
) -> Bools:
    """`Moments.new`; ``first`` and ``over`` as in `Usage`, ``steps`` of the age of each moment."""
    new = np.zeros(offset[-1], dtype=np.bool_)
    for attempt in range(len(offset) - 1):
        known, now = first[attempt], 0
        for number in range(offset[attempt + 1] - offset[attempt]):
            tells = number == 0 or steps[number] != steps[number - 1]
            while known < first[attempt + 1] and over[known] <= number * window:
                known += 1
                tells = True
            if period > 0:
                before, now = now, (start[attempt] + number * window) // period
                tells = tells or now != before
            new[offset[attempt] + number] = tells
    return new


class Known:
    """What is known of the attempts of a trace, put in order once and then read at moments.

    Args:
        trace: the trace.
        vocabulary: of its texts.
        window: how long usage is sampled for where the trace does not say [ms].
    """

    def __init__(self, trace: Trace, vocabulary: Vocabulary, window: int) -> None:
        self._window, self._usage = window, Usage(trace, window)
        self._config, self._number = task_config(trace, vocabulary), attempt_numbers(trace)
        self._task, self._start = (
            trace.column("attempts", "task"),
            trace.column("attempts", "start"),
        )

    def features(self, attempt: Integers, time: Integers) -> Floats32:
        """What is known of attempts at moments, [rows, FEATURES]."""
        features = np.empty((len(attempt), len(FEATURES)), dtype=np.float32)
        own = len(CONFIG)
        features[:, :own] = self._config[self._task[attempt]]
        features[:, own] = self._number[attempt]
        features[:, own + 1] = age_steps(time - self._start[attempt], self._window)
        self._usage.features(attempt, time, out=features[:, own + 2 :])
        return features


def features_at_submission(trace: Trace, vocabulary: Vocabulary) -> Floats32:
    """What is known of tasks at their submission, as at their first start, [tasks, FEATURES]."""
    features = np.full((trace.rows("tasks"), len(FEATURES)), np.nan, dtype=np.float32)
    features[:, : len(CONFIG)] = task_config(trace, vocabulary)
    features[:, [len(CONFIG), len(CONFIG) + 1, -1]] = 0  # first attempt, no age, no windows
    return features


def age_steps(age: Integers, window: int) -> Integers:
    """Ages [ms] as whole steps of a logarithmic scale, 0 up to about .2 of a window."""
    return np.floor(AGES * np.log2(1.0 + np.maximum(age, 0) / window)).astype(np.int64)


def failed(trace: Trace, target: Target) -> Bools:
    """Which attempts fail in the sense of the target, [attempts] (`GradientBoosting.target`)."""
    outcome, cause = trace.column("attempts", "outcome"), trace.column("attempts", "cause")
    if target == "unfinished":
        return (outcome != Outcome.FINISH) & (outcome != Outcome.CENSORED)
    fails = outcome == Outcome.FAIL
    return fails & np.isin(cause, (Cause.MACHINE, Cause.SHARED)) if target == "system" else fails


def fates_known(trace: Trace, target: Target) -> Bools:
    """Which attempts are failures or not, [attempts]: they ran, and their end is known.

    Those killed at their walltime are neither (Kumar et al., section IV: they may have saved all
    their work), unless the target is `unfinished`.
    """
    known = trace.present("attempts", "start") & trace.present("attempts", "end")
    known &= trace.column("attempts", "outcome") != Outcome.CENSORED
    if target != "unfinished":
        known &= trace.column("attempts", "cause") != Cause.WALLTIME
    return known


def job_types(trace: Trace) -> Integers:
    """The position in `JOB_TYPES` of each task's job, [tasks].

    A job has several nodes if it has several tasks, or if the task is wider than one slot.
    """
    job = trace.column("tasks", "job")
    multi = (trace.column("jobs", "width")[job] > 1) | (trace.column("tasks", "width") > 1)
    kind = np.where(trace.column("jobs", "shared")[job], 1, 3) + multi
    return np.where(trace.present("jobs", "shared")[job], kind, 0).astype(np.int64)


def sampled(bad: Bools, most: int, rng: np.random.Generator) -> tuple[Integers, Floats32]:
    """At most so many rows, ascending, and for how many of all rows each stands.

    Good and bad ones are sampled apart, and the bad ones only beyond half of `most`.
    """
    good_rows, bad_rows = np.flatnonzero(~bad), np.flatnonzero(bad)
    room = max(most - len(good_rows), (most + 1) // 2)
    kept = [_drawn(bad_rows, room, rng)]
    kept.append(_drawn(good_rows, most - len(kept[0]), rng))
    rows = np.sort(np.concatenate(kept))
    shares = [
        len(every) / max(len(some), 1)
        for every, some in zip((bad_rows, good_rows), kept, strict=True)
    ]
    return rows, np.where(bad[rows], shares[0], shares[1]).astype(np.float32)


def _drawn(rows: Integers, most: int, rng: np.random.Generator) -> Integers:
    return rows if len(rows) <= most else rng.choice(rows, most, replace=False)


def task_examples(trace: Trace, vocabulary: Vocabulary) -> Examples:
    """Tasks at their submission, of known end, and which did not finish.

    A task has a row more for each end of it that was no last one (`passing_ends`).
    """
    known, passing = np.flatnonzero(trace.task_outcome != Outcome.CENSORED), passing_ends(trace)
    task = np.append(known, passing.task)
    end = np.append(task_ends(trace)[known], passing.end)
    order = np.lexsort((end, task))  # the order tells not which end was the last
    task, rows = task[order], len(task)
    return Examples(
        features=features_at_submission(trace, vocabulary)[task],
        kind=job_types(trace)[task],
        bad=np.append(task_classes(trace)[known], passing.label)[order] > 0,
        first=np.ones(rows, dtype=np.bool_),
        weight=np.ones(rows, dtype=np.float32),
        end=end[order],
        until=np.append(np.full(len(known), NEVER), passing.until)[order],
    )


def spread_over_classes(unfinished: Floats32, shares: npt.NDArray[np.float64]) -> Floats32:
    """Class confidences from those not to finish, which the other classes share as `shares`
    [CLASSES] says, [rows, CLASSES].
    """
    others = shares[1:] if shares[1:].any() else np.ones(len(shares) - 1)
    split = np.empty((len(unfinished), len(CLASSES)))
    split[:, 0] = 1.0 - unfinished
    split[:, 1:] = unfinished[:, None] * (others / others.sum())
    return split.astype(np.float32)
