"""Which tasks of which jobs there are, as ranges of task indices: these have few gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.traces.readers.google_2011.lookup import at_or_before

Ints = npt.NDArray[np.int64]

RANGE = np.dtype([("job", np.int64), ("first", np.int64), ("last", np.int64)])
"""Task indices first to last, both included, of a job."""


@dataclass
class Indices:
    """A set of (job, task index), both at least 0: ranges ordered by job and index, disjoint."""

    ranges: npt.NDArray[Any]

    @classmethod
    def none(cls) -> Indices:
        """The empty set."""
        return cls(np.empty(0, dtype=RANGE))

    def add(self, jobs: Ints, indices: Ints) -> None:
        """Take in tasks, shape (tasks,), in any order, also those that are known."""
        if not len(jobs):
            return
        order = np.lexsort((indices, jobs))
        new = np.empty(len(jobs), dtype=RANGE)
        new["job"], new["first"], new["last"] = jobs[order], indices[order], indices[order]
        merged = np.empty(len(self.ranges) + len(new), dtype=RANGE)
        self.ranges = merged[: _merge(self.ranges, new, merged)].copy()

    def holds(self, jobs: Ints, indices: Ints) -> npt.NDArray[np.bool_]:
        """Which of the tasks are in the set."""
        if not len(self.ranges):
            return np.zeros(len(jobs), dtype=np.bool_)
        job, first = self.ranges["job"].copy(), self.ranges["first"].copy()
        row = at_or_before(job, first, first, jobs, indices, indices)
        inside = (job[row] == jobs) & (indices <= self.ranges["last"][row])
        return (row >= 0) & inside

    def __len__(self) -> int:
        return int((self.ranges["last"] - self.ranges["first"] + 1).sum())

    def widths(self) -> tuple[Ints, Ints]:
        """The jobs, ascending, and how many tasks each has."""
        jobs, row = np.unique(self.ranges["job"], return_inverse=True)
        widths = np.zeros(len(jobs), dtype=np.int64)
        np.add.at(widths, row, self.ranges["last"] - self.ranges["first"] + 1)
        return jobs, widths


@njit(cache=True)
def _merge(known: Any, new: Any, merged: Any) -> int:
    """Merge two lists in order of job and first, joining what overlaps or touches."""
    n, a, b = 0, 0, 0
    while a < len(known) or b < len(new):
        if b == len(new) or (a < len(known) and not _before(new[b], known[a])):
            at = known[a]
            a += 1
        else:
            at = new[b]
            b += 1
        if n and merged[n - 1].job == at.job and at.first - 1 <= merged[n - 1].last:
            merged[n - 1].last = max(merged[n - 1].last, at.last)
        else:
            merged[n] = at
            n += 1
    return n


@njit(cache=True)
def _before(one: Any, other: Any) -> bool:
    return one.job < other.job or (one.job == other.job and one.first < other.first)
