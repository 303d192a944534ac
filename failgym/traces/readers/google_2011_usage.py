"""Google's task usage: what attempts used, in windows of up to five minutes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2011_tables import Runs
from failgym.traces.readers.parts import (
    FLOAT32,
    Advance,
    Block,
    Column,
    Counts,
    Part,
    read_part,
    time_column,
)

Ints = npt.NDArray[np.int64]

COLUMNS = (
    time_column("start time"),
    time_column("end time"),
    Column("job ID", "integer", required=True),
    Column("task index", "integer", required=True),
    Column("machine ID", "integer", used=False),
    Column("mean CPU usage rate", "number", largest=FLOAT32),
    Column("canonical memory usage", "number", largest=FLOAT32),
    Column("assigned memory usage", "number", used=False),
    Column("unmapped page cache memory usage", "number", used=False),
    Column("total page cache memory usage", "number", used=False),
    Column("maximum memory usage", "number", largest=FLOAT32),
    Column("mean disk I/O time", "number", largest=FLOAT32),
    Column("mean local disk space used", "number", used=False),
    Column("maximum CPU usage", "number", used=False),
    Column("maximum disk I/O time", "number", used=False),
    Column("cycles per instruction", "number", used=False),
    Column("memory accesses per instruction", "number", used=False),
    Column("sample portion", "number", used=False),
    Column("aggregation type", "integer", used=False),
    Column("sampled CPU usage", "number", used=False),
)

_USED = {
    "cpu": "mean CPU usage rate",
    "memory": "canonical memory usage",
    "local_io": "mean disk I/O time",
    "max_memory": "maximum memory usage",
}


def read_usage(
    parts: list[Part], runs: Runs, count: Counts, advance: Advance
) -> dict[str, npt.NDArray[Any]]:
    """The windows table: each usage record belongs to the attempt that ran at its middle.

    Its offset is from the attempt's start, at least 0 [ms]. Records of no known attempt are
    dropped and counted. Raises TraceError.
    """
    chunks: list[dict[str, npt.NDArray[Any]]] = []
    for part in parts:
        for block in read_part(part, COLUMNS, advance):
            count.read("task usage", block.rows.num_rows)
            chunks.append(_windows(block, runs, count))
    if not chunks:
        return {}
    columns = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    order = np.lexsort((columns["offset"], columns["attempt"]))
    return {name: values[order] for name, values in columns.items()}


def _windows(block: Block, runs: Runs, count: Counts) -> dict[str, npt.NDArray[Any]]:
    begin, end = block.integers("start time"), block.integers("end time")
    if (end < begin).any():
        row = int(np.argmax(end < begin))
        block.fail(row, "end time", int(end[row]), f"no earlier than the start time {begin[row]}")
    middle = (begin // 2 + end // 2) // 1000
    attempt = _running(block.integers("job ID"), block.integers("task index"), middle, runs)
    kept = attempt >= 0
    count.drop("usage of no known attempt", int((~kept).sum()))
    offset = np.maximum(begin[kept] // 1000 - runs.start[attempt[kept]], 0)
    columns: dict[str, npt.NDArray[Any]] = {"attempt": attempt[kept], "offset": offset}
    for name, source in _USED.items():
        columns[name] = block.numbers(source)[kept].astype(np.float32)
    return columns


def _running(job: Ints, index: Ints, time: Ints, runs: Runs) -> Ints:
    """The attempt of each (job, index) that ran at `time`, -1 if none.

    Attempts and questions are sorted together, so that the attempt in question is the last one
    before each question.
    """
    if not len(time):
        return np.empty(0, dtype=np.int64)
    candidates = np.flatnonzero(
        (runs.start >= 0) & (runs.start <= time.max()) & (runs.end >= time.min())
    )
    n = len(candidates)
    if not n:
        return np.full(len(time), -1)
    keys = [
        np.concatenate([getattr(runs, name)[candidates], values])
        for name, values in (("job", job), ("index", index), ("start", time))
    ]
    asks = np.arange(n + len(time)) >= n
    order = np.lexsort((asks, keys[2], keys[1], keys[0]))
    last = np.maximum.accumulate(np.where(asks[order], -1, np.arange(len(order))))
    before = np.full(len(order), -1)
    before[order] = np.where(last >= 0, order[last], -1)
    found = before[n:]
    attempt = np.where(found >= 0, candidates[found], -1)
    same = (runs.job[attempt] == job) & (runs.index[attempt] == index)
    return np.where((attempt >= 0) & same & (runs.end[attempt] >= time), attempt, -1)
