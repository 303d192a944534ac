"""Do the blocks of a table of results add up to what its slices cost?"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.envs.spaces import TERMS
from failgym.leaderboard.submission.tables import (
    ANCHOR_BLOCKS,
    ANCHORS,
    BLOCKS,
    OK,
    RESULTS_FILE,
)

__all__ = ["check_block_sums"]

Floats = npt.NDArray[np.float64]

ADD_UP = 1e-6
"""What sums may differ by, relative and absolute: they are added up in another order."""


def check_block_sums(table: Any) -> None:
    """Raise ValueError unless the blocks of each row add up to what its slice costs.

    Scores are ratios of sums over slices, their intervals of sums over blocks: both must be of the
    same costs, or an interval could be as narrow as somebody likes.

    Args:
        table: `failgym.leaderboard.submission.tables.RESULTS`.
    """
    played = np.array([status == OK for status in table.column("status").to_pylist()], dtype=bool)
    wholes = {BLOCKS: np.sum([_numbers(table, term) for term in TERMS], axis=0)} | {
        blocks: _numbers(table, anchor)
        for blocks, anchor in zip(ANCHOR_BLOCKS, ANCHORS, strict=True)
    }
    for name, whole in wholes.items():
        sums = _sums(table.column(name))
        wrong = played & ~np.isclose(sums, whole, rtol=ADD_UP, atol=ADD_UP)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{RESULTS_FILE}: row {at}: column {name!r}: expected numbers that add up to"
                f" {whole[at]:.9g}, what the slice costs, got {sums[at]:.9g}"
            )


def _sums(column: Any) -> Floats:
    """Of a column of lists, the sum of each; 0 of none."""
    joined = column.combine_chunks()
    row = np.repeat(np.arange(len(joined)), joined.value_lengths().to_numpy())
    return np.bincount(row, joined.flatten().to_numpy(), len(joined)).astype(np.float64)


def _numbers(table: Any, name: str) -> Floats:
    """A column of numbers, NaN where one is missing."""
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
