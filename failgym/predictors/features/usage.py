"""What the sampling windows of an attempt tell by a given moment.

Of each resource: its use in the last window, and over the windows so far the mean, the largest, the
deviation, the trend and the change. A window counts once its span is over, so that features at time
t are the same whatever the trace says of later times.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.traces.trace import Trace

__all__ = ["RESOURCES", "USAGE", "Usage", "known_windows", "usage_features"]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

RESOURCES = ("cpu", "memory", "local_io", "remote_io", "network", "max_memory")
"""The columns of the table of windows."""
_STATISTICS = ("last", "mean", "largest", "deviation", "trend", "change")
_REQUESTED = ("cpu", "memory")
USAGE = (
    *(f"{resource}: {statistic}" for resource in RESOURCES for statistic in _STATISTICS),
    *(f"{resource}: largest over request" for resource in _REQUESTED),
    "windows",
)
"""The names of the features, in order.

Of the windows known: `last` is the use in the last one, `mean` and `deviation` those of the use
(each window counts once, however long until the next that was kept), `largest` its maximum, `trend`
what the last has over the first, `change` over the one before. `largest over request` compares the
largest mean use of the processor, and the largest maximum of memory, with what the task requested.
`windows` is how many there are. NaN is what is not known: before the first window, and where the
trace has no such column or value.
"""


class Usage:
    """The windows of a trace, put in order once and then read at moments.

    Args:
        trace: the trace.
        window: how long usage is sampled for where the trace does not say [ms].

    Attributes:
        first: [attempts + 1] place of the first window of each attempt.
        over: [windows] age of the attempt when the window's span is over [ms].
    """

    def __init__(self, trace: Trace, window: int) -> None:
        self._trace = trace
        holder, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
        self._order = np.lexsort((offset, holder))
        self._holder = holder[self._order]
        self.first: Integers = np.searchsorted(self._holder, np.arange(trace.rows("attempts") + 1))
        self._start = trace.column("attempts", "start")
        ran = (trace.column("attempts", "end") - self._start)[self._holder]
        # a span ends with its attempt, if that comes earlier
        self.over: Integers = np.minimum(
            offset[self._order] + (trace.sampling_window or window), ran
        )
        self._measured = [bool(trace.present("windows", resource).any()) for resource in RESOURCES]

    def known(self, attempt: Integers, time: Integers) -> Integers:
        """See `known_windows`."""
        last = self._last_known(attempt, time)
        return np.where(last >= 0, last - self.first[attempt] + 1, 0)

    def features(self, attempt: Integers, time: Integers, out: Floats32 | None = None) -> Floats32:
        """See `usage_features`; ``out`` is written to where it is given."""
        wanted = (len(attempt), len(USAGE))
        features = np.empty(wanted, dtype=np.float32) if out is None else out
        features[:] = np.nan
        last = self._last_known(attempt, time)
        seen = np.flatnonzero(last >= 0)
        if len(seen):
            # only the windows of these attempts: rows that come in parts are read in parts
            low = int(self.first[attempt[seen].min()])
            high = int(self.first[attempt[seen].max() + 1])
            self._resources(features, seen, last[seen] - low, slice(low, high))
        requests = len(RESOURCES) * len(_STATISTICS)
        for number, resource in enumerate(_REQUESTED):
            over = _over_request(self._trace, features, attempt, resource)
            features[:, requests + number] = over
        features[:, -1] = np.where(last >= 0, last - self.first[attempt] + 1, 0)
        return features

    def _resources(
        self, features: Floats32, rows: Integers, here: Integers, windows: slice
    ) -> None:
        """Write the statistics of the resources in some rows, which know windows of a range."""
        holder, order = self._holder[windows], self._order[windows]
        for number, resource in enumerate(RESOURCES):
            if self._measured[number]:
                values = self._trace.column("windows", resource)[order].astype(np.float64)
                at = number * len(_STATISTICS)
                features[rows, at : at + len(_STATISTICS)] = _running(holder, values)[here]

    def _last_known(self, attempt: Integers, time: Integers) -> Integers:
        """Place in order of the last window whose span is over, -1 where there is none, [rows]."""
        return _search(self.first, self.over, attempt, time - self._start[attempt])


def usage_features(
    trace: Trace, attempt: Integers, time: Integers, window: int
) -> tuple[Floats32, tuple[str, ...]]:
    """The usage of attempts as known at given moments.

    Args:
        trace: the trace.
        attempt: [rows] rows of attempts.
        time: [rows] moments on the trace's clock [ms].
        window: how long usage is sampled for where the trace does not say [ms].

    Returns:
        float32 [rows, features], and the names of the features, `USAGE`.
    """
    return Usage(trace, window).features(attempt, time), USAGE


def known_windows(trace: Trace, attempt: Integers, time: Integers, window: int) -> Integers:
    """How many windows of the attempts are known at the moments, int64 [rows].

    Between two moments of an attempt with the same number, all `usage_features` are the same.
    """
    return Usage(trace, window).known(attempt, time)


@njit(cache=True)
def _search(first: Integers, over: Integers, attempt: Integers, age: Integers) -> Integers:
    """The last place of each attempt with ``over <= age``, -1 without one; `over` ascends in it."""
    last = np.full(len(attempt), -1, dtype=np.int64)
    for row in range(len(attempt)):
        low, high = first[attempt[row]], first[attempt[row] + 1]
        begin = low
        while low < high:
            middle = (low + high) // 2
            if over[middle] <= age[row]:
                low = middle + 1
            else:
                high = middle
        if low > begin:
            last[row] = low - 1
    return last


@njit(cache=True)
def _running(holder: Integers, values: Floats) -> Floats32:
    """The statistics of one resource up to and with each window, [windows, statistics].

    Windows without a value are passed over: the last value stands. The deviation is Welford's, so
    that a constant use has none.
    """
    result = np.full((len(values), len(_STATISTICS)), np.nan, dtype=np.float32)
    count, first, last, mean, squares, largest, change = 0, 0.0, 0.0, 0.0, 0.0, 0.0, np.nan
    for i in range(len(values)):
        if i == 0 or holder[i] != holder[i - 1]:
            count, mean, squares, change = 0, 0.0, 0.0, np.nan
        value = values[i]
        if not np.isnan(value):
            count += 1
            if count == 1:
                first, largest = value, value
            else:
                change = value - last
            last, largest = value, max(largest, value)
            delta = value - mean
            mean += delta / count
            squares += delta * (value - mean)
        if count > 0:
            result[i, 0], result[i, 1], result[i, 2] = last, mean, largest
            result[i, 3], result[i, 4] = np.sqrt(squares / count), last - first
            result[i, 5] = change
    return result


def _over_request(
    trace: Trace, features: Floats32, attempt: Integers, resource: str
) -> npt.NDArray[np.float64]:
    """The largest use over the task's request; NaN where either is not known, or none requested."""
    requested = np.asarray(trace.column("tasks", resource), dtype=np.float64)
    requested = requested[trace.column("attempts", "task")[attempt]]
    largest = features[:, USAGE.index(f"{resource}: largest")].astype(np.float64)
    if resource == "memory":  # the maximum in a window, where the trace has it
        largest = np.fmax(largest, features[:, USAGE.index("max_memory: largest")])
    known = requested > 0
    return np.divide(largest, requested, out=np.full(len(largest), np.nan), where=known)
