"""What is known of jobs and tasks when they are submitted, as Rosà et al. list it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import LATEST
from failgym.traces.trace import Trace

__all__ = ["JOB_STATIC", "TASK_STATIC", "arrivals", "job_static", "task_static"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]

REQUESTED = ("cpu", "memory", "disk")

TASK_STATIC = ("priority", *REQUESTED, "scheduling_class")
"""Names of the 5 static features of a task."""
JOB_STATIC = (
    "tasks",
    "scheduling_class",
    *(f"{name}_{moment}" for name in ("priority", *REQUESTED) for moment in ("mean", "deviation")),
)
"""Names of the 10 static features of a job."""


def task_static(trace: Trace) -> tuple[Floats, tuple[str, ...]]:
    """The 5 static features of each task (Rosà, Chen and Binder, IWQoS 2015, section III-2).

    Priority and requested processor, memory and disk. The paper counts five features and names
    these four; the fifth is taken to be the scheduling class, which the trace gives beside them.
    Priority and class are the job's. What a trace does not say is 0.

    Returns:
        float32 [tasks, 5], and the names of the features, `TASK_STATIC`.
    """
    job = trace.column("tasks", "job")
    of_job = {name: _known(trace, "jobs", name)[job] for name in ("priority", "scheduling_class")}
    requested = {name: _known(trace, "tasks", name) for name in REQUESTED}
    columns = [(of_job | requested)[name] for name in TASK_STATIC]
    return np.stack(columns, axis=1).astype(np.float32), TASK_STATIC


def job_static(trace: Trace) -> tuple[Floats, tuple[str, ...]]:
    """The 10 static features of each job: its number of tasks, its scheduling class, and the mean
    and standard deviation of priority and requests over its tasks (as `task_static`).

    The tasks are those that are there when the job is predicted (`arrivals`). As a trace has
    one priority per job, that deviation is 0.

    Returns:
        float32 [jobs, 10], and the names of the features, `JOB_STATIC`.
    """
    job, jobs = trace.column("tasks", "job"), trace.rows("jobs")
    there = trace.task_submit <= arrivals(trace)[0][job]
    values = task_static(trace)[0][there, : 1 + len(REQUESTED)].astype(np.float64)
    job = job[there]
    number = np.maximum(np.bincount(job, minlength=jobs), 1)
    columns = [trace.column("jobs", "width"), _known(trace, "jobs", "scheduling_class")]
    for value in values.T:
        columns += _moments(value, job, number)
    return np.stack(columns, axis=1).astype(np.float32), JOB_STATIC


def arrivals(trace: Trace) -> tuple[Ints, Ints]:
    """When each job, and each task, is predicted [ms].

    A job at its submission, or when its first task is submitted if that is later; a task at its
    submission, or with its job if that is later.
    """
    submit, job = trace.column("jobs", "submit").astype(np.int64), trace.column("tasks", "job")
    first = np.full(len(submit), LATEST, dtype=np.int64)
    np.minimum.at(first, job, trace.task_submit)
    of_job = np.where(first < LATEST, np.maximum(first, submit), submit)
    return of_job, np.maximum(trace.task_submit, of_job[job])


def _moments(value: Floats64, job: Ints, number: Ints) -> tuple[Floats64, Floats64]:
    """Mean and standard deviation over the tasks of each job; exactly 0 where all are equal."""
    one = np.zeros(len(number))
    one[job] = value  # of some task; differences from it are exact where there are none
    away = value - one[job]
    mean = np.bincount(job, away, minlength=len(number)) / number
    square = np.bincount(job, np.square(away - mean[job]), minlength=len(number)) / number
    return one + mean, np.sqrt(square)


def _known(trace: Trace, table: str, name: str) -> Floats64:
    """A column, 0 where it is null."""
    return np.asarray(trace.column(table, name, missing=0), dtype=np.float64)
