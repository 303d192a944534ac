"""The tables of the Failure Trace Archive: tab files whose columns are found by name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.archives import Member
from failgym.traces.readers.sources import lines_of
from failgym.traces.schema import LATEST, TraceError

__all__ = ["Columns", "Table"]

Ints = npt.NDArray[np.int64]

_MISSING = frozenset(("", "null", "\\n", "none", "n/a", "na", "-", "?"))
"""What stands for a missing value."""
LARGEST_ID = 2**62
LARGEST_NUMBER = 1e15
_DIGITS = 15


@dataclass(frozen=True)
class Columns:
    """The columns of a table and where they are; reads fields of its rows."""

    shown: str
    place: dict[str, int]

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.place

    def text(self, fields: Sequence[str], name: str) -> str:
        """A field; empty if it is missing."""
        at = self.place.get(name)
        value = fields[at].strip() if at is not None else ""
        return "" if value.lower() in _MISSING else value

    def integer(self, line: int, fields: Sequence[str], name: str) -> int | None:
        """A whole number, or None. Raises TraceError."""
        value = self.text(fields, name)
        digits = value.removeprefix("-").removesuffix(".0")
        if not value:
            return None
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            self.fail(line, name, value, "an integer")
        number = int(digits)
        if number > LARGEST_ID:
            self.fail(line, name, value, f"an integer of at most {LARGEST_ID}")
        return -number if value.startswith("-") else number

    def identity(self, line: int, fields: Sequence[str], name: str) -> int:
        """A number that must be there. Raises TraceError."""
        number = self.integer(line, fields, name)
        if number is None or number < 0:
            self.fail(line, name, self.text(fields, name), "an integer of at least 0")
        return number

    def milliseconds(self, line: int, fields: Sequence[str], name: str) -> int | None:
        """A time in seconds since 1970, fractions allowed, as ms; None if it is missing or before.

        Raises TraceError.
        """
        value = self.text(fields, name)
        if not value:
            return None
        if value.isascii() and value.isdigit() and len(value) < 15:
            time = int(value) * 1000
        else:
            seconds = self.number(value)
            if seconds is None or abs(seconds) > LARGEST_NUMBER:
                self.fail(line, name, value, "a time in seconds since 1970")
            time = round(seconds * 1000)
        if time > LATEST:
            self.fail(line, name, value, f"a time of at most {LATEST // 1000} s")
        return time if time >= 0 else None

    @staticmethod
    def number(value: str) -> float | None:
        """A finite number, or None if it is none."""
        if not value.isascii() or len(value) > 40 or "_" in value:
            return None
        try:
            number = float(value)
        except ValueError:
            return None
        return number if abs(number) <= 1e300 else None

    def fail(self, line: int, name: str, value: str, expected: str) -> NoReturn:
        """Raise the TraceError for a field."""
        shown = ascii(value if len(value) <= 60 else value[:60] + "...")
        raise TraceError(
            f"{self.shown}, line {line}: column {name!r} is {shown}, expected {expected}"
        )


@dataclass(frozen=True)
class Table:
    """A table of which the line with the names of the columns has been read."""

    columns: Columns
    names: Sequence[str]
    exact: bool
    blocks: Iterator[tuple[int, bytes]]

    @classmethod
    def of(
        cls, member: Member, needed: Sequence[str], usual: Sequence[str] = (), *, exact: bool
    ) -> Table:
        """Find the names of the columns: a line of comments, after a `#`, or else the first row.

        A table whose first row is as long as the `usual` columns and begins with a number has
        these. Fields are parted by single tabs where there are as many as that takes, else by any
        space. Rows have as many fields as there are columns if that is `exact`; otherwise what is
        missing at their end is empty. Raises TraceError if a needed column is not there.
        """
        blocks = member.blocks()
        for first, block in blocks:
            for line, text, at in _lines(member.shown, first, block):
                names = _names(text, needed)
                if names is None and text.lstrip().startswith("#"):
                    continue
                rest = line + 1, block[at:]
                if names is None and _is_row(text, len(usual)):
                    names, rest = usual, (first, block)
                if names is None:
                    raise _no_names(f"{member.shown}, line {line}", needed, text)
                place = {name: place for place, name in enumerate(names) if name}
                columns = Columns(member.shown, place)
                return cls(columns, names, exact, itertools.chain([rest], blocks))
        raise _no_names(member.shown, needed, "")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """All rows, with their line numbers. Raises TraceError."""
        for first, block in self.blocks:
            yield from self.rows_of(first, block)

    def rows_of(self, first: int, block: bytes) -> Iterator[tuple[int, list[str]]]:
        """The rows of a block, with their line numbers. Raises TraceError."""
        width, shown = len(self.names), self.columns.shown
        for line, text in lines_of(shown, [(first, block)]):
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            if text.count("\t") == width - 1:
                yield line, [field.strip() for field in text.split("\t")]
                continue
            fields = text.split()
            if len(fields) != width and "\t" in text:
                fields = [field.strip() for field in text.rstrip().split("\t")]
            if len(fields) > width or (self.exact and len(fields) < width):
                expected = f"{width} ({self.names[0][:60]} ... {self.names[-1][:60]})"
                raise TraceError(f"{shown}, line {line}: {len(fields)} fields, expected {expected}")
            yield line, fields + [""] * (width - len(fields))

    def integers(self, block: bytes, names: Sequence[str]) -> list[Ints] | None:
        """Columns of a block in which every row is as it should be, (rows,) each; else None.

        That is: as many words as there are columns in every line, and those of these columns of up
        to `_DIGITS` digits.
        """
        width = len(self.names)
        if not _regular(block, width):
            return None
        words = block.split()
        picked = [words[self.columns.place[name] :: width] for name in names]
        if not all(b"".join(column).isdigit() for column in picked):
            return None
        if any(max(map(len, column)) > _DIGITS for column in picked):
            return None
        return [np.fromiter(map(int, column), np.int64, len(column)) for column in picked]


def _lines(shown: str, first: int, block: bytes) -> Iterator[tuple[int, str, int]]:
    """Number and text of the lines that are not empty, and where the next begins in the block."""
    if block.isspace():
        return
    at = 0
    for line, text in lines_of(shown, [(first, block)]):
        at = block.find(b"\n", at) + 1 or len(block)
        if text.strip():
            yield line, text, at


def _no_names(where: str, needed: Sequence[str], text: str) -> TraceError:
    missing = ", ".join(name for name in needed if name not in text.lower())
    return TraceError(f"{where}: no column {missing}: expected the names of the columns")


def _is_row(text: str, columns: int) -> bool:
    """Whether a line has so many fields, of which the first is a number."""
    fields = text.split()
    return columns in (len(fields), text.count("\t") + 1) and fields[0].isdigit()


def _names(text: str, needed: Sequence[str]) -> list[str] | None:
    """The names of the columns, if the line holds them and the needed ones are among them."""
    bare = text.lstrip("# \t").lower()
    for names in ([name.strip() for name in bare.split("\t")], bare.split()):
        if set(needed) <= set(names):
            return names
    return None


def _regular(block: bytes, width: int) -> bool:
    """Whether every line of a block, and there is one, is of that many words of printable ASCII."""
    text = np.frombuffer(block, dtype=np.uint8)
    end = text == ord("\n")
    space = end | (text == ord(" ")) | (text == ord("\t")) | (text == ord("\r"))
    if not len(text) or (text == ord("#")).any() or not ((text > 32) & (text < 127) | space).all():
        return False
    begins = ~space
    begins[1:] &= space[:-1]
    ends = np.flatnonzero(end)
    if not end[-1]:
        ends = np.append(ends, len(text) - 1)
    words = np.diff(np.cumsum(begins)[ends], prepend=0)
    return bool((words == width).all())
