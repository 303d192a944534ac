"""What the forests of `RandomForest` look at and learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES, task_classes, window_offsets
from failgym.predictors.endings import passing_ends, task_ends
from failgym.predictors.features.config import (
    CONFIG,
    MISSING,
    Rows,
    Vocabulary,
    job_config,
    task_config,
)
from failgym.predictors.features.flags import FLAGS, Failures, attempt_flags, task_flags
from failgym.predictors.features.system import NEVER
from failgym.predictors.features.usage import USAGE, usage_features
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

__all__ = ["EARLY", "LEVELS", "SCENARIOS", "Knowledge", "Lesson", "Scenario", "latest_by"]

Ints = npt.NDArray[np.int64]

EARLY = 5 * MINUTE
"""The first minutes of a run, whose usage the paper looks at [ms] (section V-A)."""
LEVELS: dict[str, int] = {"job": 2, "task": len(CLASSES), "attempt": 2}
"""What is forecast, and the number of its classes."""


class Scenario(NamedTuple):
    """What is known besides the configuration."""

    usage: bool
    flags: bool


SCENARIOS: dict[str, Scenario] = {
    "config": Scenario(usage=False, flags=False),
    "usage": Scenario(usage=True, flags=False),
    "flags": Scenario(usage=False, flags=True),
    "all": Scenario(usage=True, flags=True),
}
"""The scenarios of section V-A: "Config only", "Config + 5min Usage", "Config + TaskFailFlag" (with
AttemptFailFlag), and all of it."""


class Lesson(NamedTuple):
    """What was seen of jobs, tasks or attempts that have ended."""

    rows: Rows  # [rows, features]
    label: Ints  # [rows] class
    end: Ints  # [rows] when the class was known [ms]
    until: Ints  # [rows] when it was no more, as another attempt arrived; `NEVER` if none did [ms]

    def of(self, rows: npt.NDArray[np.bool_]) -> Lesson:
        """Some rows."""
        return Lesson(self.rows[rows], self.label[rows], self.end[rows], self.until[rows])

    def as_of(self, now: int, memory: int) -> Lesson:
        """What had ended in (now - memory, now] as far as was known then [ms]."""
        return self.of((self.end > now - memory) & (self.end <= now) & (self.until > now))

    def in_the_end(self) -> Lesson:
        """What is known when all is over."""
        return self.of(self.until == NEVER)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The features of one trace in one scenario, as of moments."""

    trace: Trace
    scenario: Scenario
    sliding: bool
    job: Rows
    """[jobs, features] At their submission."""
    task: Rows
    """[tasks, features] At their submission, the flags too."""
    config: Rows
    """[tasks, features] Their configuration."""
    failures: Failures

    @classmethod
    def of(
        cls, trace: Trace, vocabulary: Vocabulary, scenario: Scenario, sliding: bool = True
    ) -> Self:
        """Gather what all moments share."""
        failures = Failures.of(trace)
        task = config = task_config(trace, vocabulary)
        if scenario.flags:
            tasks = np.arange(len(config))
            flags = task_flags(trace, failures, tasks, trace.task_submit)
            task = np.concatenate((config, flags), axis=1)
        job = job_config(trace, vocabulary)
        return cls(trace, scenario, sliding, job, task, config, failures)

    @staticmethod
    def names(level: str, scenario: Scenario) -> tuple[str, ...]:
        """The features of a level."""
        names = CONFIG
        if scenario.flags and level != "job":
            names = (*names, *FLAGS)
        if scenario.usage and level == "attempt":
            names = (*names, *USAGE)
        return names

    def attempt(self, attempt: Ints, time: Ints) -> Rows:
        """The features of attempts at moments of their run, [moments, features]."""
        parts = [self.config[self.trace.column("attempts", "task")[attempt]]]
        if self.scenario.flags:
            parts.append(attempt_flags(self.trace, self.failures, attempt, time))
        if self.scenario.usage:
            if not self.sliding:
                time = np.minimum(time, self.trace.column("attempts", "start")[attempt] + EARLY)
            usage, _ = usage_features(self.trace, attempt, time, EARLY)
            parts.append(np.where(np.isnan(usage), np.float32(MISSING), usage))
        return np.concatenate(parts, axis=1)

    def lessons(self, window: int) -> dict[str, Lesson]:
        """What can be learned of each level: one row per job and task, several per attempt.

        And one of each task for each time at which it had ended until another attempt arrived. Jobs
        have no such times: one that waits for a retry has not ended yet, and this is known.
        """
        trace = self.trace
        ends = trace.column("attempts", "end")
        job = trace.column("tasks", "job")[trace.column("attempts", "task")]
        job_end = latest_by(job, ends, trace.rows("jobs"))
        fate = trace.column("jobs", "outcome")
        jobs = np.flatnonzero((fate != Outcome.CENSORED) & (job_end >= 0))
        attempt, time = self._moments(window)
        fails = trace.column("attempts", "outcome")[attempt] == Outcome.FAIL
        unfinished = _binary(fate[jobs] != Outcome.FINISH)
        return {
            "job": Lesson(self.job[jobs], unfinished, job_end[jobs], _for_good(jobs)),
            "task": self._task_lesson(),
            "attempt": Lesson(
                self.attempt(attempt, time), _binary(fails), ends[attempt], _for_good(attempt)
            ),
        }

    def _task_lesson(self) -> Lesson:
        """The tasks whose end is known, and those ends that were no last ones."""
        tasks = np.flatnonzero(self.trace.task_outcome != Outcome.CENSORED)
        passing = passing_ends(self.trace)
        task = np.append(tasks, passing.task)
        end = np.append(task_ends(self.trace)[tasks], passing.end)
        order = np.lexsort((end, task))  # the order tells not which end was the last
        return Lesson(
            self.task[task[order]],
            np.append(task_classes(self.trace)[tasks], passing.label)[order],
            end[order],
            np.append(_for_good(tasks), passing.until)[order],
        )

    def _moments(self, window: int) -> tuple[Ints, Ints]:
        """Attempts whose end is known, and moments [ms] of their run, to learn from.

        With only the configuration, each at its start. Else after 0, 1, 2, 4, 8 ... windows: a run
        of a month says no more than a dozen times that it has not failed yet.
        """
        known = self.trace.column("attempts", "outcome") != Outcome.CENSORED
        count = np.where(known, np.diff(window_offsets(self.trace, window)), 0)
        steps = np.minimum(count, 1)
        if self.scenario.usage or self.scenario.flags:
            steps = np.where(count > 0, np.frexp(np.maximum(count - 1, 0))[1] + 1, 0)
        attempt = np.repeat(np.arange(len(count)), steps)
        step = np.arange(len(attempt)) - (np.cumsum(steps) - steps)[attempt]
        passed = np.where(step > 0, 1 << np.maximum(step - 1, 0), 0)
        return attempt, self.trace.column("attempts", "start")[attempt] + passed * window


def latest_by(group: Ints, time: Ints, groups: int) -> Ints:
    """The latest time of each group [groups]; -1 for an empty one."""
    latest = np.full(groups, -1, dtype=np.int64)
    np.maximum.at(latest, group, time)
    return latest


def _for_good(rows: Ints) -> Ints:
    return np.full(len(rows), NEVER, dtype=np.int64)


def _binary(values: npt.NDArray[np.bool_]) -> Ints:
    return values.astype(np.int64)
