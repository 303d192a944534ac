"""Policies as they are written on the command line.

name[:field=value,...]              a baseline, or a policy that another package adds
module:Class[:field=value,...]      a class of yours, importable from the current folder
path/to/file.json                   a baseline with the parameters that `failgym tune` found
path/to/file.safetensors            a trained agent
all-baselines                       every baseline, where a command takes several policies
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, get_type_hints

from failgym.additions import Addition, additions
from failgym.baselines import REGISTRY
from failgym.baselines.stored import load_heuristic
from failgym.cli.values import assignments, read_value
from failgym.known_names import nearest, unknown
from failgym.policy import Policy

__all__ = ["ALL_BASELINES", "load_policy"]

ALL_BASELINES = "all-baselines"
"""Stands for every baseline that can play."""
_NO_POLICIES = ("clairvoyant", "bound", "oracle")
"""Rows of tables that know how every attempt ends."""


def load_policy(spec: str, words: Sequence[str] = (ALL_BASELINES,)) -> Policy:
    """The policy that a SPEC describes.

    Args:
        spec: as typed.
        words: what the command takes besides policies, which a mistyped SPEC may have meant.

    Raises:
        ValueError: in one line, for a malformed SPEC, an unknown baseline, field or value (naming
            the nearest), a module or class that cannot be loaded, or a file that is not as
            expected or may hold code.
    """
    parts = spec.split(":")
    head = parts[0]
    if spec == ALL_BASELINES:
        raise ValueError(
            f"policy {spec!r}: expected one policy; `failgym evaluate` and `failgym leaderboard"
            " run` take all of them"
        )
    if not head:
        raise ValueError(f"policy {spec!r}: expected the name of a baseline, or module:Class")
    others = additions("policies", REGISTRY)
    if head in REGISTRY:
        return _build(spec, REGISTRY[head], parts[1:])
    if head in others:
        return _build(spec, _loaded(spec, others[head]), parts[1:])
    if spec in _NO_POLICIES:
        raise ValueError(
            f"policy {spec!r}: knows how every attempt ends and is no policy;"
            " `failgym evaluate --oracle` shows it beside others"
        )
    if spec.endswith(".json"):
        return load_heuristic(spec)
    if spec.endswith(".safetensors"):
        return _load_agent(spec)
    if head.endswith(".py"):
        module = head.removesuffix(".py").replace(os.sep, ".")
        raise ValueError(
            f"policy {spec!r}: expected module:Class without .py, such as {module}:{_class(parts)}"
        )
    names = (*words, *REGISTRY, *others)
    mistyped = nearest(head, names) is not None
    if head.endswith(".zip") or os.sep in head or (os.path.isfile(head) and not mistyped):
        raise ValueError(
            f"policy {spec!r}: expected a file .json or .safetensors; others may hold code, load"
            " such a model in Python and pass it to failgym.evaluate"
        )
    if len(parts) == 1 or "=" in parts[1]:
        raise unknown("policy", head, names)
    return _build(spec, _load_class(spec, head, parts[1]), parts[2:])


def _class(parts: Sequence[str]) -> str:
    """The class that a SPEC names; a word for it where it names none."""
    return parts[1] if len(parts) > 1 and "=" not in parts[1] else "Class"


@contextmanager
def _blamed(spec: str, doing: str = "") -> Generator[None]:
    """Turn whatever a user's code raises, even SystemExit, into one line that names the policy."""
    try:
        yield
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        kind = "" if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: "
        what = " ".join(f"{doing}{kind}{error}".split())
        raise ValueError(f"policy {spec!r}: {what}") from error


def _load_agent(path: str) -> Policy:
    """A trained agent, for which the extra `agents` must be installed."""
    try:
        from failgym.agents import load_agent
    except ImportError as error:
        raise ValueError(f"policy {path!r}: {error}") from error
    return load_agent(path)


def _loaded(spec: str, other: Addition) -> Callable[..., Any]:
    """A class of another package."""
    built = other.load()
    if not callable(built):
        raise ValueError(f"policy {spec!r}: {other} is no class")
    return built


def _load_class(spec: str, module: str, name: str) -> Callable[..., Any]:
    """A class of a module; the current folder comes first, as with ``python -m``."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    with _blamed(spec, f"cannot import {module!r}: "):
        built: Any = getattr(importlib.import_module(module), name, None)
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
    with _blamed(spec):
        hints = _parameters(kind)
    for name in texts:
        if name not in hints:
            raise ValueError(f"{where}: {unknown('field', name, hints)}")
    with _blamed(spec):
        values = {name: read_value(name, text, hints[name]) for name, text in texts.items()}
        policy: Any = kind(**values)
        speaks = isinstance(policy, Policy)
    if not speaks:
        raise ValueError(f"{where}: expected a class with a method predict")
    return policy


def _parameters(kind: Callable[..., Any]) -> dict[str, Any]:
    """Names and types of the parameters of a class; those without a type are texts.

    A class that does not say what it takes, as some built-in ones, takes nothing.
    """
    try:
        names = inspect.signature(kind).parameters
    except (TypeError, ValueError):
        return {}
    initialise: Any = getattr(kind, "__init__", kind)
    hints = get_type_hints(initialise)
    return {name: hints.get(name, str) for name in names}
