"""Rows of a table as BigQuery exports it: JSON lines, CSV with a header, or Parquet; packed or not.

What a file holds is told from its content, not from its name. Rows come as Arrow reads them, which
is fast; the same rows can be had one by one, to say what is wrong with which.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from failgym.arrow import pa, pq
from failgym.traces.readers.google_2019.block import BLOCK_ROWS, Block, Row, Rows
from failgym.traces.readers.google_2019.csv_rows import csv_rows
from failgym.traces.readers.google_2019.json_rows import json_lines, loads
from failgym.traces.readers.json_objects import json_objects
from failgym.traces.readers.sources import Advance, opened
from failgym.traces.schema import TraceError

__all__ = ["read_rows"]

_PARQUET = b"PAR1"


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
        yield from json_lines(path, columns, advance)
    elif head.lstrip()[:1] in (b"{", b"["):
        objects = json_objects(path, advance)
        while block := list(itertools.islice(objects, BLOCK_ROWS)):
            yield Block.of(([line for line, _ in block], [row for _, row in block]))
    elif head.strip():
        yield from csv_rows(path, columns, advance)


def _head(path: Path) -> bytes:
    """The beginning of the content, without a byte order mark."""
    with opened(path) as (_, content):
        return content.read(1 << 16).removeprefix(b"\xef\xbb\xbf")


def _is_an_object(line: bytes) -> bool:
    try:
        return isinstance(loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


def _parquet(path: Path, columns: Sequence[str], advance: Advance) -> Iterator[Block]:
    with opened(path) as (raw, content), tempfile.TemporaryFile() as unpacked:
        if content is not raw:
            shutil.copyfileobj(content, unpacked)
            content = unpacked
        content.seek(0)
        batches = _guarded(path, lambda: _batches(content, columns))
        first = 1
        while (batch := _guarded(path, lambda: next(batches, None))) is not None:
            yield Block(pa.Table.from_batches([batch]), partial(_one_by_one, path, first, batch))
            first += batch.num_rows
        advance(path.stat().st_size)


def _one_by_one(path: Path, first: int, batch: Any) -> Rows:
    rows: list[Row] = _guarded(path, batch.to_pylist)
    return list(range(first, first + len(rows))), rows


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
