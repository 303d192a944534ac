"""Ranges of whole numbers in one array: of rows that lie together, say, in a table of all rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["begins", "joined_ranges"]

Ints = npt.NDArray[np.int64]


def begins(counts: npt.NDArray[np.integer]) -> Ints:
    """Where ranges of so many numbers begin that lie one behind the other."""
    return np.cumsum(counts, dtype=np.int64) - counts


def joined_ranges(first: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Ints:
    """The numbers of ranges, one range behind the other.

    Args:
        first: [ranges] where each begins.
        counts: [ranges] how many numbers it has.

    >>> joined_ranges(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    shift = np.repeat(first - begins(counts), counts)
    return np.arange(len(shift), dtype=np.int64) + shift
