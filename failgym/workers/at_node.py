"""What a process of a Ray cluster makes sure of before it does its first step.

Its machine must have the failgym that asks, with the same packages, and see the same files. All
that it is told comes in plain values, which a machine without failgym can read too.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import failgym
from failgym.sources import code_hash

__all__ = ["charge_of", "ready", "same_results"]

PACKAGES = (
    *("gymnasium", "numba", "numpy", "pandas", "pyarrow", "pydantic"),
    *("scikit-learn", "stable-baselines3", "sb3-contrib", "torch", "xgboost", "xgboost-cpu"),
)
"""Packages whose version may decide a result."""

Charge = Mapping[str, Any]
"""What a process is told, as plain values: who asks, and what its machine must have."""

_SOURCES = code_hash()
"""When this was imported: they are what runs."""
_KEPT: dict[str, Any] = {}
"""What this process does, by the key of the call; only of the last one."""


def charge_of(key: str, shared: Mapping[str, str]) -> dict[str, Any]:
    """What the processes of a call are told.

    Args:
        key: of the call, unlike any other's.
        shared: files that every machine must see -> SHA-256 of their content.
    """
    return {
        "key": key,
        "version": failgym.__version__,
        "code": _SOURCES,
        "packages": _versions(),
        "folder": os.getcwd(),
        "shared": dict(shared),
    }


def same_results(packages: Collection[str]) -> dict[str, str]:
    """What must be equal where the same results are to come out: sources, Python, packages.

    Args:
        packages: those that decide them.

    Returns:
        Each by its name; "none" of a package that is not installed.
    """
    found = {"sources": _SOURCES[:16], "Python": platform.python_version()}
    return found | {name: _version(name) for name in packages}


def _versions() -> dict[str, str]:
    """Versions that are installed here, of Python's too."""
    return {"Python": platform.python_version()} | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def ready(charge: Charge, node: str, load: Callable[[], Any]) -> Any:
    """What this process is to do: what ``load`` gives, which is asked once in a call.

    Args:
        charge: what it was told (`charge_of`).
        node: the address of its machine.
        load: fetches what is to be done.

    Raises:
        ValueError: in one line, naming the machine, if it cannot do the steps as the one that asks.
    """
    key = charge["key"]
    if key not in _KEPT:
        _check(charge, node)
        _KEPT.clear()
        _KEPT[key] = load()
    return _KEPT[key]


def _check(charge: Charge, node: str) -> None:
    """Is this machine as it must be? The process goes to the folder that the command was begun in.

    Raises:
        ValueError: if it is not.
    """
    whose = f"--workers ray: node {node}"
    if charge["code"] != _SOURCES:
        here = failgym.__version__
        what = f"failgym {here}" if here != charge["version"] else "failgym of other sources"
        raise ValueError(
            f"{whose}: has {what}: expected the same failgym ({charge['version']}) as where the"
            " command was begun"
        )
    here = _versions()
    for name, wanted in charge["packages"].items():
        if here.get(name) != wanted:
            raise ValueError(f"{whose}: has {name} {here.get(name)}: expected {wanted}")
    try:
        os.chdir(charge["folder"])
    except OSError as error:
        raise ValueError(_not_shared(whose, charge["folder"])) from error
    for path, sha256 in charge["shared"].items():
        try:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError:
            found = ""
        if found != sha256:
            raise ValueError(_not_shared(whose, path))


def _not_shared(whose: str, path: str) -> str:
    return f"{whose}: does not see {path}: expected a file system that all nodes share"
