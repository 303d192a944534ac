"""The lines of a Standard Workload Format log: 18 numbers each, parsed by the block.

A block is parsed as a whole. Where that is not possible it is read again, line by line, to say
which line and which field are wrong.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.sources import Advance, text_blocks
from failgym.traces.readers.swf.header import Header
from failgym.traces.schema import LATEST, TraceError

__all__ = ["FIELDS", "Field", "Rows", "read_rows"]

Rows = npt.NDArray[Any]
"""A structured array with a field per column of `FIELDS` that is used."""

_NUMBERS = re.compile(rb"[-+0-9.eE \t\r\n]*")
_NUMBER = re.compile(rb"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
LONGEST: Final = 400
"""Digits and signs of a number are at most so many: a float64 written out has fewer."""

SECONDS: Final = LATEST / 4000
"""Times and durations are at most this [s], so that their sums stay within the trace's bounds."""
NAMES: Final = 2.0**53
"""Numbers that name something are below this: a float64 holds them exactly."""
INT32: Final = 2.0**31 - 1


@dataclass(frozen=True)
class Field:
    """One of the 18 fields: -1 means missing, and so does any other negative number."""

    name: str
    kind: type[np.generic]
    largest: float
    whole: bool = True
    smallest: float = -SECONDS
    used: bool = True

    @property
    def expected(self) -> str:
        """What the field must be, in words."""
        what = "a whole number" if self.whole else "a number"
        return f"{what} from {self.smallest:.0f} to {self.largest:.0f}"

    def takes(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Which of these numbers the field may hold."""
        fits = (values >= self.smallest) & (values <= self.largest)
        return fits & (np.floor(values) == values) if self.whole else fits


def _time(name: str) -> Field:
    return Field(name, np.float64, SECONDS, whole=False)


def _amount(name: str) -> Field:
    return Field(name, np.float64, float(np.finfo(np.float32).max), whole=False)


def _number(name: str) -> Field:
    return Field(name, np.int64, NAMES, smallest=-NAMES)


FIELDS: Final = (
    Field("job number", np.int64, NAMES, smallest=-NAMES),
    _time("submit time"),
    _time("wait time"),
    _time("run time"),
    Field("allocated processors", np.int32, INT32, smallest=-INT32),
    _amount("average CPU time"),
    _amount("used memory"),
    Field("requested processors", np.int32, INT32, smallest=-INT32),
    _time("requested time"),
    _amount("requested memory"),
    Field("status", np.int32, INT32, smallest=-INT32),
    _number("user"),
    _number("group"),
    _number("executable"),
    _number("queue"),
    _number("partition"),
    _number("preceding job"),
    Field("think time", np.float64, SECONDS, whole=False, used=False),
)

_DTYPE = np.dtype([(field.name, field.kind) for field in FIELDS if field.used])


def read_rows(path: Path, header: Header, advance: Advance) -> Iterator[tuple[int, Rows]]:
    """The rows of a log, block by block, with each block's first line; comments go to `header`.

    Raises TraceError naming file, line and field: unreadable, not 18 fields, not numbers, numbers
    out of bounds.
    """
    for first, block in text_blocks(path, advance):
        data = _without_comments(first, block, header)
        values = _parsed(data)
        if values is None or not _sound(values):
            _locate(path, first, block)
            raise TraceError(f"{path}, from line {first}: expected lines of {len(FIELDS)} numbers")
        rows = np.empty(len(values), dtype=_DTYPE)
        for place, field in enumerate(FIELDS):
            if field.used:
                rows[field.name] = values[:, place]
        yield first, rows


def _without_comments(first: int, block: bytes, header: Header) -> bytes:
    if first == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    if b";" not in block:
        return block
    kept: list[bytes] = []
    for line in block.split(b"\n"):
        stripped = line.lstrip()
        if stripped.startswith(b";"):
            header.add(_text(stripped.rstrip()))
        else:
            kept.append(line)
    return b"\n".join(kept)


def _text(line: bytes) -> str:
    """A comment as text: UTF-8, else Latin-1, which takes every byte."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _parsed(data: bytes) -> npt.NDArray[np.float64] | None:
    """The numbers of the lines, shape (lines, 18); None if some line is malformed."""
    if _NUMBERS.fullmatch(data) is None:
        return None
    lines = _full_lines(data)
    if lines is None:
        return None
    if not lines:
        return np.empty((0, len(FIELDS)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # text that is not a number ends the numbers with one
            values = np.fromstring(data.decode("ascii"), dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    return values.reshape(lines, len(FIELDS)) if len(values) == lines * len(FIELDS) else None


def _full_lines(data: bytes) -> int | None:
    """The number of lines, blank ones left out; None if one has not as many fields as expected."""
    text = np.frombuffer(data, dtype=np.uint8)
    inside = np.zeros(len(text) + 1, dtype=np.bool_)
    inside[1:] = text > ord(" ")
    begins = inside[1:] & ~inside[:-1]
    if _longest(inside, begins) > LONGEST:
        return None
    ends = np.append(np.flatnonzero(text == ord("\n")), len(text))
    before = np.concatenate(([0], np.cumsum(begins)))
    fields = np.diff(before[ends], prepend=0)
    full = fields == len(FIELDS)
    return int(full.sum()) if (full | (fields == 0)).all() else None


def _longest(inside: npt.NDArray[np.bool_], begins: npt.NDArray[np.bool_]) -> int:
    """How long the longest field is."""
    first = np.flatnonzero(begins)
    last = np.flatnonzero(inside[1:] & ~np.append(inside[2:], False))
    return int((last - first).max(initial=-1)) + 1


def _sound(values: npt.NDArray[np.float64]) -> bool:
    return all(
        bool(field.takes(values[:, place]).all())
        for place, field in enumerate(FIELDS)
        if field.used
    )


def _locate(path: Path, first: int, block: bytes) -> None:
    """Raise the TraceError for the first malformed line of a block, if there is one."""
    if first == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(block.split(b"\n"), start=first):
        fields = line.split()
        if not fields or fields[0].startswith(b";"):
            continue
        if len(fields) != len(FIELDS):
            few = "few" if len(fields) < len(FIELDS) else "many"
            raise TraceError(
                f"{path}, line {number}: too {few} fields: {len(fields)}, expected {len(FIELDS)}"
            )
        for field, text in zip(FIELDS, fields, strict=True):
            if len(text) > LONGEST or not _NUMBER.fullmatch(text) or not _fits(field, text):
                shown = text[:60].decode("ascii", "backslashreplace")
                raise TraceError(
                    f"{path}, line {number}: field {field.name!r} is {shown!r},"
                    f" expected {field.expected}"
                )


def _fits(field: Field, text: bytes) -> bool:
    return not field.used or bool(field.takes(np.array([float(text)])).all())
