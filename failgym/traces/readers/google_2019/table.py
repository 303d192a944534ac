"""Google's tables of 2019 as arrays: fields checked, every fault with its file and line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2019.arrow import EMPTY_LISTS, arrow_columns
from failgym.traces.readers.google_2019.block import Row
from failgym.traces.readers.google_2019.columns import NONE, Column, flat_names
from failgym.traces.readers.google_2019.rows import read_rows
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.sources import Advance

__all__ = ["Table", "read_chunks", "read_table"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class Table:
    """A table, column by column, in narrow types (see `Column`): it may have very many rows."""

    columns: tuple[Column, ...]
    values: dict[str, npt.NDArray[Any]]
    texts: dict[str, list[str]]
    rows: int
    incomplete: int
    """rows that were left out because a needed column is missing"""

    def ints(self, name: str) -> Ints:
        """An integer column, shape (rows,), `NONE` where it is missing; of texts the codes, -1."""
        narrow = self.values[name]
        if narrow.dtype == np.int64:
            return narrow
        values = narrow.astype(np.int64)
        values[narrow == np.iinfo(narrow.dtype).min] = NONE
        return values

    def floats(self, name: str) -> Floats:
        """A number column, shape (rows,)."""
        return self.values[name]

    def words(self, name: str) -> npt.NDArray[Any]:
        """The texts behind the codes of a text column, None last: index it with the codes."""
        return np.array([*self.texts[name], None], dtype=object)

    def keep(self, rows: npt.NDArray[Any]) -> None:
        """Keep only these rows (positions or flags)."""
        for name in self.values:  # one by one, so that only one is there twice
            self.values[name] = self.values[name][rows]
        self.rows = len(next(iter(self.values.values())))


@dataclass
class _Block:
    file: Path
    lines: list[int]
    rows: list[Row]
    codes: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])

    def column(self, name: str) -> list[Any]:
        """The values of a column, row by row; None where it is not there. Raises TraceError."""
        structure, dot, part = name.partition(".")
        values: list[Any] = [row.get(structure) for row in self.rows]
        if dot:
            return [
                cast(Row, value).get(part)
                if isinstance(value, dict)
                else self._outside(row, name, value)
                for row, value in enumerate(values)
            ]
        return values

    def _outside(self, row: int, name: str, structure: object) -> Any:
        """The field of a structure that is told in a column of its own."""
        if structure is not None and structure != "":
            self.fields(row, name)  # says that it is no structure
        values = self.rows[row]
        return next(
            (values[flat] for flat in flat_names(name) if values.get(flat) is not None), None
        )

    def fields(self, row: int, name: str) -> tuple[Fields, str]:
        """Where a column is in a row, to read it field by field or to say what is wrong."""
        outer = Fields(self.file, self.lines[row], self.rows[row])
        structure, dot, part = name.partition(".")
        flat = next((one for one in flat_names(name) if outer.has(one)), None)
        if not dot or flat is not None:
            return outer, flat or name
        return outer.object(structure) or outer, part


def read_table(files: Sequence[Path], columns: tuple[Column, ...], advance: Advance) -> Table:
    """All rows of the files of a table. Raises TraceError."""
    codes: dict[str, dict[str, int]] = {c.name: {} for c in columns if c.kind == "text"}
    grown = {c.name: bytearray() for c in columns}  # one copy of very many rows, not two
    read = 0
    for file in files:
        for rows, chunk in read_chunks(file, columns, codes, advance):
            read += rows
            for name, values in chunk.items():
                grown[name] += values.data
    whole = {c.name: np.frombuffer(grown[c.name], dtype=c.dtype) for c in columns}
    rows_kept = len(whole[columns[0].name])
    texts = {name: list(known) for name, known in codes.items()}
    return Table(columns, whole, texts, rows_kept, read - rows_kept)


def read_chunks(
    file: Path, columns: tuple[Column, ...], codes: dict[str, dict[str, int]], advance: Advance
) -> Iterator[tuple[int, dict[str, npt.NDArray[Any]]]]:
    """The rows of a file, some at a time: how many there were, and the columns of complete ones.

    Args:
        file: of the table.
        columns: which are read.
        codes: of the texts of each text column; new texts get new codes.
        advance: told of the bytes that are consumed.

    Raises:
        TraceError: with file and line, for what is not as the format says.
    """
    names = ((c.name.partition(".")[0], *flat_names(c.name)) for c in columns)
    wanted = tuple(dict.fromkeys(name for listed in names for name in listed))
    for block in read_rows(file, wanted, advance):
        chunk = None if block.told is None else arrow_columns(columns, block.told, codes)
        if chunk is None:
            chunk = _columns(columns, _Block(file, *block.rows(), codes))
        complete = np.logical_and.reduce([chunk[c.name] != c.missing for c in columns if c.needed])
        yield len(complete), {name: values[complete] for name, values in chunk.items()}


def _columns(columns: tuple[Column, ...], block: _Block) -> dict[str, npt.NDArray[Any]]:
    return {column.name: _narrow(column, _column(column, block)) for column in columns}


def _narrow(column: Column, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.kind != "integer" or column.dtype == np.int64:
        return values.astype(column.dtype, copy=False)
    narrow = values.astype(column.dtype)
    narrow[values == NONE] = column.missing
    return narrow


def _column(column: Column, block: _Block) -> npt.NDArray[Any]:
    values = block.column(column.name)
    if column.kind == "text":
        return _texts(column, block, values)
    if column.kind == "number":
        return _numbers(column, block, values)
    if column.kind == "list":
        return _lists(column, block, values)
    return _integers(column, block, values)


def _integers(column: Column, block: _Block, values: list[Any]) -> Ints:
    least, most, also = column.least, column.most, (NONE, column.also)
    plain = _plain(values)
    if plain is not None and ((plain >= least) & (plain <= most)).all():
        return plain
    known = {name: number for number, name in enumerate(column.codes)}
    whole = [_whole(value, known) for value in values]
    for row, number in enumerate(whole):
        if number is None or not (least <= number <= most or number in also):
            inside, part = block.fields(row, column.name)
            inside.fail(part, column.expected)
    return np.array(whole, dtype=np.int64)


def _plain(values: list[Any]) -> Ints | None:
    """Integers that are all told as such, or all as texts of digits; None if they are not."""
    kinds = set(map(type, values))
    if kinds == {str}:
        texts = cast(list[str], values)
        joined = "".join(texts)
        lengths = set(map(len, texts))
        if joined.isascii() and joined.isdigit() and 0 < min(lengths) <= max(lengths) < 19:
            return np.array(list(map(int, texts)), dtype=np.int64)
    elif kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return None
    return None


def _whole(value: Any, known: dict[str, int]) -> int | None:
    """An integer, however it is told; `NONE` if it is missing, None if it is none."""
    if type(value) is int:
        return value
    if type(value) is str:
        signless = value.removeprefix("-")
        if signless.isascii() and signless.isdigit() and len(value) <= 20:
            return int(value)
        if not value:
            return NONE
        return known.get(value)
    if value is None or value != value:
        return NONE
    return int(value) if type(value) is float and value.is_integer() else None


def _numbers(column: Column, block: _Block, values: list[Any]) -> Floats:
    if set(map(type, values)) == {float}:
        plain = np.array(values, dtype=np.float64)
        if ((plain >= 0) & (plain < 1e300)).all():
            return plain
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if type(value) is float or type(value) is int:
            if 0 <= value < 1e300:
                numbers[row] = value
                continue
            if value != value:
                continue
        if value is not None and value != "":
            inside, part = block.fields(row, column.name)
            number = inside.number(part)
            numbers[row] = np.nan if number is None else number
    return numbers


def _texts(column: Column, block: _Block, values: list[Any]) -> Ints:
    known = block.codes[column.name]
    codes = np.full(len(values), -1, dtype=np.int64)
    for row, value in enumerate(values):
        if value is None or value == "":
            continue
        if type(value) is not str or value not in known:
            value = block.fields(row, column.name)[0].text(column.name) or ""
        codes[row] = known.setdefault(value, len(known))
    return codes


def _lists(column: Column, block: _Block, values: list[Any]) -> Ints:
    """1 where there is a list with anything in it; in CSV it is a text."""
    told = np.zeros(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if isinstance(value, str):
            told[row] = value.strip() not in EMPTY_LISTS
        elif value is not None:
            inside, part = block.fields(row, column.name)
            told[row] = bool(inside.array(part))
    return told
