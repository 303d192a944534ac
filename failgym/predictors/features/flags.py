"""Flags: the failures so far, of the attempts of a task and of the other tasks of its job.

The "Counters" of El-Sayed et al. (ICDCS 2017, Table IV): TaskFailFlag, AttemptFailFlag, and the
past failed attempts, here as a number. Each is as of a moment: an end counts from its time on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["FLAGS", "Failures", "attempt_flags", "job_flags", "task_flags"]

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.float32]

FLAGS = ("task_fail_flag", "attempt_fail_flag", "past_failures")
"""An attempt of the job has failed; one of the task has; how many of the task have. Those of a job
(`job_flags`): the flag, and how many of its attempts have failed."""


@dataclass(frozen=True, eq=False)
class Failures:
    """The attempts that end in FAIL, to be counted by group up to a moment.

    They are ordered by (end, row): of two that end in the same millisecond, the earlier row's end
    comes first. So an attempt of no length does not know of its own failure when it starts, and the
    next one does.
    """

    attempt: Ints
    """The rows of the attempts that fail, by (end, row)."""
    moment: Ints
    """The distinct times at which they end [ms], increasing."""
    key: Ints
    """The place of each in the order: (position in `moment`, row) as one number, increasing."""
    rows: int
    """The number of attempts of the trace."""

    @classmethod
    def of(cls, trace: Trace) -> Failures:
        """The failures of a trace."""
        row = np.flatnonzero(trace.column("attempts", "outcome") == Outcome.FAIL)
        end = trace.column("attempts", "end")[row]
        order = np.lexsort((row, end))
        moment, position = np.unique(end, return_inverse=True)
        rows = trace.rows("attempts")
        key = position[order].astype(np.int64) * (rows + 1) + row[order]
        return cls(row[order].astype(np.int64), moment.astype(np.int64), key, rows)

    def counted(self, group_of: Ints, group: Ints, time: Ints, row: Ints | int = 0) -> Ints:
        """How many attempts of each group have failed by a moment.

        Args:
            group_of: the group of each attempt of the trace.
            group: the group asked about.
            time: the moment [ms]. Ends before it count.
            row: ends at the moment count for attempts of a smaller row.
        """
        place = self._place(time, row)
        step = len(self.attempt) + 1
        of = group_of[self.attempt] * step + np.arange(len(self.attempt))
        of.sort()
        return np.searchsorted(of, group * step + place) - np.searchsorted(of, group * step)

    def _place(self, time: Ints, row: Ints | int) -> Ints:
        """How many failures of the whole trace come before (time, row)."""
        position = np.searchsorted(self.moment, time)
        now = np.append(self.moment, -1)[position] == time
        return np.searchsorted(self.key, position * (self.rows + 1) + np.where(now, row, 0))


def attempt_flags(trace: Trace, failures: Failures, attempt: Ints, time: Ints) -> Rows:
    """The flags of attempts at moments [ms] of their run, float32 [moments, features of `FLAGS`].

    What ends at the moment itself counts if its row is before the attempt's.
    """
    task_of, job_of = _groups(trace)
    own = failures.counted(task_of, task_of[attempt], time, attempt)
    all_of_job = failures.counted(job_of, job_of[attempt], time, attempt)
    return _columns(all_of_job > 0, own > 0, own)


def task_flags(trace: Trace, failures: Failures, task: Ints, time: Ints) -> Rows:
    """The flags of tasks just before a moment [ms], float32 [moments, features of `FLAGS`]."""
    task_of, job_of = _groups(trace)
    own = failures.counted(task_of, task, time)
    all_of_job = failures.counted(job_of, trace.column("tasks", "job")[task], time)
    return _columns(all_of_job > 0, own > 0, own)


def job_flags(trace: Trace, failures: Failures, job: Ints, time: Ints) -> Rows:
    """The TaskFailFlag of jobs and their failed attempts, just before a moment [ms].

    float32 [moments, 2].
    """
    count = failures.counted(_groups(trace)[1], job, time)
    return _columns(count > 0, count)


def _groups(trace: Trace) -> tuple[Ints, Ints]:
    """The task and the job of each attempt."""
    task = trace.column("attempts", "task")
    return task, trace.column("tasks", "job")[task]


def _columns(*columns: npt.NDArray[np.generic]) -> Rows:
    return np.column_stack([column.astype(np.float32) for column in columns])
