"""Rows of a table as BigQuery exports it: JSON lines, CSV with a header, or Parquet; packed or not.

What a file holds is told from its content, not from its name. CSV and Parquet come as Arrow reads
them, which is fast; the same rows can be had one by one, to say what is wrong with which.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from failgym.traces.readers.json_objects import json_objects
from failgym.traces.readers.sources import Advance, lines_of, opened, text_blocks
from failgym.traces.schema import TraceError

__all__ = ["Block", "Row", "Rows", "read_rows"]

Row = dict[str, Any]
Rows = tuple[list[int], list[Row]]
"""Rows and the lines at which they begin (of Parquet: their numbers), both from 1."""

BLOCK_ROWS = 1 << 13
"""Rows that are taken up at once."""

_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Block:
    """Some consecutive rows."""

    told: Any
    """them as a `pyarrow.Table`, texts as they are written; None where Arrow has not read them"""
    rows: Callable[[], Rows]
    """them one by one: columns by name, as they are told, structures as dicts; or a TraceError"""


def read_rows(path: Path, columns: Sequence[str], advance: Advance) -> Iterator[Block]:
    """The rows of a file, block by block.

    Of Parquet and CSV only `columns` are read. In CSV an empty field is missing, and a structure
    (`name`, where there is a column `name.field`) is JSON.

    Raises TraceError, here or when the rows are taken: unreadable, corrupt or truncated; not JSON,
    CSV or Parquet; a CSV file without any of the columns, or a row with another number of fields
    than its header.
    """
    head = _head(path)
    if head.startswith(_PARQUET):
        yield from _parquet(path, columns, advance)
    elif head.lstrip()[:1] == b"{" and _is_an_object(head.lstrip().partition(b"\n")[0]):
        yield from map(_one_by_one, _json_lines(path, advance))
    elif head.lstrip()[:1] in (b"{", b"["):
        objects = json_objects(path, advance)
        while block := list(itertools.islice(objects, BLOCK_ROWS)):
            yield _one_by_one(([line for line, _ in block], [row for _, row in block]))
    elif head.strip():
        yield from _csv(path, columns, advance)


def _one_by_one(rows: Rows) -> Block:
    return Block(None, lambda: rows)


def _head(path: Path) -> bytes:
    """The beginning of the content, without a byte order mark."""
    with opened(path) as (_, content):
        return content.read(1 << 16).removeprefix(b"\xef\xbb\xbf")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _loads(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _is_an_object(line: bytes) -> bool:
    try:
        return isinstance(_loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


def _json_lines(path: Path, advance: Advance) -> Iterator[Rows]:
    """A block of lines is parsed at once; where that fails, line by line, to say which is wrong."""
    for first, block in text_blocks(path, advance):
        if first == 1:
            block = block.removeprefix(b"\xef\xbb\xbf")
        lines = block.removesuffix(b"\n").split(b"\n")
        numbers = [number for number, line in enumerate(lines, first) if not _is_blank(line)]
        texts = [line for line in lines if not _is_blank(line)]
        rows: list[Row] = []
        with contextlib.suppress(ValueError, RecursionError):
            rows = _loads(b"".join((b"[", b",".join(texts), b"]")).decode("utf-8"))
        if len(rows) != len(texts) or not all(type(row) is dict for row in rows):
            rows = [
                _object(path, number, line) for number, line in zip(numbers, texts, strict=True)
            ]
        yield numbers, rows


def _is_blank(line: bytes) -> bool:
    return not line or line.isspace()


def _object(path: Path, number: int, line: bytes) -> Row:
    try:
        row = _loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}, line {number}: not a text in UTF-8") from error
    except RecursionError as error:
        raise TraceError(f"{path}, line {number}: nested too deeply") from error
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        said = reason.splitlines()[0]
        raise TraceError(f"{path}, line {number}: not JSON: {said}") from error
    if not isinstance(row, dict):
        raise TraceError(f"{path}, line {number}: expected a JSON object")
    return cast(Row, row)


def _csv(path: Path, columns: Sequence[str], advance: Advance) -> Iterator[Block]:
    """Arrow takes blocks without quotation marks; behind one, a row may have several lines."""
    blocks = text_blocks(path, advance)
    header: list[str] = []
    for first, block in blocks:
        text = block.removeprefix(b"\xef\xbb\xbf") if first == 1 else block
        if b'"' in text or (not header and _is_blank(text.partition(b"\n")[0])):
            rest = itertools.chain([(first, text)], blocks)
            yield from map(_one_by_one, _csv_rows(path, columns, header, first, rest))
            return
        if not header:
            line, _, text = text.partition(b"\n")
            fields = line.decode("utf-8", "replace").removesuffix("\r").split(",")
            header = _header(path, first, fields, columns)
            first += 1
        yield _csv_block(path, columns, header, first, text)


def _csv_block(
    path: Path, columns: Sequence[str], header: list[str], first: int, text: bytes
) -> Block:
    def rows() -> Rows:
        blocks = list(_csv_rows(path, columns, header, first, [(first, text)]))
        return [n for numbers, _ in blocks for n in numbers], [r for _, rs in blocks for r in rs]

    return Block(_csv_table(header, text), rows)


def _csv_table(header: list[str], text: bytes) -> Any:
    """The columns of the header that are read, as texts; None if Arrow cannot read them."""
    kept = [name for name in header if name]
    names = [name or f"column {place}" for place, name in enumerate(header)]
    if not text or text.count(b"\r") != text.count(b"\r\n"):
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


def _csv_rows(
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
            rows.append(_csv_row(path, line, header, fields, structures))
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


def _csv_row(
    path: Path, line: int, header: list[str], fields: list[str], structures: set[str]
) -> Row:
    row: Row = {}
    for name, value in zip(header, fields, strict=True):
        if not name or not value.strip():
            continue
        if name in structures:
            try:
                row[name] = _loads(value)
            except (ValueError, RecursionError) as error:
                raise TraceError(f"{path}, line {line}: column {name!r} is not JSON") from error
        else:
            row[name] = value
    return row


def _parquet(path: Path, columns: Sequence[str], advance: Advance) -> Iterator[Rows]:
    with opened(path) as (raw, content), tempfile.TemporaryFile() as unpacked:
        if content is not raw:
            shutil.copyfileobj(content, unpacked)
            content = unpacked
        content.seek(0)
        batches = _guarded(path, lambda: _batches(content, columns))
        first = 1
        while (batch := _guarded(path, lambda: next(batches, None))) is not None:
            yield _parquet_block(path, first, batch)
            first += batch.num_rows
        advance(path.stat().st_size)


def _parquet_block(path: Path, first: int, batch: Any) -> Block:
    def rows() -> Rows:
        told: list[Row] = _guarded(path, batch.to_pylist)
        return list(range(first, first + len(told))), told

    return Block(pa.Table.from_batches([batch]), rows)


def _batches(content: Any, columns: Sequence[str]) -> Iterator[Any]:
    file = pq.ParquetFile(content)
    wanted = [name for name in columns if name in file.schema_arrow.names]
    return file.iter_batches(batch_size=BLOCK_ROWS, columns=wanted)


def _guarded(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise TraceError(f"{path}: not a sound Parquet file: {said}") from error
