"""CSV with a header, a block at a time: by Arrow, or row by row."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from failgym.arrow import pa, pacsv
from failgym.traces.readers.google_2019.block import BLOCK_ROWS, Block, Row, Rows, is_blank
from failgym.traces.readers.google_2019.json_rows import loads
from failgym.traces.readers.sources import Advance, lines_of, text_blocks
from failgym.traces.schema import TraceError

__all__ = ["csv_rows"]

MOST_FIELDS = 1000
"""Arrow is not given wider rows: it would need much memory for them."""


def csv_rows(path: Path, columns: Sequence[str], advance: Advance) -> Iterator[Block]:
    """Arrow takes blocks without quotation marks; behind one, a row may have several lines."""
    blocks = text_blocks(path, advance)
    header: list[str] = []
    for first, block in blocks:
        text = block.removeprefix(b"\xef\xbb\xbf") if first == 1 else block
        if b'"' in text or (not header and is_blank(text.partition(b"\n")[0])):
            rest = itertools.chain([(first, text)], blocks)
            yield from map(Block.of, _rows(path, columns, header, first, rest))
            return
        if not header:
            line, _, text = text.partition(b"\n")
            fields = line.decode("utf-8", "replace").removesuffix("\r").split(",")
            header = _header(path, first, fields, columns)
            first += 1
        yield Block(_table(header, text), partial(_whole, path, columns, header, first, text))


def _table(header: list[str], text: bytes) -> Any:
    """The columns of the header that are read, as texts; None if Arrow cannot read them."""
    kept = [name for name in header if name]
    names = [name or f"column {place}" for place, name in enumerate(header)]
    if not text or len(names) > MOST_FIELDS or text.count(b"\r") != text.count(b"\r\n"):
        return None
    try:
        text.decode("utf-8")
        return pacsv.read_csv(
            pa.BufferReader(text),
            read_options=pacsv.ReadOptions(
                column_names=names, block_size=len(text) + 1, use_threads=False
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(kept, pa.string()),
                include_columns=kept,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None


def _whole(path: Path, columns: Sequence[str], header: list[str], first: int, text: bytes) -> Rows:
    """All rows of a block of which no row has several lines."""
    blocks = list(_rows(path, columns, header, first, [(first, text)]))
    numbers = itertools.chain.from_iterable(numbers for numbers, _ in blocks)
    return list(numbers), list(itertools.chain.from_iterable(rows for _, rows in blocks))


def _rows(
    path: Path,
    columns: Sequence[str],
    header: list[str],
    first: int,
    blocks: Iterable[tuple[int, bytes]],
) -> Iterator[Rows]:
    """Rows of blocks of which that is the first line; of an empty header, that comes first."""
    lines = lines_of(str(path), blocks)
    reader = csv.reader((line + "\n" for _, line in lines), strict=True)
    structures = {name.partition(".")[0] for name in columns if "." in name}
    numbers, rows = list[int](), list[Row]()
    try:
        for fields in reader:
            line = first - 1 + reader.line_num
            if not fields:
                continue
            if not header:
                header = _header(path, line, fields, columns)
                continue
            if len(fields) != len(header):
                raise TraceError(
                    f"{path}, line {line}: {len(fields)} fields, expected {len(header)}"
                    f" as in the header"
                )
            numbers.append(line)
            rows.append(_row(path, line, header, fields, structures))
            if len(rows) == BLOCK_ROWS:
                yield numbers, rows
                numbers, rows = [], []
    except csv.Error as error:
        line = first - 1 + reader.line_num
        raise TraceError(f"{path}, line {line}: not CSV: {error}") from error
    yield numbers, rows


def _header(path: Path, line: int, fields: list[str], columns: Sequence[str]) -> list[str]:
    """The names of the columns, "" for those that are not read."""
    names = [field.strip() for field in fields]
    kept = [name if name in columns else "" for name in names]
    if not any(kept):
        raise TraceError(
            f"{path}, line {line}: expected a header with {', '.join(columns[:3])} ..."
        )
    known = [name for name in kept if name]
    if len(known) != len(set(known)):
        raise TraceError(f"{path}, line {line}: expected every column once in the header")
    return kept


def _row(path: Path, line: int, header: list[str], fields: list[str], structures: set[str]) -> Row:
    row: Row = {}
    for name, value in zip(header, fields, strict=True):
        if not name or not value.strip():
            continue
        if name in structures:
            try:
                row[name] = loads(value)
            except (ValueError, RecursionError) as error:
                raise TraceError(f"{path}, line {line}: column {name!r} is not JSON") from error
        else:
            row[name] = value
    return row
