"""What commands write: tables on standard output, and the same as JSON in a file."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

__all__ = ["JsonFile", "interactive", "print_line", "print_table"]

PADDING = (0, 1, 0, 0)
"""Of a cell: above, right, below, left."""
WIDTH = 120
"""Columns of a table that is not shown in a terminal."""

Cell = str | int | float | None


@dataclass(frozen=True)
class JsonFile:
    """A file that `--json` names, written whole or not at all; no file if there is no path."""

    path: Path | None

    @classmethod
    def at(cls, path: Path | None) -> JsonFile:
        """Check, before any work is done, that the file can be written. Raises ValueError."""
        if path is not None:
            if path.is_dir():
                raise ValueError(f"--json {path}: is a folder, expected a file")
            if not path.parent.is_dir():
                raise ValueError(f"--json {path}: no such folder: {path.parent}")
            if not os.access(path.parent, os.W_OK):
                raise ValueError(f"--json {path}: the folder {path.parent} cannot be written to")
        return cls(path)

    def write(self, content: Any) -> None:
        """Write to a temporary name beside the file and rename. Raises OSError."""
        if self.path is None:
            return
        partial = self.path.with_name(f".{self.path.name}.partial-{os.getpid()}")
        try:
            text = json.dumps(_finite(content), indent=1, allow_nan=False)
            partial.write_text(text + "\n", "utf-8")
            partial.replace(self.path)
        finally:
            partial.unlink(missing_ok=True)
        print_line(f"written to {self.path}")


def interactive() -> bool:
    """Is somebody looking at standard error, so that progress is worth showing?"""
    return sys.stderr.isatty()


def print_line(text: str) -> None:
    """Print a line as it is."""
    print(text, flush=True)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    shares: frozenset[str] = frozenset(),
) -> None:
    """Print a table: first column to the left, numbers to the right, columns in ``shares`` in %."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=PADDING
    )
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=not i)
    for row in rows:
        cells = zip(columns, row, strict=True)
        table.add_row(*(_text(cell, column in shares) for column, cell in cells))
    Console(width=None if sys.stdout.isatty() else WIDTH, markup=False).print(table)


def _text(cell: Cell, share: bool) -> str:
    """A cell as it is printed: "-" for what is not known."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return "-"
    if isinstance(cell, str):
        return cell
    if share:
        return f"{100 * cell:.1f} %"
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.{2 if abs(cell) < 100 else 0}f}"


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as null, which is all that JSON has for them."""
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
