"""A small predictor that learns: how often attempts, tasks and the jobs of each user fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES, attempt_numbers, task_classes
from failgym.predictors.learned import Arrays, Learned, window_moments
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Outcome, Trace
from failgym.vocabulary import MINUTE

Leak = Literal["", "duration", "outcome", "siblings", "later tasks", "rows", "ends at once"]


@dataclass(eq=False)
class Frequencies(Learned):
    """Shares of the past, and a running share of the attempts that failed by now.

    ``leak`` names something of the future that it lets in, for the tests of the tests.
    """

    name: ClassVar[str] = "frequencies"

    window: int = 5 * MINUTE
    prior: float = 1.0
    """Attempts that are taken to have failed before."""
    levels: tuple[int, ...] = (1, 2)
    """Numbers of attempts that are told apart."""
    leak: Leak = ""
    seed: int = 0
    users_: npt.NDArray[np.str_] = field(init=False, repr=False)
    failing_: npt.NDArray[np.float64] = field(init=False, repr=False)
    classes_: npt.NDArray[np.float64] = field(init=False, repr=False)
    unfinished_: npt.NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.prior <= 0.0:
            raise ValueError(f"prior: expected more than 0, got {self.prior}")

    def fit(self, trace: Trace) -> Self:
        known = trace.column("attempts", "outcome") != Outcome.CENSORED
        if not known.any():
            raise ValueError("Frequencies: nothing to learn from")
        fails = trace.column("attempts", "outcome") == Outcome.FAIL
        level = self._level(trace)
        count = np.bincount(level[known], minlength=len(self.levels) + 1)
        bad = np.bincount(level[known & fails], minlength=len(self.levels) + 1)
        self.failing_ = (bad + self.prior) / (count + 2.0 * self.prior)
        classes = task_classes(trace)[trace.task_outcome != Outcome.CENSORED]
        shares = np.bincount(classes, minlength=len(CLASSES)) + self.prior
        self.classes_ = shares / shares.sum()
        outcome = trace.column("jobs", "outcome")
        ended = outcome != Outcome.CENSORED
        self.users_ = np.unique(trace.column("jobs", "user")[ended].astype(np.str_))
        user = self._user(trace)[ended]
        total = np.bincount(user, minlength=len(self.users_) + 1)
        lost = np.bincount(user[outcome[ended] != Outcome.FINISH], minlength=len(self.users_) + 1)
        self.unfinished_ = (lost + self.prior) / (total + 2.0 * self.prior)
        return self

    def predict(self, trace: Trace) -> Forecast:
        if not hasattr(self, "failing_"):
            raise ValueError("Frequencies: fit it first")
        offset, attempt, time = window_moments(trace, self.window)
        risk = self.failing_[self._level(trace)][attempt]
        confidence = np.tile(self.classes_, (trace.rows("tasks"), 1))
        jobs = self.unfinished_[self._user(trace)]
        risk = (risk + _failed_by(trace, time, late=self.leak == "ends at once")) / 2.0
        risk = risk + self._leaked(trace, attempt)
        if self.leak == "later tasks":
            tasks = np.bincount(trace.column("tasks", "job"), minlength=trace.rows("jobs"))
            jobs = jobs / tasks
        if self.leak == "rows":
            confidence *= (np.arange(len(confidence)) / max(len(confidence), 1))[:, None]
        return Forecast(
            trace_hash=trace.content_hash,
            window=self.window,
            offset=offset,
            risk=risk.astype(np.float32),
            confidence=confidence.astype(np.float32),
            job_confidence=jobs.astype(np.float32),
        )

    def arrays(self) -> Arrays:
        if not hasattr(self, "failing_"):
            raise ValueError("Frequencies: fit it first")
        names = ("users", "failing", "classes", "unfinished")
        return {name: getattr(self, f"{name}_") for name in names}

    def restore(self, arrays: Arrays) -> Self:
        shape = (len(self.levels) + 1,)
        if arrays["failing"].shape != shape or arrays["classes"].shape != (len(CLASSES),):
            raise ValueError("Frequencies: arrays of the wrong shape")
        self.users_, self.failing_ = arrays["users"], arrays["failing"]
        self.classes_, self.unfinished_ = arrays["classes"], arrays["unfinished"]
        return self

    def _level(self, trace: Trace) -> npt.NDArray[np.int64]:
        return np.searchsorted(self.levels, attempt_numbers(trace), side="right")

    def _user(self, trace: Trace) -> npt.NDArray[np.int64]:
        """Number of each job's user; that behind the last for the unknown."""
        user = trace.column("jobs", "user").astype(np.str_)
        place = np.searchsorted(self.users_, user)
        found = np.append(self.users_, "\0")[place] == user
        return np.where(found, place, len(self.users_))

    def _leaked(
        self, trace: Trace, attempt: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64] | float:
        """Something that is not known yet."""
        if self.leak == "duration":
            duration = trace.column("attempts", "end") - trace.column("attempts", "start")
            return 1e-12 * duration[attempt].astype(np.float64) * 1e3
        if self.leak == "outcome":
            return 0.1 * (trace.column("attempts", "outcome") == Outcome.FAIL)[attempt]
        if self.leak == "siblings":
            task = trace.column("attempts", "task")
            return 0.01 * np.diff(trace.task_first)[task][attempt].astype(np.float64)
        return 0.0


def _failed_by(trace: Trace, time: npt.NDArray[np.int64], *, late: bool) -> npt.NDArray[np.float64]:
    """Share of failures among the attempts that ended until each time."""
    end, outcome = trace.column("attempts", "end"), trace.column("attempts", "outcome")
    known = outcome != Outcome.CENSORED
    ended, failed = np.sort(end[known]), np.sort(end[outcome == Outcome.FAIL])
    ahead = 30 * MINUTE if late else 0
    before = [np.searchsorted(times, time + ahead, side="right") for times in (failed, ended)]
    return before[0] / np.maximum(before[1], 1)
