"""Ensembles as they lie in a file: each array in the smallest type that holds its numbers.

Trees are packed (`failgym.agents.ensembles.packed`). Files that were written before hold them as
they are in memory, and are still read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.ensemble import Ensemble
from failgym.agents.ensembles.forest import Forest
from failgym.agents.ensembles.packed import packed, unpacked
from failgym.agents.ensembles.perceptrons import Perceptrons

__all__ = ["KINDS", "stored_arrays", "stored_ensemble"]

KINDS: dict[str, type[Forest] | type[Perceptrons]] = {
    kind.__name__: kind for kind in (Forest, Perceptrons)
}
"""What a manifest calls an ensemble -> its class. The names of its arrays begin with the same word,
in small letters."""
Types = tuple[npt.DTypeLike, ...]
WHOLE, HALF = (np.float32,), (np.float16, np.float32)
TYPES: dict[str, dict[str, Types]] = {
    "Forest": {
        "fields": (np.uint8, np.int32),
        "thresholds": WHOLE,
        "leaves": HALF,
        "base": WHOLE,
    },
    "Perceptrons": {
        "mean": WHOLE,
        "scale": WHOLE,
        "hidden": HALF,
        "hidden_bias": WHOLE,
        "last": HALF,
        "base": WHOLE,
    },
}
"""What each array may be in a file, the smallest first; the last is what it is in memory."""
PACKED_TYPES: dict[str, Types] = {
    "asks": (np.uint8,),
    "base": WHOLE,
    "cuts": WHOLE,
    "fields": (np.uint8, np.int32),
    "leaves": HALF,
    "thresholds": (np.uint8, np.uint16, np.int32),
}
"""The same of trees that are packed."""
NEW = {*PACKED_TYPES} - {*TYPES["Forest"]}
"""Only trees that are packed have these."""

Arrays = dict[str, npt.NDArray[Any]]


def stored_arrays(ensemble: Ensemble) -> Arrays:
    """The arrays of a file, by name."""
    kind = type(ensemble).__name__
    if isinstance(ensemble, Forest):
        types, arrays = PACKED_TYPES, packed(ensemble)
    else:
        types, arrays = TYPES[kind], ensemble._asdict()
    return {_name(kind, name): _smallest(array, types[name]) for name, array in arrays.items()}


def stored_ensemble(kind: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Ensemble:
    """The ensemble of a file, one of `KINDS`.

    Raises:
        ValueError: in one line, for arrays of other names or types, or such as are no trees.
    """
    if kind == Forest.__name__ and any(_name(kind, own) in arrays for own in NEW):
        return unpacked(_known(kind, arrays, PACKED_TYPES))
    return KINDS[kind](**_known(kind, arrays, TYPES[kind]))


def _known(kind: str, arrays: Mapping[str, npt.NDArray[Any]], types: Mapping[str, Types]) -> Arrays:
    """Arrays of a file by their own names, in the types of memory. Raises ValueError."""
    names = {_name(kind, own): own for own in types}
    for name in sorted({*names, *arrays}):
        if name not in names:
            raise ValueError(f"{kind}: unknown {name!r}")
        if name not in arrays:
            raise ValueError(f"{kind}: {name} is missing")
    return {own: _widened(name, arrays[name], types[own]) for name, own in names.items()}


def _name(kind: str, name: str) -> str:
    return f"{kind.lower()}.{name}"


def _smallest(array: npt.NDArray[Any], types: Types) -> npt.NDArray[Any]:
    """The array in the first type that loses nothing."""
    for kind in types[:-1]:
        with np.errstate(over="ignore"):
            narrow = array.astype(kind)
        if (narrow == array).all():
            return np.ascontiguousarray(narrow)
    return np.ascontiguousarray(array)


def _widened(name: str, array: npt.NDArray[Any], types: Types) -> npt.NDArray[Any]:
    known = [np.dtype(kind) for kind in types]
    if array.dtype not in known:
        expected = " or ".join(str(kind) for kind in known)
        raise ValueError(f"{name} is {array.dtype}, expected {expected}")
    return array.astype(known[-1])
