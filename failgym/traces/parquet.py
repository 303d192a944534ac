"""Tables of a stored trace, bounded before they are read: a small file may unpack to anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from failgym.arrow import pa, pc, pq
from failgym.memory import available, size_text
from failgym.traces.schema import ADDED, SCHEMAS, VERSION, Table, TraceError

__all__ = ["read_table"]

SMALL = 1 << 28
"""Tables that take no more than this are read whatever their files are like [bytes]."""
MOST_TIMES = 256
"""A table is at most so many times as large as its file; those of real traces are ten times as
large, of tasks that are all the same a hundred."""


def read_table(file: Path, name: str) -> Table:
    """Read the table of that name from a file; columns that came later (`ADDED`) may miss.

    Raises:
        TraceError: in one line: it cannot be read, has other columns, or would take more memory
            than there is or than a file of its size can be meant to.
    """
    if not file.is_file():
        raise TraceError(f"{file}: missing: the trace folder is incomplete")
    try:
        parquet = pq.ParquetFile(file)
        schema = _expected(name, parquet.schema_arrow.names)
        if not parquet.schema_arrow.remove_metadata().equals(schema.remove_metadata()):
            raise TraceError(
                f"{file}: the table's columns are not those of format version {VERSION}"
            )
        least, most = _bounds(parquet.metadata, schema)
        _check(file, least)
        if most <= SMALL:
            return _complete(name, parquet.read())
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        table = pq.ParquetFile(file, read_dictionary=texts).read()
        _check(file, _fixed(schema) * table.num_rows + sum(_length(table.column(x)) for x in texts))
        return _complete(name, table.cast(schema))
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TraceError(f"{file}: not readable as Parquet: {reason}") from error


def _expected(name: str, there: Sequence[str]) -> Any:
    """The columns of a table of which those may miss that came later."""
    late = [key for table, key in ADDED if table == name and key not in there]
    return pa.schema([field for field in SCHEMAS[name] if field.name not in late])


def _complete(name: str, table: Table) -> Table:
    """The table with all of its columns, null throughout where they came later."""
    for place, field in enumerate(SCHEMAS[name]):
        if field.name not in table.column_names:
            table = table.add_column(place, field, pa.nulls(table.num_rows, field.type))
    return table


def _fixed(schema: Any) -> int:
    """Bytes of a row, but for its texts."""
    return sum(4 if pa.types.is_string(kind) else -(-kind.bit_width // 8) for kind in schema.types)


def _bounds(about: Any, schema: Any) -> tuple[int, int]:
    """Least and most bytes that a table can take in memory, by what its file says of it.

    A text is stored once for each time that it is told, or once for all: how long those are that
    are told often shows only when they are read.
    """
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    texts = [i for i, kind in enumerate(schema.types) if pa.types.is_string(kind)]
    stored = [group.column(i).total_uncompressed_size for group in groups for i in texts]
    told = [group.num_rows for group in groups for _ in texts]
    fixed = _fixed(schema) * rows
    most = sum(max(n, 1) * size for n, size in zip(told, stored, strict=True))
    return fixed, fixed + most


def _check(file: Path, needed: int) -> None:
    """Raise TraceError if a table takes more memory than it may."""
    if needed <= SMALL:
        return
    size, free = file.stat().st_size, available()
    if needed > MOST_TIMES * size:
        raise TraceError(
            f"{file}: {size_text(size)} that unpack to {size_text(needed)}, expected at most"
            f" {MOST_TIMES} times as much: not read"
        )
    if free is not None and needed > free:
        raise TraceError(
            f"{file}: unpacks to {size_text(needed)}, and {size_text(free)} of memory are free"
        )


def _length(texts: Any) -> int:
    """Bytes of all texts of a column, each counted as often as it is told."""
    total = 0
    for chunk in texts.chunks:
        lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
        total += pc.sum(lengths).as_py() or 0
    return total
