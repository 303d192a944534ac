"""Policies as they are written on the command line.

name[:field=value,...]              a baseline
module:Class[:field=value,...]      a class of yours, importable from the current folder
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

from failgym.baselines import REGISTRY
from failgym.cli.values import assignments, read_value, unknown
from failgym.policy import Policy

__all__ = ["load_policy"]


def load_policy(spec: str) -> Policy:
    """The policy that a SPEC describes.

    Raises:
        ValueError: in one line, for a malformed SPEC, an unknown baseline, field or value (naming
            the nearest), a module or class that cannot be loaded, or a stored agent: to load one
            would execute code from the file.
    """
    if spec.endswith(".zip") or os.sep in spec.partition(":")[0] or Path(spec).exists():
        raise ValueError(
            f"policy {spec!r}: stored agents are not loaded by this version, their files can hold"
            " code: load it in Python and pass it to failgym.evaluate"
        )
    parts = spec.split(":")
    if parts[0] in REGISTRY or len(parts) == 1 or "=" in parts[1]:
        if parts[0] not in REGISTRY:
            raise unknown("policy", parts[0], REGISTRY)
        return _build(spec, REGISTRY[parts[0]], parts[1:])
    return _build(spec, _load_class(spec, parts[0], parts[1]), parts[2:])


def _load_class(spec: str, module: str, name: str) -> Callable[..., Any]:
    """A class of a module; the current folder comes first, as with ``python -m``."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # whatever the module does when it is imported
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"policy {spec!r}: cannot import {module!r}: {what}") from error
    built = getattr(found, name, None)
    if not callable(built):
        raise ValueError(f"policy {spec!r}: no class {name!r} in module {module!r}")
    return built


def _build(spec: str, kind: Callable[..., Any], rest: list[str]) -> Policy:
    """Make a policy with the parameters of the last part of a SPEC."""
    if len(rest) > 1:
        raise ValueError(
            f"policy {spec!r}: expected name:field=value,... or module:Class:field=..."
        )
    where = f"policy {spec!r}"
    texts = assignments(rest[0].split(","), where) if rest and rest[0] else {}
    hints = _parameters(kind)
    for name in texts:
        if name not in hints:
            raise ValueError(f"{where}: {unknown('field', name, hints)}")
    try:
        values = {name: read_value(name, text, hints[name]) for name, text in texts.items()}
        policy = kind(**values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
    if not isinstance(policy, Policy):
        raise ValueError(f"{where}: expected a class with a method predict")
    return policy


def _parameters(kind: Callable[..., Any]) -> dict[str, Any]:
    """Names and types of the parameters of a class; those without a type are texts."""
    initialise: Any = getattr(kind, "__init__", kind)
    hints = get_type_hints(initialise)
    names = inspect.signature(kind).parameters
    return {name: hints.get(name, str) for name in names}
