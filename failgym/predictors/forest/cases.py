"""Jobs, tasks and attempts as the sweeps of El-Sayed et al. see them, once each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.predictors.features.config import CONFIG, MISSING, Rows, learn_vocabulary
from failgym.predictors.features.flags import FLAGS, attempt_flags, job_flags, task_flags
from failgym.predictors.features.usage import RESOURCES, USAGE, usage_features
from failgym.predictors.forest.rows import EARLY, SCENARIOS, Knowledge, latest_by
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["JOB_FLAGS", "JOB_USAGE", "Case", "cases"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

JOB_USAGE = (*(f"{x}: mean" for x in RESOURCES), *(f"{x}: variation" for x in RESOURCES))
"""Early usage of a job: the mean over its tasks, and their coefficient of variation (Table IV)."""
JOB_FLAGS = ("task_fail_flag", "failed_attempts")
"""TaskFailFlag of a job, and how many of its attempts have failed."""


class Case(NamedTuple):
    """Jobs, tasks or attempts whose end is known: what there is to predict."""

    rows: Rows
    names: tuple[str, ...]
    outcome: npt.NDArray[np.int8]
    job: Ints
    work: Ints  # machine-time [ms]


def cases(trace: Trace, level: str, scenario: str, learned: Bools) -> Case:
    """What there is to predict of a level, and what is known of it in the scenario."""
    plain = SCENARIOS["config"]
    known = Knowledge.of(trace, learn_vocabulary(trace, learned), plain, sliding=False)
    whole = {"job": _jobs, "task": _tasks, "attempt": _attempts}[level](known, scenario)
    ended = whole.outcome != Outcome.CENSORED
    if level == "attempt":
        ended &= trace.present("attempts", "start")
    rows, names, outcome, job, work = whole
    return Case(rows[ended], names, outcome[ended], job[ended], work[ended])


def _jobs(known: Knowledge, scenario: str) -> Case:
    trace = known.trace
    job = trace.column("tasks", "job")
    parts, names = [known.job], CONFIG
    if SCENARIOS[scenario].usage:
        parts.append(_job_usage(trace))
        names = (*names, *JOB_USAGE)
    if SCENARIOS[scenario].flags:
        end = latest_by(job, _task_ends(trace), trace.rows("jobs"))
        parts.append(job_flags(trace, known.failures, np.arange(len(end)), end))
        names = (*names, *JOB_FLAGS)
    work = np.bincount(job, _task_work(trace), trace.rows("jobs")).astype(np.int64)
    outcome = trace.column("jobs", "outcome")
    return Case(np.concatenate(parts, axis=1), names, outcome, np.arange(len(outcome)), work)


def _tasks(known: Knowledge, scenario: str) -> Case:
    trace = known.trace
    parts, names = [known.config], CONFIG
    if SCENARIOS[scenario].usage:
        parts.append(_task_usage(trace)[0])
        names = (*names, *USAGE)
    if SCENARIOS[scenario].flags:
        end = _task_ends(trace)
        parts.append(task_flags(trace, known.failures, np.arange(len(end)), end))
        names = (*names, *FLAGS)
    rows, job = np.concatenate(parts, axis=1), trace.column("tasks", "job")
    return Case(rows, names, trace.task_outcome, job, _task_work(trace))


def _attempts(known: Knowledge, scenario: str) -> Case:
    trace = known.trace
    task, start = trace.column("attempts", "task"), trace.column("attempts", "start")
    attempt = np.arange(len(task))
    parts, names = [known.config[task]], CONFIG
    if SCENARIOS[scenario].usage:
        parts.append(_early_usage(trace, attempt))
        names = (*names, *USAGE)
    if SCENARIOS[scenario].flags:
        parts.append(attempt_flags(trace, known.failures, attempt, start))
        names = (*names, *FLAGS)
    rows, job = np.concatenate(parts, axis=1), trace.column("tasks", "job")[task]
    return Case(rows, names, trace.column("attempts", "outcome"), job, _work(trace))


def _early_usage(trace: Trace, attempt: Ints) -> Rows:
    """The usage of attempts after their first five minutes, or at their end [rows, `USAGE`]."""
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    time = np.minimum(start[attempt] + EARLY, end[attempt])
    usage, _ = usage_features(trace, attempt, time, EARLY)
    return np.where(np.isnan(usage), np.float32(MISSING), usage)


def _task_usage(trace: Trace) -> tuple[Rows, Ints]:
    """The early usage of the first run of each task [tasks, `USAGE`], and its start [ms].

    `MISSING`, and -1, for a task that never ran.
    """
    ran = np.flatnonzero(trace.present("attempts", "start"))
    task, place = np.unique(trace.column("attempts", "task")[ran], return_index=True)
    usage = np.full((trace.rows("tasks"), len(USAGE)), MISSING, dtype=np.float32)
    start = np.full(trace.rows("tasks"), -1, dtype=np.int64)
    usage[task] = _early_usage(trace, ran[place])
    start[task] = trace.column("attempts", "start")[ran[place]]
    return usage, start


def _job_usage(trace: Trace) -> Rows:
    """The early usage of the tasks of each job: means and variations [jobs, `JOB_USAGE`]."""
    usage, start = _task_usage(trace)
    job, jobs = trace.column("tasks", "job"), trace.rows("jobs")
    ran = np.flatnonzero(start >= 0)
    first = np.full(jobs, np.iinfo(np.int64).max)
    np.minimum.at(first, job[ran], start[ran])
    ran = ran[start[ran] <= first[job[ran]] + EARLY]
    columns = [
        _mean_and_variation(job[ran], usage[ran, USAGE.index(f"{name}: mean")], jobs)
        for name in RESOURCES
    ]
    means, variations = zip(*columns, strict=True)
    return np.column_stack([*means, *variations]).astype(np.float32)


def _mean_and_variation(group: Ints, values: Rows, groups: int) -> tuple[Floats, Floats]:
    """Mean and coefficient of variation of the known values of each group; `MISSING` of none."""
    known = values != np.float32(MISSING)
    group, exact = group[known], values[known].astype(np.float64)
    count = np.bincount(group, minlength=groups)
    mean = np.bincount(group, exact, groups) / np.maximum(count, 1)
    square = np.bincount(group, (exact - mean[group]) ** 2, groups) / np.maximum(count, 1)
    variation = np.sqrt(square) / np.where(mean > 0, mean, 1.0)
    return np.where(count > 0, mean, MISSING), np.where(count > 0, variation, MISSING)


def _task_ends(trace: Trace) -> Ints:
    """When the last attempt of each task ends [ms]; -1 without one."""
    task, end = trace.column("attempts", "task"), trace.column("attempts", "end")
    return latest_by(task, end, trace.rows("tasks"))


def _work(trace: Trace) -> Ints:
    """The machine-time of each attempt [slots ms]; 0 of one that never ran."""
    width = trace.column("tasks", "width")[trace.column("attempts", "task")]
    duration = trace.column("attempts", "end") - trace.column("attempts", "start")
    return np.where(trace.present("attempts", "start"), duration * width, 0)


def _task_work(trace: Trace) -> Ints:
    """The machine-time of each task [slots ms]."""
    task = trace.column("attempts", "task")
    return np.bincount(task, _work(trace), trace.rows("tasks")).astype(np.int64)
