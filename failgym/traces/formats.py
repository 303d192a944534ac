"""The public formats that can be read, by name; a reader is imported when it is first used.

A format is a folder in `readers/` that is named after it: what it reads, its options and how its
importer works are what the docstring and the functions in it say.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from failgym.additions import Addition, additions
from failgym.traces.trace import Trace

__all__ = ["FORMATS", "OTHER_NAMES", "Format", "formats", "found"]

_READERS = Path(__file__).parent / "readers"
_TABLES = (
    "google-2011",
    "google-2019",
    "swf",
    "rumen",
    "torque",
    "sacct",
    "table",
    "philly",
    "lanl",
    "fta",
    "stg",
    "wfformat",
    "dax",
)
"""The order of tables; a format that is not named here comes behind, by its name."""

OTHER_NAMES = {
    "slurm": "sacct",
    "pbs": "torque",
    "csv": "table",
    "parquet": "table",
    "hadoop": "rumen",
    "wfcommons": "wfformat",
    "pegasus": "dax",
}
"""Names that people look for -> the format that is meant, for messages."""


@dataclass(frozen=True)
class Format:
    """A public format: a folder in `failgym.traces.readers` with a function ``read_<format>``."""

    name: str

    @property
    def module(self) -> str:
        """The name of the reader's module in `failgym.traces.readers`."""
        return self.name.replace("-", "_")

    @property
    def about(self) -> str:
        """What is read: the first line of the module's docstring."""
        return (self._package.__doc__ or "").partition("\n")[0].removesuffix(".")

    @property
    def reader(self) -> Callable[..., Trace]:
        """`read_<format>(path, *, <options>, progress=False) -> Trace`."""
        return self._read

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the reader: its keyword-only parameters but `progress`."""
        parameters = inspect.signature(self._read).parameters.values()
        names = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
        return tuple(name for name in names if name != "progress")

    @property
    def importer(self) -> Callable[..., Any] | None:
        """`import_<format>(path, out, *, progress=False)`, for sources larger than memory.

        It saves the trace at `out` without ever holding it, and goes on where it was killed. None
        where there is only the reader.
        """
        return getattr(self._package, f"import_{self.module}", None)

    @property
    def in_steps(self) -> bool:
        """Does its importer take several sources, and `workers`, which do its steps?"""
        return (
            self.importer is not None and "workers" in inspect.signature(self.importer).parameters
        )

    @property
    def _read(self) -> Callable[..., Any]:
        read: Callable[..., Any] = getattr(self._package, f"read_{self.module}")
        return read

    @property
    def _package(self) -> Any:
        return importlib.import_module(f"failgym.traces.readers.{self.module}")


@dataclass(frozen=True)
class AddedFormat(Format):
    """A format that a reader of another package reads."""

    other: Addition = field(kw_only=True)

    @property
    def about(self) -> str:
        """Who adds it; nothing of it is imported to say that."""
        return str(self.other)

    @property
    def reader(self) -> Callable[..., Trace]:
        """The reader, imported now; whatever it raises becomes a line that names its package."""
        read = self._read

        def reader(path: Any, *, progress: bool = False, **options: Any) -> Trace:
            with self.other.blamed():
                found = read(path, **options, progress=progress)
            if not isinstance(found, Trace):
                raise ValueError(f"{self.other}: returned no Trace")
            return found

        return reader

    @property
    def importer(self) -> None:
        """None: there is only the reader."""

    @property
    def _read(self) -> Callable[..., Any]:
        read = self.other.load()
        if not callable(read):
            raise ValueError(f"{self.other}: expected a function, got {type(read).__name__}")
        return read


def _place(name: str) -> tuple[int, str]:
    return _TABLES.index(name) if name in _TABLES else len(_TABLES), name


def found() -> list[str]:
    """Names of the formats whose readers are in folders of `readers/`, in the order of tables."""
    folders = [one.name for one in iter_modules([str(_READERS)]) if one.ispkg]
    return sorted((name.replace("_", "-") for name in folders), key=_place)


def formats() -> dict[str, Format]:
    """The formats that can be read here, by name: `FORMATS`, and those that other packages add."""
    others = additions("readers", FORMATS).items()
    return {**FORMATS, **{name: AddedFormat(name, other=one) for name, one in others}}


FORMATS: dict[str, Format] = {name: Format(name) for name in found()}
"""The formats by name, in the order of tables; a new folder is found at once."""
