"""The hash of a table's content: of a table in memory, or in a file, chunk by chunk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, pq
from failgym.traces.schema import ADDED, Table

Chunks: TypeAlias = Callable[[str], Iterable[Any]]
"""The pyarrow arrays of the named column, in order, as often as they are asked for."""


def table_hash(name: str, table: Table) -> str:
    """SHA-256 (hex) of a table's canonical column bytes.

    Per column: name, type, which rows are present (a bit each), then the values little-endian
    with nulls as zero; strings as their lengths and their UTF-8 bytes. A column that came later
    (`ADDED`) is passed over where nothing is in it.
    """
    nulls = {key: table.column(key).null_count for key in table.schema.names}
    return _hash(name, table.schema, table.num_rows, nulls, lambda key: table.column(key).chunks)


def file_hash(name: str, file: Path) -> str:
    """`table_hash` of the table in a Parquet file, a row group's column in memory at a time."""
    with pq.ParquetFile(file) as parquet:

        def chunks(key: str) -> Iterator[Any]:
            return (batch.column(0) for batch in parquet.iter_batches(columns=[key]))

        schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
        nulls = {key: _nulls(parquet.metadata, n) for n, key in enumerate(schema.names)}
        for key in [key for key, known in nulls.items() if known is None]:
            nulls[key] = sum(chunk.null_count for chunk in chunks(key))
        return _hash(name, schema, rows, {key: n or 0 for key, n in nulls.items()}, chunks)


def _nulls(metadata: Any, column: int) -> int | None:
    """How many values of a column of a Parquet file are missing, if the file says so."""
    groups = [metadata.row_group(n).column(column) for n in range(metadata.num_row_groups)]
    if any(group.statistics is None for group in groups):
        return None
    return sum(group.statistics.null_count for group in groups)


def _hash(name: str, schema: Any, rows: int, nulls: Mapping[str, int], chunks: Chunks) -> str:
    digest = hashlib.sha256(f"{name} {rows}\n".encode())
    for field in schema:
        if (name, field.name) in ADDED and nulls[field.name] == rows:
            continue
        digest.update(f"{field.name} {field.type} {nulls[field.name]}\n".encode())
        if nulls[field.name]:
            for bits in _packed(chunk.is_valid() for chunk in chunks(field.name)):
                digest.update(bits)
        for part in _value_bytes(field, chunks):
            digest.update(part)
    return digest.hexdigest()


def _packed(flags: Iterable[Any]) -> Iterator[bytes]:
    """Eight flags to a byte, over all chunks as if they were one."""
    rest: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
    for chunk in flags:
        together = np.concatenate([rest, chunk.to_numpy(zero_copy_only=False)])
        whole = len(together) // 8 * 8
        yield np.packbits(together[:whole]).tobytes()
        rest = together[whole:]
    yield np.packbits(rest).tobytes()


def _value_bytes(field: Any, chunks: Chunks) -> Iterator[Any]:
    if pa.types.is_string(field.type):
        for chunk in chunks(field.name):
            yield np.diff(_offsets(_texts(chunk))).astype("<i8")
        for chunk in chunks(field.name):
            yield _text_bytes(_texts(chunk))
        return
    zero = False if pa.types.is_boolean(field.type) else 0
    for chunk in chunks(field.name):
        values = chunk.fill_null(zero).to_numpy(zero_copy_only=False)
        yield np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))


def _texts(chunk: Any) -> Any:
    return chunk.fill_null("").cast(pa.large_string())


def _offsets(texts: Any) -> npt.NDArray[np.int64]:
    """Where each text begins in the buffer of all, and where the last one ends."""
    if not len(texts):
        return np.zeros(1, dtype=np.int64)
    offsets = np.frombuffer(texts.buffers()[1], dtype="<i8")
    return offsets[texts.offset : texts.offset + len(texts) + 1]


def _text_bytes(texts: Any) -> Any:
    offsets, data = _offsets(texts), texts.buffers()[2]
    return memoryview(data)[offsets[0] : offsets[-1]] if len(texts) and data else b""
