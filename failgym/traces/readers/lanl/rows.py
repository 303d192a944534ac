"""The rows of LANL's failure data: columns found by name, fields checked."""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from failgym.traces.readers.sources import Advance, text_lines
from failgym.traces.schema import TraceError

__all__ = ["CAUSES", "Row", "read_rows"]

COLUMNS = (
    "System",
    "machine type",
    "nodes",
    "procstot",
    "procsinnode",
    "nodenum",
    "nodenumz",
    "node install",
    "node prod",
    "node decom",
    "fru type",
    "mem",
    "cputype",
    "memtype",
    "num intercon",
    "purpose",
    "Prob Started",
    "Prob Fixed",
    "Down Time",
    "Facilities",
    "Hardware",
    "Human Error",
    "Network",
    "Undetermined",
    "Software",
    "Same Event",
)
"""The columns as released; another file may leave out or add some, or order them otherwise."""

CAUSES = ("facilities", "hardware", "human error", "network", "undetermined", "software")
"""The columns of which one says what failed."""

_NEEDED = ("system", "nodenum", "prob started", "prob fixed")
_TITLE_LINES = 20
"""So many lines may stand before that of the column names."""
LARGEST_NUMBER = 10**9
"""No system, node or number of nodes or processors is larger."""
FIRST_YEAR, LAST_YEAR = 1970, 2149
_PIVOT = 70
"""A year of two digits from here on is of the 20th century."""

_TIME = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.0+)?)?", re.ASCII
)
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Row:
    """A line of the file and its fields by column name (lower case), each stripped."""

    file: Path
    line: int
    fields: Mapping[str, str]

    def text(self, name: str) -> str:
        """The field; empty if it or its column is missing."""
        return self.fields.get(name, "")

    def integer(self, name: str, *, least: int = 0) -> int | None:
        """A whole number, or None where the field is empty. Raises TraceError."""
        value = self.text(name)
        if not value:
            return None
        if not (value.isascii() and value.isdigit() and len(value) < 20):
            self.fail(name, f"an integer of at least {least} and at most {LARGEST_NUMBER}")
        if not least <= int(value) <= LARGEST_NUMBER:
            self.fail(name, f"an integer of at least {least} and at most {LARGEST_NUMBER}")
        return int(value)

    def time(self, name: str) -> int | None:
        """A local time [ms since 1970-01-01 as it stands], or None if empty. Raises TraceError."""
        value = self.text(name)
        if not value:
            return None
        match = _TIME.fullmatch(value)
        if match is None:
            self.fail(name, "a time month/day/year hour:minute")
        month, day, year, hour, minute, second = (int(part or 0) for part in match.groups())
        if len(match[3]) == 2:
            year += 1900 if year >= _PIVOT else 2000
        if not FIRST_YEAR <= year <= LAST_YEAR:
            self.fail(name, f"a year from {FIRST_YEAR} to {LAST_YEAR}")
        try:
            moment = datetime.datetime(year, month, day, hour, minute, second)
        except ValueError:
            self.fail(name, "a time month/day/year hour:minute")
        return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)

    def fail(self, name: str, expected: str) -> NoReturn:
        """Raise the TraceError for a field."""
        value = self.text(name)
        shown = ascii(value if len(value) <= 60 else value[:60] + "...")
        where = f"{self.file}, line {self.line}"
        raise TraceError(f"{where}: column {name!r} is {shown}, expected {expected}")


def read_rows(file: Path, advance: Advance) -> Iterator[Row]:
    """The rows below the line of the column names; empty ones, units and names again left out.

    A file without such a line has the columns of the release. Raises TraceError: unreadable, not
    UTF-8, no such columns, a row with more or fewer fields than columns.
    """
    names: Sequence[str] | None = None
    for line, fields in _records(file, advance):
        if names is None and line > _TITLE_LINES:
            break
        if not any(fields):
            continue
        if names is None:
            names = _names(fields)
            if names is None or _is_header(fields):
                continue
        if len(fields) > len(names) and not any(fields[len(names) :]):
            fields = fields[: len(names)]
        if len(fields) != len(names):
            few = "few" if len(fields) < len(names) else "many"
            expected = f"{len(names)} ({names[0][:60]} ... {names[-1][:60]})"
            raise TraceError(
                f"{file}, line {line}: too {few} columns: {len(fields)}, expected {expected}"
            )
        row = Row(file, line, dict(zip(names, fields, strict=True)))
        if not _is_title(row):
            yield row
    if names is None:
        raise TraceError(f"{file}: no line with the columns {', '.join(_NEEDED)} at its beginning")


def _is_title(row: Row) -> bool:
    """Whether a row says what the columns hold: their names again, or their form, in brackets."""
    if row.text("system").isdigit():
        return False
    told = tuple(_name(row.text(name)) for name in _NEEDED)
    return told == _NEEDED or (not any(told) and any(row.text(name) for name in _NEEDED))


def _records(file: Path, advance: Advance) -> Iterator[tuple[int, list[str]]]:
    """The CSV records with the number of their last line; a line break in quotes is a space."""
    lines = _Lines(text_lines(file, advance))
    try:
        for fields in csv.reader(lines, strict=True):
            yield lines.at, [" ".join(field.split()) for field in fields]
    except csv.Error as error:
        raise TraceError(f"{file}, line {lines.at}: not a row of a CSV file: {error}") from error


@dataclass
class _Lines:
    """The lines of a text as the csv module takes them; `at` is the number of the last one."""

    numbered: Iterator[tuple[int, str]]
    at: int = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in self.numbered:
            self.at = number
            yield line.replace("\r", " ") + "\n"


def _names(fields: Sequence[str]) -> list[str] | None:
    """The column names if this is the line that holds them, or a row of a file without one."""
    if _is_header(fields):
        return [_name(field) for field in fields]
    if len(fields) == len(COLUMNS) and fields[0].isdigit() and _TIME.fullmatch(fields[16]):
        return [name.lower() for name in COLUMNS]
    return None


def _is_header(fields: Sequence[str]) -> bool:
    return set(_NEEDED) <= {_name(field) for field in fields}


def _name(field: str) -> str:
    """A column's name without what it says of its form: Prob Started (mm/dd/yy hh:mm)."""
    return field.partition("(")[0].strip().lower()
