"""CSV tables published in numbered parts (`part-00003-of-00500.csv.gz`): found, streamed, checked.

A part is parsed by the block with pyarrow. Where that fails, the block is read again, slowly, to
say which line and which column are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, pacsv
from failgym.traces.readers.sources import LONGEST_TEXT, Advance, text_blocks
from failgym.traces.schema import LATEST, Table, TraceError

Ints = npt.NDArray[np.int64]

BLOCK_BYTES = 1 << 24
"""How much text is parsed at once [bytes]: bounds the reader's memory."""

_PART = re.compile(r"part-(\d+)-of-\d+\.csv(\.gz)?")
_INTEGER = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")

INT32 = 2**31 - 1
INT64 = 2**63 - 1
FLOAT32 = float(np.finfo(np.float32).max)
"""The largest values of columns that a trace stores in that type."""


@dataclass(frozen=True)
class Column:
    """A published column: an integer, a number (both not negative) or a text.

    Integers and numbers are at most `largest`, or equal to `sentinel`: a value beyond it that
    stands for something else.
    """

    name: str
    kind: Literal["integer", "number", "text"]
    required: bool = False
    used: bool = True
    largest: float = INT64
    sentinel: int | None = None

    @property
    def expected(self) -> str:
        """What a field of the column must be, in words."""
        if self.kind == "text":
            return f"a text of at most {LONGEST_TEXT} characters"
        what = "an integer" if self.kind == "integer" else "a number"
        sentinel = "" if self.sentinel is None else f" (or {self.sentinel})"
        return f"{what} of at least 0 and at most {self.largest}{sentinel}"

    def takes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of these integers or numbers the column may hold."""
        fits = (values >= 0) & (values <= self.largest)
        return fits if self.sentinel is None else fits | (values == self.sentinel)


def time_column(name: str) -> Column:
    """A required column of times [us]; what happened after the whole trace is at `INT64`."""
    return Column(name, "integer", required=True, largest=LATEST * 1000, sentinel=INT64)


@dataclass(frozen=True)
class Part:
    """One file of a table."""

    number: int
    file: Path


@dataclass(frozen=True)
class Block:
    """Consecutive parsed rows of a part; `first_line` is the line number of the first (from 1)."""

    part: Part
    first_line: int
    rows: Table

    def integers(self, name: str) -> Ints:
        """An integer column, -1 where it is missing, shape (rows,)."""
        values: Ints = self.rows.column(name).fill_null(-1).to_numpy().astype(np.int64, copy=False)
        return values

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """A number column, NaN where it is missing, shape (rows,)."""
        values: npt.NDArray[np.float64] = self.rows.column(name).to_numpy()
        return values

    def texts(self, name: str) -> tuple[list[str], Ints]:
        """A text column as its distinct texts and each row's position in them, -1 if missing."""
        values = self.rows.column(name).combine_chunks()
        codes: Ints = values.indices.fill_null(-1).to_numpy().astype(np.int64)
        return values.dictionary.to_pylist(), codes

    def fail(self, row: int, column: str, value: object, expected: str) -> NoReturn:
        """Raise the TraceError for a field of the block."""
        raise field_error(self.part.file, self.first_line + row, column, value, expected)


def field_error(file: Path, line: int, column: str, value: object, expected: str) -> TraceError:
    """A TraceError that names file, line, column, what is there and what was expected."""
    return TraceError(f"{file}, line {line}: column {column!r} is {value!r}, expected {expected}")


def find_parts(folder: Path) -> list[Part]:
    """The parts in a folder, in order. Raises TraceError: no folder, no part, a part twice."""
    if not folder.is_dir():
        raise TraceError(f"{folder}: no such folder: expected one with part-?????-of-?????.csv.gz")
    parts: dict[int, Part] = {}
    for file in sorted(folder.iterdir()):
        if not file.name.endswith((".csv", ".csv.gz")):
            continue
        match = _PART.fullmatch(file.name)
        if match is None:
            raise TraceError(f"{file}: expected a name like part-00000-of-00500.csv.gz")
        number = int(match[1])
        if number in parts:
            raise TraceError(f"{file}: part {number} is there twice, as {parts[number].file.name}")
        parts[number] = Part(number, file)
    if not parts:
        raise TraceError(f"{folder}: empty: expected files part-?????-of-?????.csv.gz")
    return [parts[number] for number in sorted(parts)]


def segments(parts: list[Part]) -> list[list[Part]]:
    """The runs of consecutive parts."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and runs[-1][-1].number == part.number - 1:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def read_part(part: Part, columns: tuple[Column, ...], advance: Advance) -> Iterator[Block]:
    """The rows of a part, block by block; only columns that are `used` are kept.

    Raises TraceError: an unreadable, corrupt or truncated file, a row with another number of
    columns, a missing required field, a field that is not of its column's kind or out of bounds.
    """
    for first_line, text in text_blocks(part.file, advance, size=BLOCK_BYTES):
        yield Block(part, first_line, _parse(part.file, first_line, text, columns))


_TYPES = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.dictionary(pa.int32(), pa.string()),
}


def _parse(path: Path, first_line: int, text: bytes, columns: tuple[Column, ...]) -> Table:
    """The rows of a block; raises TraceError for the first line that is malformed."""
    try:
        rows = pacsv.read_csv(
            pa.BufferReader(text),
            read_options=pacsv.ReadOptions(
                column_names=[column.name for column in columns], block_size=len(text) + 1
            ),
            parse_options=pacsv.ParseOptions(
                quote_char=False, double_quote=False, ignore_empty_lines=False
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={column.name: _TYPES[column.kind] for column in columns},
                include_columns=[column.name for column in columns if column.used],
                null_values=[""],
                strings_can_be_null=True,
            ),
        ).combine_chunks()
        wrong = next((c.name for c in columns if c.used and not _sound(rows, c)), None)
        reason = f"column {wrong!r} is not as expected"
    except pa.ArrowException as error:
        rows, wrong, reason = None, "", str(error).splitlines()[0]
    if wrong is not None:
        _locate(path, first_line, text, columns)
        raise TraceError(f"{path}, from line {first_line}: {reason}")
    return rows


def _sound(rows: Table, column: Column) -> bool:
    """Whether no required field is missing and every number is within the column's bounds."""
    values = rows.column(column.name)
    if column.required and values.null_count:
        return False
    if column.kind == "text":
        return all(len(text) <= LONGEST_TEXT for text in values.unique().dictionary.to_pylist())
    known = values.fill_null(0).to_numpy()
    return bool(column.takes(known).all())


def _locate(path: Path, first_line: int, text: bytes, columns: tuple[Column, ...]) -> None:
    """Raise the TraceError for the first malformed line of a block, if there is one."""
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), start=first_line):
        try:
            fields = line.removesuffix(b"\r").decode("utf-8").split(",")
        except UnicodeDecodeError as error:
            raise TraceError(f"{path}, line {number}: not a text in UTF-8") from error
        if any("\r" in value for value in fields):
            raise TraceError(f"{path}, line {number}: a carriage return within the line")
        if len(fields) != len(columns):
            few = "few" if len(fields) < len(columns) else "many"
            raise TraceError(
                f"{path}, line {number}: too {few} columns: {len(fields)},"
                f" expected {len(columns)} ({columns[0].name} ... {columns[-1].name})"
            )
        for column, value in zip(columns, fields, strict=True):
            if column.used and not _fits(column, value.strip(" \t")):
                raise field_error(path, number, column.name, _shortened(value), column.expected)


def _fits(column: Column, value: str) -> bool:
    if not value:
        return not column.required
    if column.kind == "text":
        return len(value) <= LONGEST_TEXT
    if column.kind == "number":
        return (
            len(value) <= LONGEST_TEXT
            and _NUMBER.fullmatch(value) is not None
            and bool(column.takes(np.array(float(value))))
        )
    digits = value.lstrip("0") or "0"
    if _INTEGER.fullmatch(value) is None or len(digits) > len(str(INT64)) or int(digits) > INT64:
        return False
    return bool(column.takes(np.array(int(digits))))


def _shortened(value: str, most: int = 60) -> str:
    return value if len(value) <= most else f"{value[:most]}..."
