"""Have two predictors learned the same, but for how a processor rounds?

What they have learned are arrays; boosted trees are the bytes of XGBoost's JSON, whose numbers are
compared one by one.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["same_predictor"]

LEARNED = 1e-5
"""By how much what was learned may differ from machine to machine, relative."""


def same_predictor(one: Path, other: Path) -> bool:
    """Have two stored predictors learned the same?"""
    from failgym.predictors import load_predictor

    try:
        first, second = (load_predictor(file).arrays() for file in (one, other))
    except ValueError:
        return False
    return first.keys() == second.keys() and all(
        _near(array, second[name]) for name, array in first.items()
    )


def _near(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    if one.dtype != other.dtype:
        return False
    if one.dtype == np.uint8 and not np.array_equal(one, other):
        return _same_text(one.tobytes(), other.tobytes())
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return _close(one, other)
    return np.array_equal(one, other)


def _close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=LEARNED, atol=LEARNED, equal_nan=True))


def _same_text(one: bytes | str, other: bytes | str) -> bool:
    """Two texts of JSON: their numbers are near, all else is equal."""
    try:
        return _same(json.loads(one), json.loads(other))
    except (ValueError, RecursionError):
        return False


def _same(one: Any, other: Any) -> bool:
    """Two values of JSON; XGBoost writes some numbers as texts."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if {type(one), type(other)} in ({float}, {float, int}):
        return _close(one, other)
    if isinstance(one, str) and isinstance(other, str) and one != other:
        return _same_text(one, other)
    return type(one) is type(other) and one == other
