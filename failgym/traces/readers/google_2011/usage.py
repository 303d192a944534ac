"""Google's task usage: what attempts used, in windows of up to five minutes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2011.lookup import at_or_before
from failgym.traces.readers.google_2011.parts import (
    FLOAT32,
    Block,
    Column,
    Part,
    read_part,
    time_column,
)
from failgym.traces.readers.google_2011.records import Records
from failgym.traces.readers.google_2011.runs import Run, Spill, gather, ranges
from failgym.traces.readers.google_2011.tables import STARTED
from failgym.traces.readers.sources import Advance
from failgym.vocabulary import HOUR

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


WINDOW = np.dtype(
    [
        ("attempt", np.int64),  # row
        ("offset", np.int64),  # [ms]
        ("cpu", np.float32),
        ("memory", np.float32),
        ("local_io", np.float32),
        ("max_memory", np.float32),
    ]
)
"""A row of the windows table; its offset is from the attempt's start, at least 0."""

SLACK = HOUR
"""Attempts are at hand from this long before a block's first record to this long after it [ms]."""

_DROPPED = "usage of no known attempt"


@dataclass
class Running:
    """The attempts that run in a span of time, which moves on with the usage records.

    `started` are runs of STARTED, keyed by start.
    """

    started: list[Run]
    attempts: Records  # that started before `until` and ended at `since` or later, sorted
    since: int = 0  # [ms]
    until: int = 0  # [ms]

    @classmethod
    def of(cls, started: list[Run]) -> Running:
        """None yet."""
        return cls(started, np.empty(0, dtype=STARTED))

    def attempt(self, job: Ints, index: Ints, time: Ints) -> tuple[Ints, Ints]:
        """Row and start of the attempt of each task that ran at `time` [ms], row -1 if none."""
        if len(time):
            self._move(int(time.min()), int(time.max()))
        known = self.attempts
        if not len(known):
            return np.full(len(time), -1), np.zeros(len(time), dtype=np.int64)
        jobs, indices, starts = (known[name].copy() for name in ("job", "index", "start"))
        row = at_or_before(jobs, indices, starts, job, index, time)
        found = known[np.maximum(row, 0)]
        same = (row >= 0) & (found["job"] == job) & (found["index"] == index)
        return np.where(same & (found["end"] >= time), found["attempt"], -1), found["start"]

    def _move(self, first: int, last: int) -> None:
        """Let the span hold all times from `first` to `last` [ms]."""
        if first < self.since:  # back again: from the beginning
            self.attempts, self.since, self.until = self.attempts[:0], 0, 0
        elif last < self.until:
            return
        self.since, until = max(first - SLACK, self.since), last + SLACK
        new = gather(self.started, STARTED, "start", self.until, until)
        together = np.concatenate([self.attempts, new])
        together = together[together["end"] >= self.since]
        keys = (together[name] for name in ("attempt", "start", "index", "job"))
        self.attempts, self.until = together[np.lexsort(tuple(keys))], until


def read_usage(
    parts: list[Part], started: list[Run], spill: Spill, count: Counts, advance: Advance
) -> list[Run]:
    """Runs of WINDOW, a run per part, keyed by attempt; those that `spill` holds are not read.

    Each usage record belongs to the attempt that ran at its middle; records of no known attempt
    are dropped and counted. Raises TraceError, and OSError if windows cannot be spilled.
    """
    running, runs = Running.of(started), list[Run]()
    for number, part in enumerate(parts):
        name = f"windows-{number:05}"
        run = spill.find(name, WINDOW)
        if run is None:
            run = _read_part(part, running, spill, name, advance)
        else:
            advance(part.file.stat().st_size)
        count.read("task usage", run.notes["read"])
        count.drop(_DROPPED, run.notes["dropped"])
        runs.append(run)
    return runs


def make_windows(runs: list[Run]) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """The columns of the windows table, piece by piece, rows by attempt and offset."""
    for low, high in ranges(runs):
        rows = gather(runs, WINDOW, "attempt", low, high)
        rows = rows[np.lexsort((rows["offset"], rows["attempt"]))]
        yield {name: rows[name] for name in WINDOW.names or ()}


def _read_part(part: Part, running: Running, spill: Spill, name: str, advance: Advance) -> Run:
    windows, read = [np.empty(0, dtype=WINDOW)], 0
    for block in read_part(part, COLUMNS, advance):
        read += block.rows.num_rows
        windows.append(_windows(block, running))
    rows = np.concatenate(windows)
    rows = rows[np.lexsort((rows["offset"], rows["attempt"]))]
    notes = {"read": read, "dropped": read - len(rows)}
    return spill.write(name, rows, rows["attempt"], notes)


def _windows(block: Block, running: Running) -> Records:
    begin, end = block.integers("start time"), block.integers("end time")
    if (end < begin).any():
        row = int(np.argmax(end < begin))
        block.fail(row, "end time", int(end[row]), f"no earlier than the start time {begin[row]}")
    middle = (begin + (end - begin) // 2) // 1000
    attempt, start = running.attempt(block.integers("job ID"), block.integers("task index"), middle)
    kept = np.flatnonzero(attempt >= 0)
    windows: Records = np.empty(len(kept), dtype=WINDOW)
    windows["attempt"] = attempt[kept]
    windows["offset"] = np.maximum(begin[kept] // 1000 - start[kept], 0)
    for name, source in _USED.items():
        windows[name] = block.numbers(source)[kept]
    return windows
