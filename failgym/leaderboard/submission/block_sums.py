"""Do the blocks of each row of results add up to its costs?

Scores are made of a slice's costs, their intervals of its blocks. Where these disagree, a page
would show an interval that is of something else than the score beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from failgym.envs.spaces import TERMS
from failgym.leaderboard.submission.checks import KEYS, named_row
from failgym.leaderboard.submission.tables import ANCHOR_BLOCKS, ANCHORS, BLOCKS, RESULTS_FILE

__all__ = ["check_block_sums"]

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative to the largest number of the row, at least 1: what is added in another order is rounded
otherwise, and the bound is replay's cost less what can be saved."""


def check_block_sums(rows: pd.DataFrame) -> None:
    """Check that blocks of replay, of the bound and of the policy add up to what the row says.

    A policy that failed has no costs, so that nothing is shown of its blocks: they are left out.

    Args:
        rows: of results, with the columns of `failgym.leaderboard.submission.tables.RESULTS`.

    Raises:
        ValueError: in one line, naming the first row whose blocks do not add up.
    """
    costs = sum((rows[term].to_numpy(np.float64) for term in TERMS), start=np.zeros(len(rows)))
    stated = {BLOCKS: costs}
    for name, blocks in zip(ANCHORS, ANCHOR_BLOCKS, strict=True):
        stated[blocks] = rows[name].to_numpy(np.float64)
    scale = np.fmax.reduce([np.ones(len(rows)), *map(np.abs, stated.values())])
    for name, wanted in stated.items():
        sums = _sums(rows[name].tolist())
        # Written so that a sum that is no number does not pass.
        wrong = ~(np.abs(sums - wanted) <= TOLERANCE * scale)
        if name == BLOCKS:
            wrong &= ~np.isnan(costs)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            what = "its costs to" if name == BLOCKS else f"{name.removesuffix('_blocks')} is"
            raise ValueError(
                f"{RESULTS_FILE}: row {at} ({_said(rows, at)}): {name} add up to"
                f" {sums[at]:.12g}, {what} {wanted[at]:.12g}"
            )


def _sums(lists: Sequence[Sequence[float]]) -> Floats:
    """The sum of each list."""
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    flat = np.concatenate([np.zeros(0), *lists])
    of = np.repeat(np.arange(len(lists)), lengths)
    return np.bincount(of, flat, len(lists)).astype(np.float64)


def _said(rows: pd.DataFrame, at: int) -> str:
    row: list[Any] = [rows[name].iloc[at] for name in KEYS]
    return named_row(tuple(None if pd.isna(value) else value for value in row))
