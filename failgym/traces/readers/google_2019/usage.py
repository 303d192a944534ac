"""Google's instance usage of 2019: what attempts used, in windows of up to five minutes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2011.lookup import at_or_before
from failgym.traces.readers.google_2019.table import Table
from failgym.traces.readers.google_2019.tasks import Life

__all__ = ["UNKNOWN_ATTEMPT", "windows_table"]

Ints = npt.NDArray[np.int64]

UNKNOWN_ATTEMPT = "usage of no known attempt"
"""Why a record is dropped."""
USED = {
    "cpu": "average_usage.cpus",
    "memory": "average_usage.memory",
    "max_memory": "maximum_usage.memory",
}
"""Columns of the windows table, and of the source."""


def windows_table(usage: Table, life: Life, count: Counts) -> dict[str, Any]:
    """The windows table: each record belongs to the attempt that ran at its middle.

    Args:
        usage: the records.
        life: of the instances, all attempts of which are known.
        count: records of no known attempt, and impossible ones, are dropped and counted.
    """
    begin, end = usage.ints("start_time"), usage.ints("end_time")
    count.drop("usage that ends before it begins", int((end < begin).sum()))
    usage.keep(end >= begin)
    begin, end = usage.ints("start_time"), usage.ints("end_time")
    attempt, start = _attempts(usage, life, (begin + (end - begin) // 2) // 1000)
    kept = np.flatnonzero(attempt >= 0)
    count.drop(UNKNOWN_ATTEMPT, usage.rows - len(kept))
    return {
        "attempt": attempt[kept],
        "offset": np.maximum(begin[kept] // 1000 - start[kept], 0),
        **{name: usage.floats(of)[kept].astype(np.float32) for name, of in USED.items()},
    }


def _attempts(usage: Table, life: Life, time: Ints) -> tuple[Ints, Ints]:
    """Row (-1: none) and start [ms] of the attempt of each record's instance at a time [ms]."""
    nobody = np.full(len(time), -1, dtype=np.int64)
    ran = np.flatnonzero(life.attempts["start"] >= 0)
    if not len(ran):
        return nobody, nobody
    first = life.tasks["first"][life.attempts["task"][ran]]
    job, index = (life.events.ints(name)[first] for name in ("collection_id", "instance_index"))
    start, end = (life.attempts[name][ran] // 1000 for name in ("start", "end"))
    order = np.lexsort((ran, start, index, job))
    job, index, start, end, ran = (of[order] for of in (job, index, start, end, ran))
    wanted = usage.ints("collection_id"), usage.ints("instance_index")
    row = at_or_before(job, index, start, *wanted, time)
    found = np.maximum(row, 0)
    same = (row >= 0) & (job[found] == wanted[0]) & (index[found] == wanted[1])
    return np.where(same & (end[found] >= time), ran[found], nobody), start[found]
