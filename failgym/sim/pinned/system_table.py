"""The load of the whole system over time: a row for each bin in which it changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.context import HOUR_BINS, SYSTEM_BIN, SYSTEM_TABLE
from failgym.sim.shared.fields import columns_of
from failgym.traces import Trace
from failgym.vocabulary import Outcome

__all__ = ["SystemTable", "row_index", "system_table", "time_index"]

Ints = npt.NDArray[np.int64]

INDEXED = 4
"""Parts of the time between the first row and the last, per row, that `row_index` looks up."""


class SystemTable(NamedTuple):
    """The system group of the observation; its size follows the events, not the time they span."""

    bins: Ints
    """[rows] bin from which on each row holds, until the next one does; ascending from 0"""
    values: npt.NDArray[np.float32]
    """[rows, SYSTEM_FIELDS]"""


class _Counts:
    """Events of one kind, to be counted by the bins before whose start they happen."""

    def __init__(self, times: Ints) -> None:
        self.bins, count = np.unique(times // SYSTEM_BIN + 1, return_counts=True)
        self._upto = np.append(0, np.cumsum(count))

    def before(self, bins: Ints) -> Ints:
        """Events strictly before the start of each bin."""
        return self._upto[np.searchsorted(self.bins, bins, side="right")]

    def hourly(self, bins: Ints, back: int = 0) -> Ints:
        """Events of the hour that ends ``back`` hours before each bin."""
        late = bins - HOUR_BINS * back
        return self.before(late) - self.before(late - HOUR_BINS)


def system_table(trace: Trace) -> SystemTable:
    """The system group over time, from the whole record; each row knows what came before its bin.

    The last row holds for ever.
    """
    start = trace.column("attempts", "start", missing=-1)
    end = trace.column("attempts", "end", missing=-1)
    queued = trace.column("attempts", "queued", missing=-1)
    queued = np.where(queued < 0, np.maximum(start, 0), queued)
    outcome = trace.column("attempts", "outcome")
    known = outcome != Outcome.CENSORED
    left_queue = np.where(start >= 0, start, end)
    started, ended = _Counts(start[start >= 0]), _Counts(end[(start >= 0) & known])
    arrived, left = _Counts(queued), _Counts(left_queue[left_queue >= 0])
    finished, failed = (_Counts(end[outcome == x]) for x in (Outcome.FINISH, Outcome.FAIL))
    last = int(max(end.max(initial=0), queued.max(initial=0))) // SYSTEM_BIN + 1
    bins = _changes([started, left], [failed, ended], [arrived, finished], last)

    running = started.before(bins) - ended.before(bins)
    waiting = arrived.before(bins) - left.before(bins)
    arrival = [np.log2(1.0 + arrived.hourly(bins, back)) for back in (0, 1)]
    throughput = [np.log2(1.0 + finished.hourly(bins, back)) for back in (0, 1)]
    rate = failed.hourly(bins) / np.maximum(ended.hourly(bins), 1)
    columns = {
        "running": np.log2(1.0 + np.maximum(running, 0)),
        "waiting": np.log2(1.0 + np.maximum(waiting, 0)),
        "free": np.zeros(len(bins)),
        "arrival_rate": arrival[0],
        "throughput": throughput[0],
        "arrival_change": arrival[0] - arrival[1],
        "throughput_change": throughput[0] - throughput[1],
        "failure_rate": rate,
    }
    return SystemTable(bins, columns_of(SYSTEM_TABLE, columns))


def _changes(now: list[_Counts], hour: list[_Counts], two: list[_Counts], last: int) -> Ints:
    """Bins from 0 to the last in which a row differs from the one before.

    Args:
        now: events that the rows behind them know.
        hour: those that rows of the hour behind them know besides.
        two: those that rows of two hours know.
        last: the last bin that has a row.
    """
    reach = [(now, 0), (hour, 1), (two, 2)]
    bins = [
        x.bins + HOUR_BINS * k for kinds, hours in reach for x in kinds for k in range(hours + 1)
    ]
    found = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *bins]))
    return found[found <= last]


def row_index(bins: Ints) -> npt.NDArray[np.int32]:
    """Where to look for the row of a bin, in a time that does not grow where rows are dense.

    The bins from 0 to the last are cut into equal parts, of one bin each where there are rows
    enough: bin b falls into part ``b * parts // (last + 1)``. Entry i is the row that holds in the
    first bin of part i, [parts + 1].
    """
    return (np.searchsorted(bins, _first_bins(bins), side="right") - 1).astype(np.int32)


def time_index(times: Ints) -> npt.NDArray[np.int32]:
    """The same for ascending times: entry i is how many lie before part i, [parts + 1]."""
    if not len(times):
        return np.zeros(0, dtype=np.int32)
    first = _first_bins(np.maximum(times // SYSTEM_BIN, 0))
    return np.searchsorted(times, first * SYSTEM_BIN).astype(np.int32)


def _first_bins(bins: Ints) -> Ints:
    """The bins with which the equal parts begin, and the one past the last of them."""
    span = int(bins[-1]) + 1
    parts = min(span, INDEXED * len(bins))
    return -(np.arange(parts + 1) * -span // parts)
