"""What a description is made of: tables to print, and the reasons why some cannot be made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = tuple[Cell, ...]

QUANTILES = (10, 25, 50, 75, 90, 99)
"""Per cent."""

QUANTILE_COLUMNS = tuple(f"p{percent}" for percent in QUANTILES)


@dataclass(frozen=True)
class DescriptionTable:
    """A table to print: its key, its title, the headings, and the rows (a cell per heading).

    Cells in columns whose heading begins with "share" or "P(" are fractions of one.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def cell(self, row: str, column: str) -> Cell:
        """The cell in the row whose first cell is `row`. Raises KeyError if there is none."""
        for cells in self.rows:
            if cells[0] == row and column in self.columns:
                return cells[self.columns.index(column)]
        raise KeyError(f"table {self.name} has no cell {row!r}, {column!r}")


@dataclass(frozen=True)
class Missing:
    """A table that the trace does not allow: its key, its title, and what would be needed."""

    name: str
    title: str
    needs: str


@dataclass(frozen=True)
class Description:
    """What `describe` says of a trace."""

    source: str
    content_hash: str
    tables: tuple[DescriptionTable, ...]

    def table(self, name: str) -> DescriptionTable:
        """The table of that name. Raises KeyError if there is none."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"no table {name!r}: there are {[table.name for table in self.tables]}")

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and strings: each table by name, its rows as objects."""
        return {
            "source": self.source,
            "content_hash": self.content_hash,
            "tables": {
                table.name: {
                    "title": table.title,
                    "columns": list(table.columns),
                    "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
                }
                for table in self.tables
            },
        }


def not_made(missing: Iterable[Missing]) -> DescriptionTable:
    """The tables that could not be made, a row each."""
    rows = tuple((table.name, table.title, table.needs) for table in missing)
    title = "Tables that this trace does not allow"
    return DescriptionTable("not_made", title, ("table", "what it shows", "missing"), rows)


def ratio(part: float, whole: float) -> float | None:
    """part / whole, or None of nothing."""
    return float(part) / float(whole) if whole else None


def quantiles(values: npt.NDArray[Any]) -> Sequence[Cell]:
    """How many values there are, and their `QUANTILES`; those are None of no values."""
    if not len(values):
        return (0, *(None for _ in QUANTILES))
    return (len(values), *np.percentile(values, QUANTILES).tolist())
