"""The attempts of a trace as observations of how long attempts last, and what ends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.compile import Attempts, attempts_of, endings, user_kill
from failgym.sim.shared.continuation import COUNTS
from failgym.traces import Trace
from failgym.vocabulary import NEVER, Ending, Outcome

__all__ = ["Rows", "end_of_data", "stage_of_tasks"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """The started attempts of a trace, (rows,) each, in the order of the trace."""

    task: Ints
    job: Ints
    start: Ints
    end: Ints
    ending: Ints
    """`Ending`. What the data cut off is CENSORED, and so is what ended after its task had
    succeeded: that end says nothing of how long it would have lasted."""
    past: Ints
    """Intrinsic failures among the started attempts with lower numbers, at most `COUNTS` - 1."""
    known: Bools
    """Is anything known of how long it lasts? Not of one that may have run before (`_age_unknown`),
    nor of one that was cut off in the millisecond in which it began."""
    length: Ints
    """Undisturbed length that the trace states [ms], else -1."""
    first: Bools
    """Is it the first of its task that started?"""
    behind: Ints
    """Rows of the task behind it in the trace, never-started ones included."""

    @property
    def duration(self) -> Ints:
        """How long each ran [ms], at least 1."""
        return np.maximum(self.end - self.start, 1)

    @classmethod
    def of(cls, trace: Trace) -> Self:
        """The started attempts of a trace."""
        a = attempts_of(trace)
        kept = np.flatnonzero(a.started)
        task = a.task[kept]
        ending = _endings(a)[kept]
        failed = np.cumsum(ending == Ending.INTRINSIC)
        failed_before = failed - (ending == Ending.INTRINSIC)
        head = np.searchsorted(task, task)  # first started row of the task
        past = failed_before - failed_before[head] if len(kept) else failed
        job = trace.column("tasks", "job")[task]
        submit = trace.column("jobs", "submit")
        unseen = (ending == Ending.CENSORED) & (a.end[kept] <= a.start[kept])
        return cls(
            task=task,
            job=job,
            start=a.start[kept],
            end=a.end[kept],
            ending=ending,
            past=np.minimum(past, COUNTS - 1),
            known=~_age_unknown(a.start[kept], job, submit) & ~unseen,
            length=a.length[kept],
            first=head == np.arange(len(kept)),
            behind=a.first[1:][task] - 1 - kept,
        )


def _endings(a: Attempts) -> Ints:
    """What ended each attempt, as far as it says how long one lasts."""
    ending = endings(a, user_kill(a)).astype(np.int64)
    finish = a.first_of(a.outcome == Outcome.FINISH)
    succeeded = np.where(finish >= 0, a.end[finish], NEVER) if len(a.task) else finish
    later = (a.end == succeeded[a.task]) & (np.arange(len(a.task)) > finish[a.task])
    outlived = (a.outcome != Outcome.FINISH) & ((a.end > succeeded[a.task]) | later)
    ending[outlived | (a.outcome == Outcome.CENSORED)] = Ending.CENSORED
    return ending


def _age_unknown(start: Ints, job: Ints, submit: Ints) -> Bools:
    """Rows that may have run before the data begin: the time seen is less than they lasted.

    A trace begins with a running cluster if several jobs, though not all that it holds, were
    submitted at 0 and have rows that start at 0. It holds no negative times: all that is known of
    these rows is that they ran at 0 (in Google's record of 2011, 133 thousand).
    """
    at_zero = (start <= 0) & (submit[job] <= 0)
    running = len(np.unique(job[at_zero]))
    if running < 2 or not (submit > 0).any():
        return np.zeros(len(start), dtype=np.bool_)
    return at_zero


def end_of_data(trace: Trace, rows: Rows) -> int:
    """When the data end [ms]: as the trace says, else with the last attempt."""
    if trace.meta.end is not None:
        return trace.meta.end
    return int(rows.end.max(initial=0))


def stage_of_tasks(trace: Trace) -> Ints:
    """Number of the group of siblings of each task, [tasks]: tasks of one stage of one job.

    Where a task has no stage, its siblings are the tasks of its job that have none.
    """
    job = trace.column("tasks", "job").astype(np.int64)
    stage = trace.column("tasks", "stage", missing=-1).astype(np.int64)
    _, group = np.unique(job * (stage.max(initial=-1) + 2) + stage + 1, return_inverse=True)
    return group.astype(np.int64)
