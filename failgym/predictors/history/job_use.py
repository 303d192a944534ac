"""What jobs used, as it was known when they had ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import fixed_width
from failgym.traces.trace import Trace
from failgym.vocabulary import Cause, Outcome

__all__ = ["QUANTITIES", "JobUse", "Past", "past_jobs"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]

QUANTITIES = ("memory", "local_io", "remote_io", "network", "runtime")
"""In the order of Kumar et al.'s Table VI (DSN 2020)."""


@dataclass(frozen=True, eq=False)
class JobUse:
    """What jobs used, or are expected to use; NaN where it is not known."""

    memory: Floats
    """[jobs] on average over the job's run, in the unit of the trace's windows"""
    local_io: Floats
    """[jobs] likewise"""
    remote_io: Floats
    """[jobs] likewise"""
    network: Floats
    """[jobs] likewise"""
    runtime: Floats
    """[jobs] how long it runs [ms]"""

    def of(self, quantity: str) -> Floats:
        """The column of one of `QUANTITIES`."""
        column: Floats = getattr(self, quantity)
        return column


@dataclass(frozen=True, eq=False)
class Past:
    """Jobs: who submitted them and how, and what they used if they ended by themselves."""

    original_id: Texts
    user: Texts
    name: Texts
    queue: Texts
    submit: Integers
    width: Integers
    """[jobs] slots of the tasks that were submitted with the job"""
    walltime: Integers
    """[jobs] requested [ms], 0 if none was"""
    end: Integers
    """[jobs] when all of it had ended [ms], -1 for jobs that did not end by themselves"""
    use: JobUse

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns by name, those of `use` among them."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "use"}
        return {**own, **{quantity: self.use.of(quantity) for quantity in QUANTITIES}}

    @classmethod
    def of(cls, columns: Mapping[str, npt.NDArray[Any]]) -> Self:
        """What `columns` returned. Raises ValueError, in one line, if it is something else."""
        own = [each.name for each in fields(cls) if each.name != "use"]
        for name in (*own, *QUANTITIES):
            if name not in columns:
                raise ValueError(f"past jobs: column {name!r} is missing")
            if columns[name].ndim != 1 or len(columns[name]) != len(columns["end"]):
                raise ValueError(f"past jobs: expected column {name!r} to have a value per job")
            kind = "U" if name in _TEXTS else "f" if name in QUANTITIES else "i"
            if columns[name].dtype.kind != kind or (kind == "f" and np.isinf(columns[name]).any()):
                raise ValueError(f"past jobs: column {name!r} is {columns[name].dtype}")
        use = JobUse(**{name: columns[name].astype(np.float64) for name in QUANTITIES})
        return cls(**{name: columns[name] for name in own}, use=use)

    def ended(self) -> Past:
        """Those that ended by themselves."""
        return self._rows(self.end >= 0)

    def without(self, others: Past) -> Past:
        """Those that are not among the others: of another id or time of submission."""
        theirs = set(zip(others.original_id.tolist(), others.submit.tolist(), strict=True))
        own = zip(self.original_id.tolist(), self.submit.tolist(), strict=True)
        return self._rows(np.array([job not in theirs for job in own], dtype=np.bool_))

    def joined(self, other: Past) -> Past:
        """These and others."""
        columns = other.columns()
        return self.of({k: np.concatenate([v, columns[k]]) for k, v in self.columns().items()})

    def _rows(self, kept: Bools) -> Past:
        return self.of({name: column[kept] for name, column in self.columns().items()})


_TEXTS = ("original_id", "user", "name", "queue")


def past_jobs(trace: Trace) -> Past:
    """The jobs of a trace, [jobs], with what they used as far as they ended by themselves.

    A job did if each of its tasks did: with an attempt that finished, failed by its own fault, or
    was killed at its walltime. That is the task's run: of several, the first that finished, else
    the last that ended. A job runs from the first start of its tasks' runs to their last end, and
    uses what their windows say, each weighing the time until the next one that was kept.
    """
    run, jobs = _runs(trace), trace.rows("jobs")
    job = trace.column("tasks", "job")
    submit = trace.column("jobs", "submit").astype(np.int64)
    first = np.flatnonzero(trace.task_submit <= submit[job])
    width = np.bincount(job[first], trace.column("tasks", "width")[first], jobs).astype(np.int64)
    texts = {name: fixed_width(trace.column("jobs", name)).reshape(jobs) for name in _TEXTS}
    end = _ends(trace, run)
    use = _use(trace, run[end[job[trace.column("attempts", "task")[run]]] >= 0])
    walltime = trace.column("jobs", "walltime", missing=0).astype(np.int64)
    return Past(**texts, submit=submit, width=width, walltime=walltime, end=end, use=use)


def _runs(trace: Trace) -> Integers:
    """The attempt by which each task ended by itself, where there is one: rows of attempts."""
    outcome, cause = trace.column("attempts", "outcome"), trace.column("attempts", "cause")
    by_itself = outcome == Outcome.FINISH
    by_itself |= (outcome == Outcome.FAIL) & np.isin(cause, (Cause.INTRINSIC, Cause.DEPENDENCY))
    by_itself |= (outcome == Outcome.KILL) & (cause == Cause.WALLTIME)
    rows = np.flatnonzero(by_itself & trace.present("attempts", "start"))
    end, finished = trace.column("attempts", "end")[rows], outcome[rows] == Outcome.FINISH
    task = trace.column("attempts", "task")[rows]
    order = np.lexsort((np.where(finished, -end, end), finished, task))
    last = np.append(np.diff(task[order]) != 0, len(order) > 0)[: len(order)]
    return rows[order[last]]


def _ends(trace: Trace, run: Integers) -> Integers:
    """When each job had ended [ms], -1 if not every task did by itself."""
    job, task = trace.column("tasks", "job"), trace.column("attempts", "task")
    jobs = trace.rows("jobs")
    end = np.full(jobs, -1, dtype=np.int64)
    np.maximum.at(end, job[task], trace.column("attempts", "end"))
    runs = np.bincount(job[task[run]], minlength=jobs)
    cut = trace.column("attempts", "outcome") == Outcome.CENSORED
    whole = (runs > 0) & (runs == np.bincount(job, minlength=jobs))
    whole[job[task[cut]]] = False
    return np.where(whole, end, -1)


def _use(trace: Trace, run: Integers) -> JobUse:
    """What jobs used in these attempts, [jobs]."""
    jobs = trace.rows("jobs")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    job = trace.column("tasks", "job")[trace.column("attempts", "task")]
    first, last = np.full(jobs, np.iinfo(np.int64).max), np.full(jobs, -1, dtype=np.int64)
    np.minimum.at(first, job[run], start[run])
    np.maximum.at(last, job[run], end[run])
    runtime = np.where(last >= 0, last - first, np.nan).astype(np.float64)
    own = np.zeros(trace.rows("attempts"), dtype=np.bool_)
    own[run] = True
    holder, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
    order = np.lexsort((offset, holder))
    order = order[own[holder[order]]]
    holder, offset = holder[order], offset[order]
    until = (end - start)[holder]
    same = np.flatnonzero(holder[1:] == holder[:-1])
    until[same] = offset[same + 1]
    weight = np.maximum(until - offset, 1).astype(np.float64)
    means = {
        name: _means(job[holder], np.asarray(trace.column("windows", name)[order]), weight, jobs)
        for name in QUANTITIES
        if name != "runtime"
    }
    return JobUse(**means, runtime=runtime)


def _means(group: Integers, values: Floats, weight: Floats, groups: int) -> Floats:
    """The weighted mean of the known values of each group, NaN for a group without one."""
    known = ~np.isnan(values)
    total = np.bincount(group[known], weight[known], groups)
    summed = np.bincount(group[known], weight[known] * values[known], groups)
    return np.divide(summed, total, out=np.full(groups, np.nan), where=total > 0)
