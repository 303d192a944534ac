"""Files of stored traces that are small and unpack to anything are refused before they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from failgym.traces import Trace, TraceError, parquet
from failgym.traces.schema import SCHEMAS, make_table
from failgym.traces.store import META_FILE, MOST_META
from tests.traces.traces import make


def written(tmp_path: Path, name: str, columns: dict[str, Any], times: int = 1) -> Path:
    """A saved trace, one file of which holds the same rows again and again."""
    make().save(tmp_path / "t")
    file = tmp_path / "t" / f"{name}.parquet"
    rows = make_table(name, columns)
    with pq.ParquetWriter(file, SCHEMAS[name], compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(rows)
    return file


def test_rows_that_hold_nothing_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = np.zeros(1_000_000, dtype=np.int64)
    file = written(tmp_path, "windows", {"attempt": nothing, "offset": nothing}, 8)
    assert file.stat().st_size < 1_000_000
    largest, read = 0, pq.ParquetFile.read

    def noted(opened: Any) -> Any:
        nonlocal largest
        largest = max(largest, opened.metadata.num_rows)
        return read(opened)

    monkeypatch.setattr(pq.ParquetFile, "read", noted)
    with pytest.raises(TraceError, match=r"windows\.parquet: .* bytes that unpack to 320 MB, exp"):
        Trace.load(tmp_path / "t")
    assert 0 < largest < 10


@pytest.mark.parametrize("length", [300_000, 1_000])
def test_a_text_counts_as_often_as_it_is_told(tmp_path: Path, length: int) -> None:
    rows = 300_000_000 // length
    columns = {"original_id": "j", "submit": np.zeros(rows), "width": 1, "outcome": 0}
    file = written(tmp_path, "jobs", {**columns, "user": ["x" * length] * rows})
    assert file.stat().st_size < 1_000_000
    with pytest.raises(TraceError, match=r"jobs\.parquet: .* that unpack to 3\d\d MB, expected at"):
        Trace.load(tmp_path / "t")


def test_what_only_might_be_large_is_read(tmp_path: Path) -> None:
    """One long name, and many rows that do not tell it."""
    rows = np.arange(2_000)
    names = ["n" * 200_000, *(f"user {i}" for i in rows[1:])]
    trace = make(
        jobs={"original_id": [str(i) for i in rows], "submit": 0, "width": 1, "outcome": 0}
        | {"user": names, "exit_category": None},
        tasks={"job": rows, "index": 0, "stage": None, "cpu": None, "anti_affinity": None},
        attempts={"task": rows, "queued": 0, "start": 0, "end": 1, "outcome": 0, "cause": None}
        | {"length": None},
        costs={"task": [], "machine": [], "time": []},
    )
    trace.save(tmp_path / "t")
    about = pq.read_metadata(tmp_path / "t" / "jobs.parquet")
    assert parquet._bounds(about, SCHEMAS["jobs"])[1] > parquet.SMALL
    assert Trace.load(tmp_path / "t").content_hash == trace.content_hash


def test_more_than_the_memory_that_is_free_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().save(tmp_path / "t")
    monkeypatch.setattr(parquet, "SMALL", 0)
    monkeypatch.setattr(parquet, "available", lambda: 10)
    with pytest.raises(TraceError, match=r"jobs\.parquet: unpacks to \d+ bytes, and 10 bytes of"):
        Trace.load(tmp_path / "t")


def test_meta_data_without_end_are_not_read(tmp_path: Path) -> None:
    make().save(tmp_path / "t")
    with (tmp_path / "t" / META_FILE).open("r+b") as file:
        file.truncate(MOST_META + 1)
    with pytest.raises(TraceError, match=rf"meta\.json: expected at most {MOST_META} bytes"):
        Trace.load(tmp_path / "t")
