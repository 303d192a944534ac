"""Which experiments there are, what they say of themselves, and what their results depend on.

An experiment is a module that sets ``EXPERIMENT``. Nothing here imports one: one that cannot be
imported is listed all the same.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import failgym

__all__ = ["Catalogue", "content_of_traces"]

HERE = Path(__file__).parents[1]
SETS = re.compile(r"^EXPERIMENT\b.*=", re.MULTILINE)


@dataclass(frozen=True)
class Catalogue:
    """The experiments of a folder that is a package."""

    folder: Path = HERE

    @property
    def package(self) -> str:
        """The name of the package."""
        return self.folder.name

    def names(self) -> list[str]:
        """The modules that hold an experiment, by name."""
        files = sorted(self.folder.glob("*.py"))
        return [file.stem for file in files if SETS.search(file.read_text("utf-8"))]

    def chosen(self, only: Sequence[str]) -> list[str]:
        """Those whose names begin with one of some texts; all if there is none.

        Raises:
            ValueError: for a text with which no name begins.
        """
        names = self.names()
        for start in only:
            if not any(name.startswith(start) for name in names):
                raise ValueError(f"--only {start}: no experiment begins so; there are {names}")
        return [n for n in names if not only or n.startswith(tuple(only))]

    def command(self, name: str) -> str:
        """What runs one of them."""
        return f"python -m {self.package}.{name}"

    def description(self, name: str) -> str:
        """The docstring of the module: claim, kind, band and choices."""
        return ast.get_docstring(_parsed(self.folder / f"{name}.py")) or ""

    def key(self, name: str, options: str) -> str:
        """A hash of all that a result follows from: code, options, and the library's code.

        Args:
            name: of the experiment.
            options: what it is asked to do, as a text.
        """
        content = hashlib.sha256(options.encode())
        content.update(_library())
        for module, file in self.files(name).items():
            content.update(module.encode() + b"\0")
            content.update(file.read_bytes() + b"\0")
        return content.hexdigest()

    def files(self, name: str) -> dict[str, Path]:
        """The files of an experiment and of what it needs of the package, by module, sorted."""
        return {module: self._file(module) for module in sorted(self._closure(name))}

    def _closure(self, name: str) -> set[str]:
        """The module, and those of the package that it needs, directly or not."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            module = waiting.pop()
            if module not in found:
                found.add(module)
                waiting += self._imports(module)
        return found

    def _imports(self, name: str) -> Iterator[str]:
        """Modules of the package that a module imports."""
        for node in ast.walk(_parsed(self._file(name))):
            named: list[str] = []
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for module in named:
                own = module.removeprefix(f"{self.package}.")
                if own != module and self._file(own).is_file():
                    yield own

    def _file(self, module: str) -> Path:
        """Where a module of the package lies, or a package within it."""
        path = self.folder.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def content_of_traces(folder: Path | None) -> dict[str, str]:
    """The content hash of each trace stored in a folder, by name; empty without a folder.

    Raises:
        ValueError: if the folder is not there, or holds no trace, or one that cannot be read.
    """
    if folder is None:
        return {}
    found: dict[str, str] = {}
    for file in sorted(folder.glob("*/meta.json")):
        found[file.parent.name] = _content(file, f"--traces {folder}")
    if not found:
        raise ValueError(f"--traces {folder}: expected a folder of stored traces, found none")
    return found


def _content(file: Path, option: str) -> str:
    """The content hash that a stored trace says it has."""
    try:
        said: Any = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        said = None
    found: Any = cast(dict[str, Any], said).get("content_hash") if isinstance(said, dict) else None
    if not isinstance(found, str):
        raise ValueError(f"{option}: {file}: expected what `failgym trace import` writes")
    return found


def _parsed(file: Path) -> ast.Module:
    """The module; an empty one if it is broken, which is for its own process to say."""
    try:
        return ast.parse(file.read_text("utf-8"), str(file))
    except SyntaxError:
        return ast.Module([], [])


@cache
def _library() -> bytes:
    """A hash of the library's code, that behind links included."""
    content = hashlib.sha256()
    top = Path(failgym.__file__).parent
    for folder, below, files in os.walk(top, followlinks=True):
        below[:] = sorted(name for name in below if name != "__pycache__")
        for name in sorted(files):
            if name.endswith(".py"):
                path = Path(folder, name)
                content.update(path.relative_to(top).as_posix().encode() + b"\0")
                content.update(path.read_bytes() + b"\0")
    return content.digest()
