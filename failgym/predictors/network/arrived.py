"""Jobs and tasks as they arrive, in the terms of Rosà et al., and in which class they ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASSES, task_classes
from failgym.predictors.endings import passing_ends, task_ends
from failgym.predictors.features.static import (
    JOB_STATIC,
    TASK_STATIC,
    arrivals,
    job_static,
    task_static,
)
from failgym.predictors.features.system import NEVER, SYSTEM, Load, system_features
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["JOB_FEATURES", "TASK_FEATURES", "Arrived"]

Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

JOB_FEATURES = (*JOB_STATIC, *SYSTEM)
"""Names of what is known of a job when it arrives."""
TASK_FEATURES = (*TASK_STATIC, *SYSTEM)
"""Names of what is known of a task when it arrives."""


@dataclass(frozen=True, eq=False)
class Arrived:
    """Jobs and tasks: what is known of each at its arrival, and what became of it.

    A task has a row, the last of its own, and one before for each of its ends that was no last one
    (`passing_ends`), for what is learned before the next attempt arrives. A job that waits for a
    retry has not ended yet, and this is known.
    """

    job_features: Floats32
    """[jobs, features] named by `JOB_FEATURES`"""
    job_class: Ints
    """[jobs] 0: the job finished, 1: it did not"""
    job_end: Ints
    """[jobs] when its last attempt ended, `NEVER` if that is not known [ms]"""
    task_features: Floats32
    """[rows, features] named by `TASK_FEATURES`"""
    task_class: Ints
    """[rows] position in `failgym.predictors.CLASSES`"""
    task_end: Ints
    """[rows] `task_ends`, or an end that was no last one [ms]"""
    task_until: Ints
    """[rows] when this was no more the end, as another attempt arrived; else `NEVER` [ms]"""
    task_job: Ints
    """[rows] row of the job"""

    @classmethod
    def of(cls, trace: Trace, load: Load, sampling: int) -> Self:
        """The jobs and tasks of a trace, under a load, with sampling windows of ``sampling`` ms."""
        job_at, task_at = arrivals(trace)
        job = trace.column("tasks", "job").astype(np.int64)
        priority = trace.column("jobs", "priority").astype(np.int64)
        job_system, _ = system_features(load, job_at, priority, window=sampling)
        task_system, _ = system_features(load, task_at, priority[job], window=sampling)
        unfinished = trace.column("jobs", "outcome") != Outcome.FINISH
        passing = passing_ends(trace)
        task = np.append(np.arange(len(job)), passing.task)
        end = np.append(task_ends(trace), passing.end)
        order = np.lexsort((end, task))
        rows = task[order]
        return cls(
            np.hstack((job_static(trace)[0], job_system)),
            unfinished.astype(np.int64),
            _job_ends(trace),
            np.hstack((task_static(trace)[0], task_system))[rows],
            np.append(task_classes(trace), passing.label)[order],
            end[order],
            np.append(np.full(len(job), NEVER), passing.until)[order],
            job[rows],
        )

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """What `arrays` gave. Raises ValueError, in one line, if something is missing or unfit."""
        names = [field.name for field in fields(cls)]
        for name in names:
            if name not in arrays:
                raise ValueError(f"expected arrays {', '.join(names)}; no {name}")
        arrived = cls(*(np.asarray(arrays[name]) for name in names))
        jobs, tasks = len(arrived.job_end), len(arrived.task_end)
        features = (len(JOB_FEATURES), len(TASK_FEATURES))
        shapes = ((jobs, features[0]), (jobs,), (jobs,), (tasks, features[1]), *((tasks,),) * 4)
        for name, shape in zip(names, shapes, strict=True):
            if arrays[name].shape != shape:
                raise ValueError(f"{name}: expected shape {shape}, got {arrays[name].shape}")
            expected = np.float32 if name.endswith("_features") else np.int64
            if arrays[name].dtype != expected or not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name}: expected finite {np.dtype(expected)}")
        for name, classes in (("job_class", 2), ("task_class", len(CLASSES))):
            if not np.all((arrays[name] >= 0) & (arrays[name] < classes)):
                raise ValueError(f"{name}: expected classes below {classes}")
        if tasks and not 0 <= arrived.task_job.min() <= arrived.task_job.max() < jobs:
            raise ValueError(f"task_job: expected rows of {jobs} jobs")
        return arrived

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The fields as plain arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def last(self) -> Ints:
        """The row of each task, [tasks]."""
        return np.flatnonzero(self.task_until == NEVER)

    def since(self, moment: int) -> Self:
        """Tasks that ended after the moment [ms], and the jobs of these and that ended after it."""
        tasks = (self.task_end > moment) & (self.task_end < NEVER)
        jobs = (self.job_end > moment) & (self.job_end < NEVER)
        jobs[self.task_job[tasks]] = True
        return type(self)(
            self.job_features[jobs],
            self.job_class[jobs],
            self.job_end[jobs],
            self.task_features[tasks],
            self.task_class[tasks],
            self.task_end[tasks],
            self.task_until[tasks],
            (np.cumsum(jobs) - 1)[self.task_job[tasks]],
        )

    def __add__(self, other: Arrived) -> Arrived:
        """These and others after them."""
        mine, others = self.arrays(), other.arrays()
        others["task_job"] = other.task_job + len(self.job_end)
        return Arrived(*(np.concatenate((mine[name], others[name])) for name in mine))


def _job_ends(trace: Trace) -> Ints:
    job = trace.column("tasks", "job")[trace.column("attempts", "task")]
    last = np.full(trace.rows("jobs"), -1, dtype=np.int64)
    np.maximum.at(last, job, trace.column("attempts", "end"))
    unknown = (trace.column("jobs", "outcome") == Outcome.CENSORED) | (last < 0)
    unknown[job[trace.column("attempts", "outcome") == Outcome.CENSORED]] = True
    return np.where(unknown, NEVER, last)
