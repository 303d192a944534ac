"""Rows that belong to others: those of each of some donors, one after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Ints", "Rows", "begins", "rows_between", "rows_of"]

Ints = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """Rows of a table of the record, and whose they are in the twin; one entry per row."""

    of: Ints
    """position of the one whose donor has it"""
    within: Ints
    """its number among its donor's, from 0"""
    row: Ints
    """in the record"""


def begins(groups: npt.NDArray[np.integer], number: int) -> Ints:
    """Where each of `number` groups begins among sorted group numbers, and their end."""
    return np.searchsorted(groups, np.arange(number + 1)).astype(np.int64)


def rows_of(begin: Ints, donor: Ints) -> Rows:
    """The rows of each donor, (rows,); `begin` as `begins` gives it."""
    return rows_between(begin[donor], begin[donor + 1])


def rows_between(low: Ints, high: Ints) -> Rows:
    """The rows from `low` to `high`, without it, of each, (rows,)."""
    count = high - low
    of = np.repeat(np.arange(len(low)), count)
    within = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    return Rows(of, within, low[of] + within)
