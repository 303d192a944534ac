"""What the tests of generated batch traces measure, from the tables alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces import Outcome, Trace

MINUTE = 60_000.0

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class Measures(NamedTuple):
    """A trace of batch jobs as arrays: per job, task and attempt."""

    job_outcome: npt.NDArray[np.int8]
    job_minutes: Floats
    job_failed: Flags  # holds a failed attempt
    task_job: npt.NDArray[np.int64]
    task_outcome: npt.NDArray[np.int8]
    task_time: Floats
    failures: Floats
    row_task: npt.NDArray[np.int64]
    outcome: npt.NDArray[np.int8]
    run: Floats  # 0 if it never started
    past: npt.NDArray[np.int64]  # failures of the task before it

    @classmethod
    def of(cls, trace: Trace) -> Measures:
        task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
        run = run_times(trace).astype(np.float64)
        job, jobs, tasks = trace.column("tasks", "job"), trace.rows("jobs"), trace.rows("tasks")
        failed = outcome == Outcome.FAIL
        before = np.cumsum(failed) - failed
        failures = np.bincount(task, failed, tasks).astype(np.float64)
        return cls(
            trace.column("jobs", "outcome"),
            np.bincount(job[task], run, jobs) / MINUTE,
            np.bincount(job, failures, jobs) > 0,
            job,
            trace.task_outcome,
            np.bincount(task, run, tasks).astype(np.float64),
            failures,
            task,
            outcome,
            run,
            before - before[trace.task_first[:-1]][task],
        )

    def shares(self) -> Floats:
        """Jobs by outcome: finished, failed, killed, of those whose outcome is known."""
        known = self.job_outcome != Outcome.CENSORED
        counts = np.bincount(self.job_outcome[known], minlength=6)[:3]
        return counts / known.sum()

    def wasted(self) -> float:
        """Share of the machine-time in attempts that do not finish."""
        ended = self.outcome != Outcome.CENSORED
        return float(
            self.run[ended & (self.outcome != Outcome.FINISH)].sum() / self.run[ended].sum()
        )


def success_by_past_failures(measures: list[Measures], jobs: list[Flags]) -> Floats:
    """Chance that an attempt finishes and does not fail, after 0 to 4 failures, in some jobs."""
    finished, failed = np.zeros(5), np.zeros(5)
    for m, wanted in zip(measures, jobs, strict=True):
        here = wanted[m.task_job][m.row_task]
        past = np.minimum(m.past, 4)
        finished += np.bincount(past[here & (m.outcome == Outcome.FINISH)], minlength=5)
        failed += np.bincount(past[here & (m.outcome == Outcome.FAIL)], minlength=5)
    return finished / (finished + failed)


def run_times(trace: Trace) -> npt.NDArray[np.int64]:
    """How long each attempt ran [ms], 0 if it never started."""
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    return np.where(start >= 0, end - start, 0)


class MemoryUse(NamedTuple):
    """The memory of each task with windows, against its request and over its life."""

    exceeds: Flags
    seen: Flags  # has a window
    growth: Floats  # mean of the second half of its running time over that of the first
    told: Flags  # has windows in both halves

    @classmethod
    def of(cls, trace: Trace, window: int, *, weighted: bool = True) -> MemoryUse:
        """A window, of `window` ms at most, counts for the time until the next, or for one."""
        attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
        task, run, n = trace.column("attempts", "task"), run_times(trace), trace.rows("tasks")
        of = task[attempt]
        total, before = np.bincount(task, run, n), np.cumsum(run) - run
        before -= before[trace.task_first[:-1]][task]
        length = np.minimum(run[attempt], window)
        late = before[attempt] + offset + length / 2 >= total[of] / 2
        last = np.append(attempt[1:] != attempt[:-1], True)
        following = np.append(offset[1:], 0)
        whole = np.maximum(run[attempt] // window * window, length)
        weight = np.where(last, whole, following) - offset if weighted else np.ones(len(of))
        memory = trace.column("windows", "memory").astype(np.float64)
        first, second = (
            np.bincount(of[half], (weight * memory)[half], n)
            / np.maximum(np.bincount(of[half], weight[half], n), 1e-9)
            for half in (~late, late)
        )
        peak = np.zeros(n)
        np.maximum.at(peak, of, trace.column("windows", "max_memory"))
        return cls(
            peak > trace.column("tasks", "memory"),
            peak > 0,
            second / np.maximum(first, 1e-9),
            (first > 0) & (second > 0),
        )
