"""Values typed on the command line, read as the type of the field that they are meant for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

__all__ = ["assignments", "read_value"]

_TRUTH = {"true": True, "false": False}


def assignments(texts: Sequence[str], where: str) -> dict[str, str]:
    """Names and values of ``name=value`` texts. Raises ValueError, naming where they were typed."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"{where}: expected name=value, got {text!r}")
        if name in values:
            raise ValueError(f"{where}: {name} is given twice")
        values[name] = value
    return values


def read_value(name: str, text: str, hint: Any) -> Any:
    """The value that a text stands for in a field of the given type; other types take the text.

    Raises:
        ValueError: naming the field and what is expected.
    """
    if get_origin(hint) is Literal:
        return _choice(name, text, get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return _any_of(name, text, get_args(hint))
    if hint is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(f"{name}: expected true or false, got {text!r}")
        return _TRUTH[text.lower()]
    if hint in (int, float):
        return _number(name, text, hint)
    return text


def _choice(name: str, text: str, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if str(choice) == text:
            return choice
    raise ValueError(f"{name}: expected one of {', '.join(map(str, choices))}, got {text!r}")


def _any_of(name: str, text: str, hints: tuple[Any, ...]) -> Any:
    """What a text stands for in the first of several types that takes it; text comes last."""
    if type(None) in hints and text.lower() == "none":
        return None
    for hint in sorted((h for h in hints if h is not type(None)), key=lambda h: h is str):
        if hint in (bool, int, float, str) or get_origin(hint) is Literal:
            try:
                return read_value(name, text, hint)
            except ValueError:
                continue
    return text


def _number(name: str, text: str, kind: type[int] | type[float]) -> int | float:
    expected = "a whole number" if kind is int else "a number"
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"{name}: expected {expected}, got {text!r}") from None
    if not math.isfinite(value):
        raise ValueError(f"{name}: expected {expected}, got {text!r}")
    return value
