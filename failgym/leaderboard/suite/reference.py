"""What replay and the bound cost on the slices of a cell: what policies there are held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.savings import Replayed
from failgym.leaderboard.suite.episodes import Played

__all__ = ["WHOLE", "Reference", "ReferenceArrays"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

WHOLE = -1
"""What stands for the number of a slice in the row of a whole trace."""


@dataclass(frozen=True)
class Reference:
    """What replay and the bound cost on the slices of a cell."""

    slices: Ints
    """[slices] that are played"""
    weights: Floats
    """[slices] how many slices of the trace each stands for"""
    rows: Ints
    """[rows] of results: the slices, or `WHOLE`, where all are together in one row, as often as
    they stand for"""
    costs: Floats
    """[3, rows] sums of the terms of replay and of the bound, and what replay spends
    (`failgym.evaluation.room`)"""
    blocks: Floats
    """[3, rows, blocks] the same by what is resampled (`failgym.leaderboard.suite.cost_blocks`)"""
    account: Floats
    """[rows, `REPLAY_ACCOUNT`] (`failgym.leaderboard.suite.account`)"""
    replayed: Replayed
    """replay on the slices that are played"""
    trace_hash: str
    seconds: float = 0.0
    """processor time that it took to find out, then or when it was kept [s]"""

    @property
    def replay(self) -> Floats:
        """[rows] what replay costs."""
        return self.costs[0]

    @property
    def bound(self) -> Floats:
        """[rows] what the bound costs."""
        return self.costs[1]

    @property
    def spent(self) -> Floats:
        """[rows] what replay spends."""
        return self.costs[2]

    def by_row(self, played: Played) -> Played:
        """What was played of the slices, as rows of results have it."""
        return played.together(self.weights) if self.rows.tolist() == [WHOLE] else played


class ReferenceArrays(NamedTuple):
    """A `Reference` as arrays, which files can hold."""

    slices: Ints
    weights: Floats
    rows: Ints
    costs: Floats
    blocks: Floats
    account: Floats
    by_task: Bools
    """[1]"""
    row_costs: Floats
    """[rows of `Replayed`]"""
    drawn_in: Bools
    """[slices, or 0 if the world does not tell]"""
    job: Ints
    """[tasks, or 0 where completion times are those of tasks]"""
    trace_hash: npt.NDArray[np.uint8]
    seconds: Floats
    """[1]"""

    @classmethod
    def of(cls, found: Reference) -> ReferenceArrays:
        """The arrays of a reference."""
        replayed = found.replayed
        return cls(
            found.slices,
            found.weights,
            found.rows,
            found.costs,
            found.blocks,
            found.account,
            np.array([replayed.by_task]),
            replayed.costs,
            np.zeros(0, dtype=np.bool_) if replayed.drawn_in is None else replayed.drawn_in,
            np.zeros(0, dtype=np.int64) if replayed.job is None else replayed.job,
            np.frombuffer(found.trace_hash.encode(), dtype=np.uint8),
            np.array([found.seconds]),
        )

    @property
    def reference(self) -> Reference:
        """What they are of."""
        return Reference(
            self.slices,
            self.weights,
            self.rows,
            self.costs,
            self.blocks,
            self.account,
            Replayed(
                bool(self.by_task[0]),
                self.row_costs,
                self.drawn_in if len(self.drawn_in) else None,
                self.job if len(self.job) else None,
            ),
            trace_hash=self.trace_hash.tobytes().decode(),
            seconds=float(self.seconds[0]),
        )
