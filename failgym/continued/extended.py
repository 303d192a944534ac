"""Exponentials and logarithms whose last bit hardly depends on the processor.

NumPy and the C library take other code for these on processors with other instructions, and their
last bits differ. A length that is multiplied by one of them and rounded to whole milliseconds may
then differ by one. In one of 350 worlds of suite `v2` a task ended about a millisecond later than
in an earlier run, with the same machine-time wasted. The code of both runs makes the same world
where the later one was made, so another processor is the likely reason.

In extended precision (64 bits of mantissa on x86, 113 on 64-bit ARM under Linux) one code serves
all processors of a kind. What their own instructions may differ by is mostly lost when the result
is rounded. Where a platform has no such type, these are the C library's in double precision.
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
