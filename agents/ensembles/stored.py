"""Ensembles as they lie in a file: each array in the smallest type that holds its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.ensemble import Ensemble
from failgym.agents.ensembles.forest import Forest
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

Arrays = dict[str, npt.NDArray[Any]]


def stored_arrays(ensemble: Ensemble) -> Arrays:
    """The arrays of a file, by name."""
    kind = type(ensemble).__name__
    return {
        _name(kind, name): _smallest(array, TYPES[kind][name])
        for name, array in ensemble._asdict().items()
    }


def stored_ensemble(kind: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Ensemble:
    """The ensemble of a file, one of `KINDS`.

    Raises:
        ValueError: in one line, for arrays of other names or types.
    """
    names = {_name(kind, name): name for name in KINDS[kind]._fields}
    for name in sorted({*names, *arrays}):
        if name not in names:
            raise ValueError(f"{kind}: unknown {name!r}")
        if name not in arrays:
            raise ValueError(f"{kind}: {name} is missing")
    return KINDS[kind](
        *(_widened(name, arrays[name], TYPES[kind][own]) for name, own in names.items())
    )


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
