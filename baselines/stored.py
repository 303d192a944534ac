"""Heuristics with their parameters in a file: what a search found, for `--policy` and for Python.

The file is JSON and names a heuristic of failgym's own: nothing in it can execute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from failgym.baselines.base import Heuristic
from failgym.files import json_text, replacing

__all__ = [
    "built",
    "described",
    "load_heuristic",
    "parameters",
    "save_heuristic",
    "says_otherwise",
]

_FORMAT = "failgym policy"
_MOST_BYTES = 1 << 24
_VERSION = 1


def save_heuristic(
    policy: Heuristic, path: str | Path, *, about: Mapping[str, Any] | None = None
) -> None:
    """Write a heuristic to the file ``path``, whole or not at all.

    Args:
        policy: one of `failgym.baselines.STORABLE`.
        path: the file; JSON.
        about: anything that is worth knowing about where the parameters come from; a number that is
            not finite, such as the interval of too few jobs, is written as null.

    Raises:
        OSError: if the file cannot be written.
    """
    path = Path(path)
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "policy": policy.name,
        "parameters": parameters(policy),
        "about": dict(about or {}),
    }
    with replacing(path) as partial:
        partial.write_text(json_text(content), encoding="utf-8")


def load_heuristic(path: str | Path) -> Heuristic:
    """Read a heuristic from the file that `save_heuristic` wrote.

    Raises:
        ValueError: in one line: no such file, not a stored heuristic, another version of the
            format, an unknown heuristic or parameter, or a value of the wrong type or range.
    """
    from failgym.baselines import STORABLE

    try:
        content = _content(Path(path))
        name = content.get("policy")
        if not isinstance(name, str) or name not in STORABLE:
            raise ValueError(f"unknown policy {name!r}")
        return built(STORABLE[name], content.get("parameters"))
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def says_otherwise(path: Path) -> bool:
    """Is a file JSON, and by what it says of itself no stored heuristic?"""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return True
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return not isinstance(content, dict) or cast(dict[str, Any], content).get("format") != _FORMAT


def described(path: str | Path) -> dict[str, Any]:
    """What such a file says: the heuristic, its parameters, and where these come from.

    Raises:
        ValueError: as `load_heuristic` does.
    """
    policy, about = load_heuristic(path), _content(Path(path)).get("about")
    return {
        "policy": policy.name,
        "parameters": parameters(policy),
        "about": cast(dict[str, Any], about) if isinstance(about, dict) else {},
    }


def parameters(policy: Heuristic) -> dict[str, Any]:
    """The parameters of a heuristic, by name."""
    return {field.name: getattr(policy, field.name) for field in fields(policy)}


def _content(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError("no such file: expected a stored policy")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"not a stored policy: expected at most {_MOST_BYTES} bytes")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise ValueError("not a stored policy: expected JSON") from error
    if not isinstance(content, dict) or cast(dict[str, Any], content).get("format") != _FORMAT:
        raise ValueError(f'not a stored policy: expected "format": "{_FORMAT}"')
    known = cast(dict[str, Any], content)
    if known.get("version") != _VERSION:
        raise ValueError(f"format version {known.get('version')!r}, expected {_VERSION}")
    return known


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def built(kind: type[Heuristic], values: Any) -> Heuristic:
    """A heuristic with parameters from JSON.

    Raises:
        ValueError: for what is no object, an unknown parameter, or a value out of range.
        TypeError, OverflowError: for some that are no such value at all.
    """
    if not isinstance(values, dict):
        raise ValueError("parameters: expected an object of names and values")
    hints = get_type_hints(kind)
    known = {field.name: hints[field.name] for field in fields(kind)}
    given = cast(dict[str, Any], values)
    for name in given:
        if name not in known:
            raise ValueError(f"unknown parameter {name!r} of {kind.name}")
    return kind(**{name: _typed(name, value, known[name]) for name, value in given.items()})


def _typed(name: str, value: Any, kind: Any) -> Any:
    """A value from JSON as the type of the parameter; whole numbers pass for real ones."""
    if get_origin(kind) is Literal:
        if not isinstance(value, str) or value not in get_args(kind):
            raise ValueError(f"{name}: expected one of {', '.join(get_args(kind))}, got {value!r}")
        return value
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, got {value!r}")
    if type(value) is not kind:
        raise ValueError(f"{name}: expected {getattr(kind, '__name__', kind)}, got {value!r}")
    return value
