"""Records that are too many for memory: spilled as sorted runs, read back by ranges of their key.

A run is an Arrow file (in a folder, or in memory) of records in order of an int64 key. All runs of
a kind together are read range by range: every range holds about as many records, whatever the
number of runs, so that what is sorted at once fits into memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, paipc
from failgym.traces.readers.google_2011.records import Records, joined_records
from failgym.traces.schema import TraceError

Ints = npt.NDArray[np.int64]

BATCH_ROWS = 1 << 12
"""Records of a run that are read at once: what a range may read in vain, for each run."""

RANGE_ROWS = 1 << 20
"""Records of a range, about."""

EVERYTHING = (-(2**62), 2**62)
"""All keys lie between these."""

_STARTS, _LAST, _ROWS, _NOTES = b"starts", b"last", b"rows", b"notes"
_HASH = b"hash"


@dataclass(frozen=True)
class Run:
    """Records of type `dtype` in order of their key, and notes about them."""

    source: Any  # a Path, or a pyarrow.Buffer in memory
    dtype: np.dtype[Any]
    rows: int
    starts: Ints  # the key of the first record of each batch
    last: int  # the key of the last record
    notes: Mapping[str, Any]

    def records(self) -> Records:
        """All records. Raises TraceError if they cannot be read back."""
        return self._batches(0, len(self.starts))

    def between(self, key: str, low: int, high: int) -> Records:
        """The records with low <= key < high. Raises TraceError if they cannot be read back."""
        if not self.rows or high <= self.starts[0] or self.last < low:
            return np.empty(0, dtype=self.dtype)
        first = max(int(np.searchsorted(self.starts, low)) - 1, 0)
        found = self._batches(first, int(np.searchsorted(self.starts, high)))
        return found[slice(*np.searchsorted(found[key], [low, high]))]

    def _batches(self, first: int, stop: int) -> Records:
        if first >= stop:
            return np.empty(0, dtype=self.dtype)
        try:
            with _opened(self.source) as file:
                reader = paipc.open_file(file)
                if not reader.schema.equals(_schema(self.dtype)):
                    raise pa.ArrowInvalid("its columns are others")
                batches = [reader.get_batch(number) for number in range(first, stop)]
            return _joined(batches, self.dtype)
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            raise TraceError(f"{self.source}: cannot be read back: {reason}") from None


@dataclass(frozen=True)
class Spill:
    """Where runs are kept: in a folder, or in memory if there is none."""

    folder: Path | None = None

    def write(
        self, name: str, records: Records, key: Ints, notes: Mapping[str, Any] | None = None
    ) -> Run:
        """Keep records, whose `key` ascends, as the run of that name, in place of an older one.

        A file appears whole or not at all. Raises OSError.
        """
        starts, said = key[::BATCH_ROWS].astype(np.int64), dict(notes or {})
        last = int(key[-1]) if len(key) else 0
        meta = {
            _STARTS: starts.astype("<i8").tobytes(),
            _NOTES: json.dumps(said).encode(),
            _ROWS: str(len(records)).encode(),
            _LAST: str(last).encode(),
        }
        if self.folder is None:
            sink = pa.BufferOutputStream()
            _write(sink, records, meta, None)
            return Run(sink.getvalue(), records.dtype, len(records), starts, last, said)
        meta[_HASH] = _hash(name, records, meta)
        file = self.folder / f"{name}.arrow"
        partial = file.with_suffix(".partial")
        with partial.open("wb") as sink:
            _write(sink, records, meta, "lz4")
            sink.flush()
            os.fsync(sink.fileno())
        partial.replace(file)
        return Run(file, records.dtype, len(records), starts, last, said)

    def find(self, name: str, dtype: np.dtype[Any]) -> Run | None:
        """The run of that name, if it is there as it was written."""
        if self.folder is None or not (file := self.folder / f"{name}.arrow").is_file():
            return None
        try:
            with _opened(file) as source:
                reader = paipc.open_file(source)
                meta = reader.schema.metadata
            if not reader.schema.equals(_schema(dtype)):
                return None
            starts = np.frombuffer(meta[_STARTS], dtype="<i8").astype(np.int64)
            rows, last = int(meta[_ROWS]), int(meta[_LAST])
            run = Run(file, dtype, rows, starts, last, json.loads(meta[_NOTES]))
            return run if meta.pop(_HASH) == _hash(name, run.records(), meta) else None
        except (OSError, ValueError, KeyError, TypeError, MemoryError, pa.ArrowException):
            return None


def ranges(runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Bounds low <= key < high of consecutive ranges that hold all records.

    Each holds about `RANGE_ROWS`; a range holds more where a single key has more.
    """
    starts = np.sort(np.concatenate([run.starts for run in runs])) if runs else np.empty(0)
    cuts = np.unique(starts[:: max(RANGE_ROWS // BATCH_ROWS, 1)][1:]).tolist()
    yield from zip([EVERYTHING[0], *cuts], [*cuts, EVERYTHING[1]], strict=True)


def gather(runs: Sequence[Run], dtype: np.dtype[Any], key: str, low: int, high: int) -> Records:
    """The records of all runs with low <= key < high, one run after another. Raises TraceError."""
    return joined_records([run.between(key, low, high) for run in runs], dtype)


def _opened(source: Any) -> Any:
    return pa.OSFile(str(source), "rb") if isinstance(source, Path) else pa.BufferReader(source)


def _write(sink: Any, records: Records, meta: Mapping[bytes, bytes], codec: str | None) -> None:
    columns = _columns(records)
    arrays = [pa.array(np.ascontiguousarray(values)) for values in columns.values()]
    table = pa.Table.from_arrays(arrays, names=list(columns)).replace_schema_metadata(dict(meta))
    options = paipc.IpcWriteOptions(compression=codec)
    with paipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)


def _hash(name: str, records: Records, meta: Mapping[bytes, bytes]) -> bytes:
    """SHA-256 (hex) of all that a run's file holds: the format itself does not notice changes."""
    digest = hashlib.sha256(name.encode())
    for key in sorted(meta):
        digest.update(key + meta[key])
    for values in _columns(records).values():
        digest.update(values.tobytes())
    return digest.hexdigest().encode()


def _columns(records: Records, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
    """The fields of records, and those of records within them."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for name in records.dtype.names or ():
        values = records[name]
        if values.dtype.names:
            columns |= _columns(values, f"{prefix}{name}.")
        else:
            columns[prefix + name] = values
    return columns


def _schema(dtype: np.dtype[Any]) -> Any:
    """The columns that a run of such records has: their names and types."""
    columns = _columns(np.empty(0, dtype=dtype))
    return pa.schema([(name, pa.from_numpy_dtype(each.dtype)) for name, each in columns.items()])


def _joined(batches: Sequence[Any], dtype: np.dtype[Any]) -> Records:
    records = np.empty(sum(batch.num_rows for batch in batches), dtype=dtype)
    begin = 0
    for batch in batches:
        batch.validate()  # what it says of itself may read memory that is not its own
        _fill(records[begin : begin + batch.num_rows], batch)
        begin += batch.num_rows
    return records


def _fill(records: Records, batch: Any) -> None:
    for name, values in _columns(records).items():
        if (column := batch.column(name)).null_count:
            raise pa.ArrowInvalid(f"column {name!r} has gaps")
        values[:] = column.to_numpy(zero_copy_only=False)
