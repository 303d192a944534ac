"""Kaplan-Meier curves of many cells at once (Kaplan and Meier, JASA 1958)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.continuation import LONGEST_FATE, Law

__all__ = ["Lives", "joined"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Lives:
    """How long the rows of some cells lasted: who was at risk at each time at which any ended.

    A *moment* is a time of a cell at which at least one of its rows ends. Moments are sorted by
    cell, then time.
    """

    cells: int
    order: Ints
    """[rows] Rows, sorted by (cell, time)."""
    begins: Ints
    """[moments] Where in `order` the rows that end at a moment begin."""
    cell: Ints
    """[moments]"""
    time: Ints
    """[moments] [ms]"""
    at_risk: Ints
    """[moments] Rows of the cell that have entered before this time and not ended before it."""

    @classmethod
    def of(cls, cell: Ints, time: Ints, cells: int, entered: Ints | None = None) -> Self:
        """Sort rows.

        Args:
            cell: [rows] the cell of each, 0 to ``cells`` - 1.
            time: [rows] how long each lasted [ms]; less than 1 counts as 1, more than
                `LONGEST_FATE` as that.
            cells: how many cells there are.
            entered: [rows] the age at which each came under observation [ms], less than its time;
                0 for all if left out. A row is at risk at the times after it ("delayed entry").
        """
        time = np.clip(time, 1, LONGEST_FATE)
        order = np.lexsort((time, cell))
        cell, time = cell[order], time[order]
        new = np.ones(len(cell), dtype=np.bool_)
        new[1:] = (cell[1:] != cell[:-1]) | (time[1:] != time[:-1])
        begins = np.flatnonzero(new)
        cell, time = cell[begins], time[begins]
        first = np.searchsorted(cell, np.arange(cells + 1))  # moment with which a cell begins
        bounds = np.append(begins, len(order))
        if entered is None:
            at_risk = bounds[first[cell + 1]] - begins
        else:
            gone = begins - bounds[first[cell]]
            at_risk = _entered_before(cell, time, entered[order], bounds, first) - gone
        return cls(cells, order, begins, cell, time, at_risk)

    def law(self, event: Bools, *, closed: bool = False) -> Law:
        """The curves of one kind of end; all others censor.

        The share of a time is 1 - S(t), S the product over times up to t of 1 - ended / at risk.
        At one time ends come before censorings. With ``closed`` the curve reaches 1 at the longest
        time of its cell, whatever ended there (Efron, 5th Berkeley Symposium 1967).

        With delayed entry all that are at risk may end though others enter later; S would be 0 from
        there on. Such a moment tells nothing but that few had entered, and is left out (as Lai and
        Ying, Annals of Statistics 1991, leave out those with few at risk).

        Args:
            event: [rows] did the row end so? In the order in which the rows were given.
            closed: does every cell that holds a row reach 1?
        """
        if not len(self.order):
            return Law.never(self.cells)
        ended = np.add.reduceat(event[self.order].astype(np.int64), self.begins)
        last = np.ones(len(self.cell), dtype=np.bool_)
        last[:-1] = self.cell[1:] != self.cell[:-1]
        everybody = ended == self.at_risk
        counted = (ended > 0) & (~everybody | last)
        hazard = np.where(counted & ~everybody, ended / self.at_risk, 0.0)
        log_left = np.cumsum(np.log1p(-hazard))
        before = np.searchsorted(self.cell, np.arange(self.cells))  # first moment of each cell
        base = np.concatenate([[0.0], log_left])[before[self.cell]]
        share = -np.expm1(log_left - base)
        share[last & (everybody | closed)] = 1.0
        kept = counted | (last & closed)
        at = np.searchsorted(self.cell[kept], np.arange(self.cells + 1))
        return Law(at.astype(np.int64), self.time[kept].astype(np.float64), share[kept])


def _entered_before(cell: Ints, time: Ints, entered: Ints, bounds: Ints, first: Ints) -> Ints:
    """Of each moment, how many rows of its cell entered before its time; rows as sorted."""
    before = np.empty(len(cell), dtype=np.int64)
    for begin, end in pairwise(first.tolist()):
        ages = np.sort(entered[bounds[begin] : bounds[end]])
        before[begin:end] = np.searchsorted(ages, time[begin:end], side="left")
    return before


def joined(laws: list[Law]) -> Law:
    """The cells of several laws, one behind the other."""
    sizes = np.concatenate([np.diff(law.at) for law in laws])
    at = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Law(
        at, np.concatenate([law.value for law in laws]), np.concatenate([law.share for law in laws])
    )
