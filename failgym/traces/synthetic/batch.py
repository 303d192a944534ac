"""Jobs of many tasks, as arrays: what the generators of batch clusters share.

A profile decides what becomes of jobs and tasks and when tasks come; here machine-time is shared
out, the attempts of a task are put in a row with their waits, and the end of the data cuts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.traces.synthetic.profiles.batch import BatchProfile
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    QuantileTable,
    evenly,
    first_of_group,
    normal_score,
    quotas,
    ranks,
    spread,
)
from failgym.traces.synthetic.ranges import check_rows
from failgym.traces.synthetic.usage import Running
from failgym.vocabulary import MINUTE, SECOND, Cause, Outcome

FINISHED, FAILED, KILLED = 0, 1, 2
"""Fates of jobs and tasks, in the order of the profiles' tables; equal to `Outcome`'s codes."""
FAIL_ROW, EVICT_ROW, REQUEUE_ROW, LAST_ROW = 0, 1, 2, 3
"""Kinds of attempts."""


@dataclass(frozen=True)
class Jobs:
    """One entry per job, in order of submission."""

    submit: Ints  # [ms]
    fate: Ints
    multi: Flags
    tasks: Ints
    time: Floats  # machine-time of all attempts [ms]
    user: Ints
    span: int  # end of the data [ms]


@dataclass(frozen=True)
class Tasks:
    """One entry per task, in order of (job, index)."""

    job: Ints
    fate: Ints
    pending: Flags  # killed while it waited for a machine
    time: Floats  # machine-time of all attempts [ms]
    failures: Ints
    evictions: Ints
    requeues: Ints


@dataclass(frozen=True)
class Rows:
    """One entry per attempt, in order of (task, number)."""

    task: Ints
    kind: Ints
    wait: Ints  # from queued to start, or to the end if it never starts [ms]
    run: Ints  # [ms]
    last: Flags


@dataclass(frozen=True)
class Recorded:
    """The attempts as the data hold them: one entry per attempt, but for `job_cut` per job."""

    queued: Ints
    start: Ints
    end: Ints
    seen: Flags  # queued by the end of the data
    cut: Flags  # ends after it
    job_cut: Flags
    columns: dict[str, Any]


def fates(
    rng: np.random.Generator, multi: Flags, shares: tuple[Sequence[float], Sequence[float]]
) -> Ints:
    """Outcomes of jobs in an even mix over time; `shares` of jobs of one task, and of several."""
    fate = np.empty(len(multi), dtype=np.int64)
    for wide, mix in enumerate(shares):
        here = np.flatnonzero(multi == bool(wide))
        fate[here] = np.repeat(np.arange(3), quotas(mix, len(here)))[evenly(rng, len(here))]
    return fate


def job_times(
    profile: BatchProfile,
    table: QuantileTable,
    multi: Flags,
    size_score: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Machine-time [ms] of the jobs of one outcome, rising with their size.

    Jobs of one task rank below the others, each in random order.
    """
    rank = ranks(size_score + np.where(multi, 0.0, -8.0))
    width_score = normal_score((rank + 0.5) / max(len(rank), 1))
    rho = profile.width_correlation
    mixed = rho * width_score + (1 - rho**2) ** 0.5 * rng.standard_normal(len(rank))
    return table.at(spread(rng, ranks(mixed))) * MINUTE


def task_times(
    profile: BatchProfile, job: Jobs, of: Ints, fate: Ints, idle: Flags, weight: Floats
) -> Floats:
    """The machine-time of each task [ms]: its job's, shared out by weight; none for `idle` ones."""
    weight = weight.copy()
    weight[fate == FAILED] *= profile.failed_factor
    weight[idle] = 0.0
    total = np.bincount(of, weight, len(job.tasks))
    return np.minimum(job.time[of] * weight / total[of], float(profile.longest))


def attempts(profile: BatchProfile, task: Tasks, rng: np.random.Generator) -> Rows:
    """The attempts of all tasks, each with its share of the task's machine-time."""
    numbers = np.arange(len(task.job))
    # The last row is the task's own end; a failed task's is the last of its failures.
    failed = task.fate == FAILED
    counts = (task.failures - failed, task.evictions, task.requeues, np.ones_like(task.failures))
    check_rows(sum(int(count.sum()) for count in counts), "attempts")
    of = np.concatenate([np.repeat(numbers, count) for count in counts])
    kind = np.repeat(np.arange(4), [int(count.sum()) for count in counts])
    order = np.lexsort((rng.random(len(of)), kind == LAST_ROW, of))
    of, kind = of[order], kind[order]
    last = kind == LAST_ROW
    kind[last & failed[of]] = FAIL_ROW
    weight = rng.standard_exponential(len(of)) + 0.02
    weight[(kind == FAIL_ROW) & ~last] *= profile.failure_weight
    weight[last & task.pending[of]] = 0.0
    total = np.bincount(of, weight, len(numbers))
    run = task.time[of] * weight / np.maximum(total, 1e-9)[of]
    wait = _waits(profile, task, of, kind, last, rng)
    return Rows(
        of,
        kind,
        np.rint(wait).astype(np.int64),
        np.where(run > 0, np.maximum(np.rint(run), 1), 0).astype(np.int64),
        last,
    )


def _waits(
    profile: BatchProfile,
    task: Tasks,
    of: Ints,
    kind: Ints,
    last: Flags,
    rng: np.random.Generator,
) -> Floats:
    """How long each attempt waits for its start [ms]."""
    wait = profile.queue_delay.sample(rng, len(of)) * SECOND
    for before, table in enumerate(profile.requeue_delay):
        after = np.flatnonzero((of[1:] == of[:-1]) & (kind[:-1] == before)) + 1
        wait[after] = table.sample(rng, len(after)) * SECOND
    waits = np.flatnonzero(last & task.pending[of])
    wait[waits] = profile.pending_minutes.sample(rng, len(waits)) * MINUTE
    return wait


def task_lengths(rows: Rows, tasks: int) -> Ints:
    """From the first wait to the last end of each task [ms], (tasks,)."""
    return np.bincount(rows.task, rows.wait + rows.run, tasks).astype(np.int64)


def record(job: Jobs, task: Tasks, rows: Rows, submit: Ints, killed_by: Ints) -> Recorded:
    """The attempts, cut by the end of the data.

    `submit` is when each task is submitted [ms], `killed_by` the cause of its end if it is killed.
    """
    queued = submit[rows.task] + _before(rows.task, rows.wait + rows.run)
    start = queued + rows.wait
    end = start + rows.run
    outcome = np.array([Outcome.FAIL, Outcome.EVICT, Outcome.KILL, Outcome.FINISH])[rows.kind]
    cause = np.array([Cause.INTRINSIC, Cause.PREEMPTION, Cause.REQUEUE, -1])[rows.kind]
    killed = (rows.kind == LAST_ROW) & (task.fate == KILLED)[rows.task]
    outcome[killed], cause[killed] = Outcome.KILL, killed_by[rows.task[killed]]
    idle = rows.last & task.pending[rows.task]
    seen, cut = queued <= job.span, end > job.span
    outcome[cut], cause[cut] = Outcome.CENSORED, -1
    job_cut = np.zeros(len(job.tasks), dtype=np.bool_)
    job_cut[task.job[rows.task[cut]]] = True
    columns: dict[str, Any] = {
        "task": rows.task,
        "queued": queued,
        "start": np.ma.array(start, mask=idle | (start > job.span)),
        "end": np.minimum(end, job.span),
        "outcome": outcome,
        "cause": np.ma.array(cause, mask=cause < 0),
    }
    return Recorded(queued, start, end, seen, cut, job_cut, columns)


def recorded_width(task: Tasks, rows: Rows, recorded: Recorded) -> Ints:
    """The number of tasks of each job that the data hold, (jobs,)."""
    present = recorded.seen[first_of_group(np.bincount(rows.task))]
    return np.bincount(task.job[present], minlength=len(recorded.job_cut))


def running(
    job: Jobs,
    task: Tasks,
    rows: Rows,
    recorded: Recorded,
    cpu: Floats | None = None,
    memory: Floats | None = None,
) -> Running:
    """What ran, for its usage to be measured; `cpu` and `memory` as requested, per task."""
    tasks = len(task.job)
    none = np.zeros(tasks)
    return Running(
        task=rows.task,
        duration=np.minimum(recorded.end, job.span) - recorded.start,
        before=_before(rows.task, rows.run),
        fails=rows.kind == FAIL_ROW,
        total=np.bincount(rows.task, rows.run, tasks).astype(np.int64),
        known=np.bincount(rows.task, recorded.cut, tasks) == 0,
        fate=task.fate,
        job=task.job,
        cpu=none if cpu is None else cpu,
        memory=none if memory is None else memory,
        job_fate=job.fate,
    )


def _before(task: Ints, time: Ints) -> Ints:
    """The sum of the times of the task's earlier attempts."""
    passed = np.cumsum(time)
    first = first_of_group(np.bincount(task))
    return passed - time - np.concatenate(([0], passed))[first][task]
