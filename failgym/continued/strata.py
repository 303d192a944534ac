"""Which tasks are alike: strata of three levels, and the cells of laws that speak of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from failgym.continued.rows import Rows
from failgym.sim.shared.continuation import COUNTS
from failgym.traces import Trace

__all__ = ["LEVELS", "Cells", "Finest", "enough"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Finest = Literal["name", "class", "all"]
LEVELS: tuple[Finest, ...] = get_args(Finest)
"""Levels of strata, the finest first: jobs of one name (application); of one scheduling class,
priority band and kind of width; all."""
BANDS = (2, 9)
"""Priorities with which a band begins: free 0-1, other 2-8, production 9-11 (Reiss, Wilkes and
Hellerstein, Google cluster-usage traces: format + schema, 2011; Reiss et al., SoCC 2012)."""
SCHEDULING_CLASSES = 4
"""0 to 3 (the same); one that is not known counts as 0."""
CLASSES = SCHEDULING_CLASSES * (len(BANDS) + 2) * 2
"""Strata of the middle level: the priority may be unknown, and a job has one task or more."""


def _classes(trace: Trace) -> Ints:
    """Stratum of the middle level of each job, [jobs]."""
    priority = trace.column("jobs", "priority", missing=-1).astype(np.int64)
    band = np.searchsorted(np.array(BANDS), priority, side="right") + 1
    band[priority < 0] = 0
    scheduling = trace.column("jobs", "scheduling_class", missing=0).astype(np.int64)
    scheduling = np.clip(scheduling, 0, SCHEDULING_CLASSES - 1)
    several = trace.column("jobs", "width") > 1
    return (scheduling * (len(BANDS) + 2) + band) * 2 + several


def enough(group: Ints, job: Ints, groups: int, least_rows: int, least_jobs: int) -> Bools:
    """Which groups hold so many rows of so many jobs, [groups]; rows of group -1 are in none."""
    rows = np.bincount(group[group >= 0], minlength=groups)
    if not len(job):
        return np.zeros(groups, dtype=np.bool_)
    jobs = int(job.max()) + 1
    pairs = np.unique(group[group >= 0] * jobs + job[group >= 0]) // jobs
    return (rows >= least_rows) & (np.bincount(pairs, minlength=groups) >= least_jobs)


@dataclass(frozen=True)
class Cells:
    """Strata that were seen often enough, each by number of past failures: the cells of laws.

    Cells are numbered by level, stratum and past failures. Behind them is one that knows nothing.
    """

    names: npt.NDArray[np.object_]
    """Names of jobs in the fitted trace, sorted."""
    finest: Finest
    cell: tuple[Ints, Ints, Ints]
    """Of each of `LEVELS`: [strata, COUNTS] the cell, -1 where too little was seen."""
    level_at: tuple[int, ...]
    """First cell of each level, and behind the last: the number of the cell that knows nothing."""
    past: Ints
    """[cells] Past failures that a cell speaks of."""

    @property
    def count(self) -> int:
        """How many cells, that which knows nothing included."""
        return self.level_at[-1] + 1

    @classmethod
    def of(cls, trace: Trace, rows: Rows, finest: Finest, least_rows: int, least_jobs: int) -> Self:
        """The cells with so many rows of known age, of so many jobs."""
        given = trace.column("jobs", "name").astype(object)
        names = np.unique(given[given != ""]) if len(given) else given
        strata = _strata(trace, names)
        known = rows.known
        level_at, past, cells = [0], list[Ints](), list[Ints]()
        for level, sizes in enumerate((len(names), CLASSES, 1)):
            group = strata[level][rows.job[known]]
            key = np.where(group >= 0, group * COUNTS + rows.past[known], -1)
            seen = enough(key, rows.job[known], sizes * COUNTS, least_rows, least_jobs)
            if level < LEVELS.index(finest):
                seen[:] = False
            number = np.where(seen, level_at[-1] + np.cumsum(seen) - 1, -1)
            cells.append(number.reshape(sizes, COUNTS))
            past.append(np.flatnonzero(seen) % COUNTS)
            level_at.append(level_at[-1] + int(seen.sum()))
        past.append(np.zeros(1, dtype=np.int64))
        triple = (cells[0], cells[1], cells[2])
        return cls(names, finest, triple, tuple(level_at), np.concatenate(past))

    def of_rows(self, trace: Trace, rows: Rows) -> list[Ints]:
        """At each level the cell that counts a row, -1 if none does, [rows] each."""
        strata = _strata(trace, self.names)
        return [
            np.where(group[rows.job] >= 0, cell[group[rows.job], rows.past], -1)
            if len(cell)
            else np.full(len(rows.job), -1)
            for group, cell in zip(strata, self.cell, strict=True)
        ]

    def of_jobs(self, trace: Trace) -> Ints:
        """The cell that speaks of attempts of each job, by past failures, [jobs, COUNTS].

        It is that of the finest level that has one; at no level, that of one failure less.
        """
        strata = _strata(trace, self.names)
        found = np.full((trace.rows("jobs"), COUNTS), -1, dtype=np.int64)
        for group, cell in zip(strata, self.cell, strict=True):
            if len(cell):
                here = np.where(group[:, None] >= 0, cell[group], -1)
                found = np.where(found >= 0, found, here)
        less = np.full(len(found), self.level_at[-1])
        for count in range(COUNTS):
            found[:, count] = np.where(found[:, count] >= 0, found[:, count], less)
            less = found[:, count]
        return found


def _strata(trace: Trace, names: npt.NDArray[np.object_]) -> tuple[Ints, Ints, Ints]:
    """The stratum of each job at each of `LEVELS`, -1 if it is in none, [jobs] each."""
    given = trace.column("jobs", "name").astype(object)
    by_name = np.full(len(given), -1, dtype=np.int64)
    if len(names):
        place = np.minimum(np.searchsorted(names, given), len(names) - 1)
        same = names[place] == given
        by_name[same] = place[same]
    return by_name, _classes(trace), np.zeros(len(given), dtype=np.int64)
