"""Looking up rows of a sorted table by several columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit

Ints = npt.NDArray[np.int64]


def at_or_before(major: Ints, middle: Ints, minor: Ints, x: Ints, y: Ints, z: Ints) -> Ints:
    """For each question (x, y, z), the last row whose (major, middle, minor) is not larger.

    Rows ascend in that order, shape (rows,); -1 where all are larger, shape (questions,).
    """
    found: Ints = _at_or_before(major, middle, minor, x, y, z)
    return found


@njit(cache=True)
def _at_or_before(major: Ints, middle: Ints, minor: Ints, x: Ints, y: Ints, z: Ints) -> Ints:
    found = np.empty(len(x), dtype=np.int64)
    for i in range(len(x)):
        low, high = 0, len(major)  # rows before `low` are not larger, those from `high` on are
        while low < high:
            row = (low + high) // 2
            if major[row] != x[i]:
                larger = major[row] > x[i]
            elif middle[row] != y[i]:
                larger = middle[row] > y[i]
            else:
                larger = minor[row] > z[i]
            if larger:
                high = row
            else:
                low = row + 1
        found[i] = low - 1
    return found
