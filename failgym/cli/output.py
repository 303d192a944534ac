"""What commands write: tables on standard output, and the same as JSON in a file."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import sys
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failgym.cli.folders import holds_trace
from failgym.files import json_text, replacing

__all__ = ["JsonFile", "interactive", "print_line", "print_table", "printable"]

PADDING = (0, 1, 0, 0)
"""Of a cell: above, right, below, left."""
WIDTH = 120
"""Columns of a table that is not shown in a terminal, or more if no cell may be broken."""
MOST_WIDTH = 10_000

Cell = str | int | float | None


@dataclass(frozen=True)
class JsonFile:
    """What `--json`, or another option, names; nothing if there is no path.

    A file is written whole or not at all. A link stays what it is: the file that it leads to is
    written. A terminal, a pipe, `/dev/null` or our own standard output is written straight to.
    """

    path: Path | None
    streams: bool = False
    named: Path | None = None
    """as it was typed"""

    @classmethod
    def at(cls, path: Path | None, option: str = "--json") -> JsonFile:
        """Check, before any work is done, that the file can be written. Raises ValueError."""
        if path is None:
            return cls(None)
        found = _status(path, option)
        if found is not None and _streams(found):
            return cls(path, streams=True)
        target = Path(os.path.realpath(path))
        folder = target.parent
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise ValueError(f"{option} {path}: is a folder, expected a file")
        if found is not None and not (stat.S_ISREG(found.st_mode) and os.access(path, os.W_OK)):
            raise ValueError(f"{option} {path}: is not a file that can be written")
        if not folder.is_dir():
            raise ValueError(f"{option} {path}: no such folder: {folder}")
        if not os.access(folder, os.W_OK):
            raise ValueError(f"{option} {path}: the folder {folder} cannot be written to")
        if any(holds_trace(above) for above in target.parents):
            raise ValueError(f"{option} {path}: lies in the folder of a saved trace: not written")
        return cls(target, named=path)

    def write(self, content: Any) -> None:
        """Write to a temporary name beside the file and rename. Raises OSError."""
        if self.path is None:
            return
        self.write_text(json_text(content))

    def write_text(self, text: str) -> None:
        """Write a text as it is, in the same way. Raises OSError."""
        if self.path is None:
            return
        if self.streams:
            with open(os.open(self.path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as file:
                file.write(text)
            return
        with replacing(self.path) as partial, partial.open("w", encoding="utf-8") as file:
            file.write(text)
        print_line(f"written to {self.named or self.path}")

    @contextlib.contextmanager
    def whole(self) -> Generator[Path]:
        """A name to write to, which becomes the file if all goes well."""
        assert self.path is not None, "there is no file to write"
        with replacing(self.path) as partial:
            yield partial
        print_line(f"written to {self.named or self.path}")


def _status(path: Path, option: str) -> os.stat_result | None:
    """What is there, links followed; None for nothing. Raises ValueError for an impossible name."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError(f"{option} {path}: {error.strerror or error}") from error


def _streams(found: os.stat_result) -> bool:
    """Is it written to as it comes: a character device, a pipe, or where our output goes?"""
    if stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode):
        return True
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return True
    return False


def interactive() -> bool:
    """Is somebody looking at standard error, so that progress is worth showing?"""
    return sys.stderr.isatty()


def print_line(text: str) -> None:
    """Print a line, or several, as `printable`."""
    with _standard_output():
        print(printable(text), flush=True)


def printable(text: str) -> str:
    """The text with signs that would command a terminal as escapes: names come from anywhere."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text
    )


@contextlib.contextmanager
def _standard_output() -> Generator[None]:
    """Name standard output in errors that name no file, as when a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise type(error)(error.errno, error.strerror, "standard output") from error


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    shares: frozenset[str] = frozenset(),
    unbroken: frozenset[str] = frozenset(),
    texts: frozenset[str] = frozenset(),
    width: int = WIDTH,
) -> None:
    """Print a table: first column and ``texts`` to the left, numbers to the right, ``shares`` in %.

    Cells of the first column and of those in ``unbroken`` keep to one line; no cell is cut off.
    Outside of a terminal the table takes up to ``width`` columns.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=printable(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=PADDING,
    )
    for i, column in enumerate(columns):
        whole = not i or column in unbroken
        justify = "right" if i and column not in texts else "left"
        table.add_column(column, justify=justify, no_wrap=whole, overflow="fold")
    for row in rows:
        cells = zip(columns, row, strict=True)
        table.add_row(*(_text(cell, column in shares) for column, cell in cells))
    with _standard_output():
        console = Console(markup=False, emoji=False)
        if not sys.stdout.isatty():
            console.width = width
            if all(column.no_wrap for column in table.columns):  # then nothing may be broken
                whole = console.options.update(width=MOST_WIDTH)
                console.width = max(width, console.measure(table, options=whole).maximum)
        console.print(table)
        sys.stdout.flush()


def _text(cell: Cell, share: bool) -> str:
    """A cell as it is printed: "-" for what is not known."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return "-"
    if isinstance(cell, str):
        return printable(cell)
    if share:
        return f"{100 * cell:.1f} %"
    if isinstance(cell, int):
        return f"{cell:,}"
    if 0 < abs(cell) < 0.1:
        return f"{cell:.2g}"
    return f"{cell:,.{2 if abs(cell) < 100 else 0}f}"
