"""Trees as they lie in a file: each array in the smallest type that holds its numbers exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.forests.forest import Forest

__all__ = ["stored_arrays", "stored_forest"]

PREFIX = "forest."
"""How the names of the arrays begin."""
TYPES: dict[str, tuple[npt.DTypeLike, ...]] = {
    "fields": (np.uint8, np.int32),
    "thresholds": (np.float32,),
    "leaves": (np.float16, np.float32),
    "base": (np.float32,),
}
"""What each may be in a file, the smallest first; the last is what it is in memory."""

Arrays = dict[str, npt.NDArray[Any]]


def stored_arrays(forest: Forest) -> Arrays:
    """The arrays of a file, by name."""
    arrays = forest._asdict()
    return {PREFIX + name: _smallest(array, TYPES[name]) for name, array in arrays.items()}


def stored_forest(arrays: Mapping[str, npt.NDArray[Any]]) -> Forest:
    """The trees of a file. Raises ValueError, in one line, for other names or types."""
    names = [PREFIX + name for name in Forest._fields]
    for name in sorted({*names, *arrays}):
        if name not in names:
            raise ValueError(f"trees: unknown {name!r}")
        if name not in arrays:
            raise ValueError(f"trees: {name} is missing")
    return Forest(*(_widened(name, arrays[PREFIX + name]) for name in Forest._fields))


def _smallest(array: npt.NDArray[Any], types: tuple[npt.DTypeLike, ...]) -> npt.NDArray[Any]:
    """The array in the first type that loses nothing."""
    for kind in types[:-1]:
        with np.errstate(over="ignore"):
            narrow = array.astype(kind)
        if (narrow == array).all():
            return np.ascontiguousarray(narrow)
    return np.ascontiguousarray(array)


def _widened(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    types = [np.dtype(kind) for kind in TYPES[name]]
    if array.dtype not in types:
        expected = " or ".join(str(kind) for kind in types)
        raise ValueError(f"trees: {PREFIX}{name} is {array.dtype}, expected {expected}")
    return array.astype(types[-1])
