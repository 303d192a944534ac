"""Rows of Google's tables of 2019, sorted by job into partitions: what fits no memory at once.

A file of the source becomes one Arrow file, whose batches hold rows of one partition each, in the
order of the file; a list beside it says which. All rows of a collection are in one partition, so
that each partition can be read by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, paipc
from failgym.files import replacing
from failgym.traces.readers.google_2019.columns import AFTER_THE_TRACE, Column
from failgym.traces.readers.google_2019.table import Table, read_chunks
from failgym.traces.readers.work_folder import write_json

__all__ = ["Split", "load", "part_of", "split"]

Ints = npt.NDArray[np.int64]
Chunk = dict[str, npt.NDArray[Any]]

ROWS_AT_ONCE = 1 << 20
"""Rows that are sorted at once: what a worker holds of a file, however large that is."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Ids of collections that follow each other come into different partitions (Fibonacci hashing)."""


@dataclass(frozen=True)
class Split:
    """What was found in a file of the source."""

    rows: int
    incomplete: int
    """rows without a needed column, which are left out"""
    last: int
    """the time of the last event within the trace [us]; 0 of usage"""
    partitions: tuple[int, ...]
    """of each batch"""


def part_of(ids: Ints, partitions: int) -> Ints:
    """The partition of each collection."""
    spread = (ids.astype(np.uint64) * _SPREAD) >> np.uint64(32)
    return (spread % np.uint64(partitions)).astype(np.int64)


def split(file: Path, columns: tuple[Column, ...], partitions: int, out: Path) -> Split:
    """Sort the rows of a file into `out`, an Arrow file; what is there already is left as it is.

    Args:
        file: of the source.
        columns: of its table.
        partitions: how many there are.
        out: the file to write; its list has the suffix `.json`, and is there when it is whole.

    Raises:
        TraceError: with file and line, for what is not as the format says.
        OSError: if it cannot be written.
    """
    listed = out.with_suffix(".json")
    if listed.exists():
        return Split(**_tuples(json.loads(listed.read_text("utf-8"))))
    codes: dict[str, dict[str, int]] = {c.name: {} for c in columns if c.kind == "text"}
    found = list[int]()
    rows = incomplete = last = 0
    options = paipc.IpcWriteOptions(compression="lz4")
    with (
        replacing(out) as partial,
        paipc.new_file(str(partial), _schema(columns), options=options) as writer,
    ):
        for read, chunk in _gathered(read_chunks(file, columns, codes, lambda _: None)):
            rows, incomplete = rows + read, incomplete + read - len(chunk["collection_id"])
            times = chunk.get("time", chunk["collection_id"][:0])
            last = max(last, int(times.max(initial=0, where=times < AFTER_THE_TRACE)))
            for part, batch in _batches(chunk, columns, codes, partitions):
                writer.write_batch(batch)
                found.append(part)
    made = Split(rows, incomplete, last, tuple(found))
    write_json(listed, vars(made))
    return made


def _tuples(told: dict[str, Any]) -> dict[str, Any]:
    return told | {"partitions": tuple(told["partitions"])}


def _gathered(chunks: Iterator[tuple[int, Chunk]]) -> Iterator[tuple[int, Chunk]]:
    """The same rows, about `ROWS_AT_ONCE` at a time."""
    held, read, kept = list[Chunk](), 0, 0
    for rows, chunk in chunks:
        held.append(chunk)
        read, kept = read + rows, kept + len(chunk["collection_id"])
        if kept >= ROWS_AT_ONCE:
            yield read, _joined(held)
            held, read, kept = [], 0, 0
    if held:
        yield read, _joined(held)


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _batches(
    chunk: Chunk, columns: Sequence[Column], codes: dict[str, dict[str, int]], partitions: int
) -> Iterator[tuple[int, Any]]:
    """A batch of each partition that has rows."""
    part = part_of(chunk["collection_id"], partitions)
    order = np.argsort(part, kind="stable")
    if not len(order):  # no row was complete
        return
    arrays = [_array(column, chunk[column.name][order], codes) for column in columns]
    batch = pa.RecordBatch.from_arrays(arrays, schema=_schema(columns))
    numbers, first = np.unique(part[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    for number, begin, end in zip(numbers.tolist(), first.tolist(), ends, strict=True):
        yield number, batch.slice(begin, end - begin)


def _schema(columns: Sequence[Column]) -> Any:
    """Numbers as they are held (see `Column`), without nulls; texts as texts."""
    return pa.schema(
        [
            (c.name, pa.string() if c.kind == "text" else pa.from_numpy_dtype(c.dtype))
            for c in columns
        ]
    )


def _array(column: Column, values: npt.NDArray[Any], codes: dict[str, dict[str, int]]) -> Any:
    if column.kind != "text":
        return pa.array(values)
    known = pa.array(list(codes[column.name]), pa.string())
    return known.take(pa.array(values, mask=values < 0))


def load(files: Sequence[Path], columns: tuple[Column, ...], part: int) -> Table:
    """All rows of a partition, in the order of the files.

    Args:
        files: that `split` wrote.
        columns: of their table.
        part: the number of the partition.

    Raises:
        OSError: if one cannot be read.
    """
    held: dict[str, list[npt.NDArray[Any]]] = {column.name: [] for column in columns}
    codes: dict[str, dict[str, int]] = {c.name: {} for c in columns if c.kind == "text"}
    for file in files:
        listed = json.loads(file.with_suffix(".json").read_text("utf-8"))["partitions"]
        places = [place for place, number in enumerate(listed) if number == part]
        if not places:
            continue
        with pa.memory_map(str(file)) as mapped:
            reader = paipc.open_file(mapped)
            for place in places:
                batch = reader.get_batch(place)
                for column in columns:
                    held[column.name].append(_values(column, batch, codes))
    values = {
        column.name: np.concatenate([np.zeros(0, column.dtype), *held[column.name]])
        for column in columns
    }
    texts = {name: list(known) for name, known in codes.items()}
    return Table(columns, values, texts, len(values["collection_id"]), 0)


def _values(column: Column, batch: Any, codes: dict[str, dict[str, int]]) -> npt.NDArray[Any]:
    values = batch.column(column.name)
    if column.kind != "text":
        return np.array(values.to_numpy())
    encoded, known = values.dictionary_encode(), codes[column.name]
    own = [known.setdefault(text, len(known)) for text in encoded.dictionary.to_pylist()]
    of = np.array([*own, -1], dtype=column.dtype)
    return of[encoded.indices.fill_null(len(own)).to_numpy()]
