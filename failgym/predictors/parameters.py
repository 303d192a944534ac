"""Hyper-parameters: whole numbers in range, and plain values of the types that files hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

import numpy as np

__all__ = ["check_types", "check_whole", "with_tuples"]

LARGEST: int = np.iinfo(np.int64).max
"""Arrays of times and rows hold no larger number."""


def check_whole(predictor: object, least: int, *names: str) -> None:
    """Raise ValueError unless the fields are at least so large, and no larger than arrays hold."""
    for name in names:
        value = getattr(predictor, name)
        if not value >= least:
            raise ValueError(f"{name}: expected at least {least}, got {value}")
        if value > LARGEST:
            raise ValueError(f"{name}: expected at most {LARGEST}, got {value}")


def check_types(name: str, values: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Raise ValueError unless every hyper-parameter has a value of its type."""
    for key, value in values.items():
        if not _fits(value, hints[key]):
            expected = getattr(hints[key], "__name__", str(hints[key]))
            raise ValueError(f"{name}: hyper-parameter {key} is {value!r}, expected {expected}")


def _fits(value: Any, hint: Any) -> bool:
    """Is it a number, text, truth value, None or tuple of them, as the type says?"""
    if hint is None or hint is type(None):
        return value is None
    if get_origin(hint) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and _fit(cast(tuple[Any, ...], value), get_args(hint))
    if hint is float:
        return type(value) in (int, float)
    return hint in (bool, int, str) and type(value) is hint


def _fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    """Do the items of a tuple fit its type?"""
    if len(hints) == 2 and hints[1] is Ellipsis:
        hints = (hints[0],) * len(values)
    return len(values) == len(hints) and all(map(_fits, values, hints))


def with_tuples(value: Any) -> Any:
    """The value with tuples for what JSON holds as lists."""
    if isinstance(value, list):
        return tuple(with_tuples(item) for item in cast(list[Any], value))
    return value
