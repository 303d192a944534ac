"""What code this is: a hash by which what one version found is not taken for another's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import failgym

__all__ = ["code_hash"]

KINDS = (".py", ".csv", ".yaml")
"""Endings of code, of data and of settings that decide what is computed."""


def code_hash() -> str:
    """SHA-256 of failgym's code and of data and settings beside it; "" if they cannot be read.

    Agents and baselines are links in a checkout, and folders in an installed package: both are in.
    """
    package, content, found = Path(failgym.__file__).parent, hashlib.sha256(), False
    try:
        for name, path in _files(package):
            content.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
            found = True
    except OSError:
        return ""
    return content.hexdigest() if found else ""


def _files(package: Path) -> Iterator[tuple[str, Path]]:
    """Name within the package, and path, in one order; `Path.rglob` does not follow links."""
    found: dict[str, Path] = {}
    for top in package.iterdir():
        paths = top.resolve().rglob("*") if top.is_dir() else [top]
        for path in paths:
            if path.suffix in KINDS and path.is_file():
                inner = path.relative_to(top.resolve()).as_posix() if top.is_dir() else ""
                found[f"{top.name}/{inner}"] = path
    yield from sorted(found.items())
