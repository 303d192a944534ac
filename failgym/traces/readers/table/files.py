"""The files of a table: CSV with a header, or Parquet, as blocks of texts."""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from failgym.arrow import pa, pc, pq
from failgym.traces.readers.sources import Advance, opened, text_lines
from failgym.traces.schema import TraceError

__all__ = ["BLOCK_ROWS", "Block", "Choose", "blocks"]

BLOCK_ROWS: Final = 1 << 13
"""Rows that are taken up at once."""
DELIMITERS: Final = (",", "\t", ";", "|")
"""What may part the columns of a text."""
MOST_COLUMNS: Final = 1_000
"""A table has no more of them."""
_PARQUET: Final = b"PAR1"

Choose = Callable[[Sequence[str]], Mapping[str, int]]
"""Of the names of a file's columns: the position of the column of each field that is read. Raises
ValueError, saying why, if one is missing."""


@dataclass(frozen=True)
class Block:
    """Some consecutive rows."""

    numbers: Sequence[int]
    """of each row, from 1: the line at which it ends; in Parquet, the row"""
    texts: Mapping[str, Sequence[str]]
    """by field, as they are written, "" where nothing is told; shape (rows,) each"""
    place: str
    """what is numbered: "line" or "row\""""


def blocks(file: Path, choose: Choose, advance: Advance) -> Iterator[Block]:
    """The rows of a file. Raises TraceError: unreadable, corrupt, or no table; what `choose` says.

    Memory is that of `BLOCK_ROWS` rows.
    """
    with opened(file) as (_, content):
        parquet = content.read(len(_PARQUET)) == _PARQUET
    yield from (_parquet if parquet else _csv)(file, choose, advance)


def _csv(file: Path, choose: Choose, advance: Advance) -> Iterator[Block]:
    lines = text_lines(file, advance, errors="replace")
    header = next(((number, line) for number, line in lines if line.strip()), None)
    if header is None:
        return
    before, line = header
    delimiter = max(DELIMITERS, key=line.count)
    try:
        names = next(csv.reader([line], delimiter=delimiter, strict=True))
        places = _chosen(names, choose)
    except (csv.Error, ValueError) as error:
        raise TraceError(f"{file}, line {before}: {error}") from error
    reader = csv.reader((line + "\n" for _, line in lines), delimiter=delimiter, strict=True)
    try:
        rows = _rows(file, reader, before, len(names))
        while block := list(islice(rows, BLOCK_ROWS)):
            numbers, fields = zip(*block, strict=True)
            columns = list(zip(*fields, strict=True))
            texts = {field: columns[place] for field, place in places.items()}
            yield Block(numbers, texts, "line")
    except csv.Error as error:
        raise TraceError(f"{file}, line {before + reader.line_num}: not CSV: {error}") from error


def _chosen(names: Sequence[str], choose: Choose) -> Mapping[str, int]:
    """Positions of the columns that are read. Raises ValueError."""
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"{len(names)} columns, expected at most {MOST_COLUMNS}")
    return choose([name.strip() for name in names])


def _rows(file: Path, reader: Any, before: int, columns: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with the lines at which they end. Raises TraceError."""
    for fields in reader:
        if len(fields) != columns:
            if not any(field.strip() for field in fields):
                continue
            raise TraceError(
                f"{file}, line {before + reader.line_num}: {len(fields)} fields, expected {columns}"
                " as in the header"
            )
        yield before + reader.line_num, fields


def _parquet(file: Path, choose: Choose, advance: Advance) -> Iterator[Block]:
    with opened(file) as (raw, content), tempfile.TemporaryFile() as unpacked:
        if content is not raw:
            shutil.copyfileobj(content, unpacked)
            content = unpacked
        content.seek(0)
        table = _guarded(file, lambda: pq.ParquetFile(content))
        try:
            names: list[str] = table.schema_arrow.names
            places = _chosen(names, choose)
        except ValueError as error:
            raise TraceError(f"{file}: {error}") from error
        wanted = {field: names[place] for field, place in places.items()}
        batches = _guarded(
            file,
            lambda: table.iter_batches(
                batch_size=BLOCK_ROWS, columns=list(dict.fromkeys(wanted.values()))
            ),
        )
        first = 1
        while (batch := _guarded(file, lambda: next(batches, None))) is not None:
            texts = {field: _texts(file, batch, name) for field, name in wanted.items()}
            yield Block(range(first, first + batch.num_rows), texts, "row")
            first += batch.num_rows
        advance(file.stat().st_size)


def _texts(file: Path, batch: Any, name: str) -> list[str]:
    """The values of a column as texts; of lists, with commas between. Raises TraceError."""
    values = batch.column(name)
    try:
        if pa.types.is_list(values.type):
            values = pc.binary_join(values.cast(pa.list_(pa.string())), ",")
        found: list[str] = values.cast(pa.string()).fill_null("").to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        said = f"column {name[:60]!r} is {str(values.type)[:60]}, expected texts, numbers or times"
        raise TraceError(f"{file}: {said}") from error
    return found


def _guarded(file: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise TraceError(f"{file}: not a sound Parquet file: {said}") from error
