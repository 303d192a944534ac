"""Exponentials and logarithms whose last bit is the same on every processor of a kind.

NumPy takes other code for these on processors with other instructions, and their last bits differ.
A length that is multiplied by one of them and cut to whole milliseconds may then differ by one. In
one of 350 worlds of suite `v2` a task ended milliseconds later than in an earlier run. The code of
both makes the same world where the later run was made, so another processor is the likely reason.

In extended precision there is one code for all x86 processors (64 bits of mantissa) and for 64-bit
ARM under Linux (113), and the result is rounded once more. Where a platform has no extended
precision, these are the usual functions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["exp", "log"]

Floats = npt.NDArray[np.float64]


def exp(x: npt.ArrayLike) -> Floats:
    """e to the power of each, float64."""
    return np.exp(np.asarray(x, dtype=np.longdouble)).astype(np.float64)


def log(x: npt.ArrayLike) -> Floats:
    """The natural logarithm of each, float64."""
    return np.log(np.asarray(x, dtype=np.longdouble)).astype(np.float64)
