"""Whether and when the cluster starts a task again after an attempt that did not finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.continued.rows import Rows, end_of_data
from failgym.continued.strata import Cells, enough
from failgym.continued.survival import Lives, joined
from failgym.sim.shared.continuation import COUNTS, Law
from failgym.traces import Outcome, Trace
from failgym.vocabulary import Ending

__all__ = ["STEPS", "Restarts", "habits_after"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

STEPS = 100
"""Steps of a law that a cell takes over from all rows: their percentiles, so that memory grows
with the cells and not with the rows behind each."""
SEEN = 0.99
"""A restart after an end so near the end of the data could not be seen if gaps are often as long as
what is left: that many restarts, as a share, come sooner."""


@dataclass(frozen=True)
class Restarts:
    """What followed the ends of one kind, (rows,) each; rows are those of `Rows`."""

    asked: Bools
    """Did it end so, with nothing else of the task alive?"""
    again: Bools
    """Was it started again, after its end?"""
    waits: Bools
    """Did it still wait when the data ended? Its fate is not known."""
    gave_up: Bools
    """Did nothing follow, not even a row that waited for a while and was then killed?"""
    gap: Ints
    """[ms] From the end to the restart, or to the end of the data if it waits; at least 1."""

    @classmethod
    def of(cls, trace: Trace, rows: Rows, ending: Ending) -> Self:
        """What followed the attempts that ended so.

        Left out are ends that overlap another attempt of the task, and the last ends before the end
        of the data, closer to it than `SEEN` of the restarts take, behind which nothing is
        recorded. A task that waits and is killed by its user has been given up by the user, not by
        the cluster: the row that waited shows that it had been queued again.
        """
        until = end_of_data(trace, rows)
        count = len(rows.task)
        follows = np.zeros(count, dtype=np.bool_)
        follows[:-1] = rows.task[1:] == rows.task[:-1]
        next_start = np.where(follows, np.append(rows.start[1:], 0), until)
        alone = ~_beside_another(rows) & ~(follows & (next_start < rows.end))
        asked = alone & (rows.ending == ending)
        again = asked & follows
        gap = np.maximum(next_start - rows.end, 1)
        waits = asked & ~follows & (trace.task_outcome[rows.task] == Outcome.CENSORED)
        silent = asked & ~follows & ~waits & (rows.behind == 0)
        usual = np.quantile(gap[again], SEEN, method="higher") if again.any() else 0
        gave_up = silent & (rows.end + usual <= until)
        return cls(asked & ~(silent & ~gave_up), again, waits, gave_up, gap)


def _beside_another(rows: Rows) -> Bools:
    """Rows at whose end an earlier one of their task was still alive."""
    beside = np.zeros(len(rows.task), dtype=np.bool_)
    if len(rows.task) < 2:
        return beside
    head = np.searchsorted(rows.task, rows.task)
    several = np.flatnonzero(np.arange(len(rows.task)) > head)
    times, end = np.unique(rows.end, return_inverse=True)  # times by tasks might not fit
    latest = np.maximum.accumulate(rows.task * len(times) + end) - rows.task * len(times)
    beside[several] = latest[several - 1] > end[several]
    same = rows.task[several] == rows.task[several - 1]
    beside[several] &= same
    return beside


def habits_after(
    trace: Trace, rows: Rows, cells: Cells, ending: Ending, least_rows: int, least_jobs: int
) -> tuple[Law, Floats]:
    """Gaps before restarts after ends of one kind, and the shares with none, of all cells.

    A cell with too few of them takes over those of all rows with as many past failures, and if
    these are too few, of all. A gap that the end of the data cuts off is censored.
    """
    after = Restarts.of(trace, rows, ending)
    of_rows = cells.of_rows(trace, rows)

    def seen_often(group: Ints, which: Bools, groups: int) -> Bools:
        return enough(
            np.where(which, group, -1)[which], rows.job[which], groups, least_rows, least_jobs
        )

    gaps = _Gaps(after, seen_often, cells)
    shares = _Shares(after, seen_often, cells)
    return gaps.of(of_rows, rows.past), shares.of(of_rows, rows.past)


SeenOften = Callable[[Ints, Bools, int], Bools]


@dataclass(frozen=True)
class _Gaps:
    """The law of gaps."""

    after: Restarts
    seen_often: SeenOften
    cells: Cells

    def of(self, of_rows: list[Ints], past: Ints) -> Law:
        """One law for all cells."""
        again = self.after.again
        if not again.any():
            return Law.never(self.cells.count)
        common = [thinned(one) for one in self._common(past)]
        parts: list[Law] = [common[k] for k in self.cells.past.tolist()]
        for cell in of_rows:
            own = self._at(cell, self.cells.count)
            for number in np.flatnonzero(self.seen_often(cell, again, self.cells.count)).tolist():
                parts[number] = cell_of(own, number)
        return joined(parts)

    def _common(self, past: Ints) -> list[Law]:
        """By past failures, the law of all rows with as many; of all rows if they are few."""
        by_past, all_rows = self._at(past, COUNTS), self._at(np.zeros_like(past), 1)
        often = self.seen_often(past, self.after.again, COUNTS)
        return [cell_of(by_past, k) if often[k] else all_rows for k in range(COUNTS)]

    def _at(self, cell: Ints, cells: int) -> Law:
        used = np.flatnonzero((self.after.again | self.after.waits) & (cell >= 0))
        lives = Lives.of(cell[used], self.after.gap[used], cells)
        return lives.law(self.after.again[used], closed=True)


@dataclass(frozen=True)
class _Shares:
    """The shares of ends behind which nothing was started."""

    after: Restarts
    seen_often: SeenOften
    cells: Cells

    def of(self, of_rows: list[Ints], past: Ints) -> Floats:
        """One share for each cell, 0 if nothing was seen."""
        told = self.after.asked & ~self.after.waits
        total, gave_up = told.sum(), self.after.gave_up.sum()
        share = np.full(COUNTS, gave_up / total if total else 0.0)
        share = np.where(self.seen_often(past, told, COUNTS), self._at(past, told, COUNTS), share)
        result = share[self.cells.past]
        for cell in of_rows:
            often = self.seen_often(cell, told, self.cells.count)
            result = np.where(often, self._at(cell, told, self.cells.count), result)
        return result

    def _at(self, cell: Ints, told: Bools, cells: int) -> Floats:
        told = told & (cell >= 0)
        total = np.bincount(cell[told], minlength=cells)
        gave_up = np.bincount(cell[told & self.after.gave_up], minlength=cells)
        return gave_up / np.maximum(total, 1)


def cell_of(law: Law, number: int) -> Law:
    """One cell of a law as a law of its own."""
    begin, end = law.at[number], law.at[number + 1]
    return Law(np.array([0, end - begin]), law.value[begin:end], law.share[begin:end])


def thinned(law: Law) -> Law:
    """A law of one cell, whose last share is 1, with at most `STEPS` steps of equal share."""
    if len(law.value) <= STEPS:
        return law
    middle = (np.arange(STEPS) + 0.5) / STEPS
    value = law.value[np.searchsorted(law.share, middle, side="right")]
    return Law(np.array([0, STEPS]), value, np.arange(1, STEPS + 1) / STEPS)
