"""The usage group of the observation, worked out once for every monitoring window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.sim.shared.fields import FIELDS, columns_of, group_of
from failgym.traces import Trace

__all__ = ["USAGE_FIELDS", "Usage", "usage_of"]

_NAMES = [FIELDS[i].name for i in group_of("usage")]
USAGE_FIELDS = len(_NAMES)

Floats = npt.NDArray[np.float64]


class Usage(NamedTuple):
    """The usage windows of a trace, by attempt and offset."""

    attempt: npt.NDArray[np.int64]
    """[windows] ascending"""
    known: npt.NDArray[np.int64]
    """[windows] time after the start of the attempt at which the window is over [ms]"""
    fields: npt.NDArray[np.float32]
    """[windows, USAGE_FIELDS] what the windows of the attempt up to and with this one tell"""


def usage_of(trace: Trace, window: int) -> Usage:
    """Work out the usage group of every window.

    A window lasts as long as usage is sampled for, ``window`` [ms] where the trace does not say.
    """
    attempt, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
    order = np.lexsort((offset, attempt))
    attempt, offset = attempt[order], offset[order]
    if not len(attempt):
        return Usage(attempt, offset, np.zeros((1, USAGE_FIELDS), dtype=np.float32))
    known = offset + (trace.sampling_window or window)
    return Usage(attempt, known, _fields(trace, attempt, order))


def _fields(
    trace: Trace, attempt: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """`Usage.fields`, from the rows of the windows table in that order."""
    names = ("cpu", "memory", "local_io", "remote_io", "network", "max_memory")
    cpu, memory, local_io, remote_io, network, peak = (
        np.asarray(trace.column("windows", name, missing=0)[order], dtype=np.float64)
        for name in names
    )
    task = trace.column("attempts", "task")[attempt]
    mean, mean_memory, spread, trend, largest = _running(
        attempt, cpu, memory, np.maximum(peak, memory)
    )
    requested = {
        name: np.asarray(trace.column("tasks", name, missing=0))[task] for name in ("cpu", "memory")
    }
    columns = {
        "cpu": cpu,
        "memory": memory,
        "local_io": local_io,
        "remote_io": remote_io,
        "network": network,
        "mean_cpu": mean,
        "mean_memory": mean_memory,
        "cpu_variation": _share(spread, mean),
        "memory_trend": trend,
        "max_memory": largest,
        "memory_ratio": _share(largest, requested["memory"]),
        "cpu_ratio": _share(cpu, requested["cpu"]),
    }
    return columns_of(_NAMES, columns)


@njit(cache=True)
def _running(
    attempt: npt.NDArray[np.int64], cpu: Floats, memory: Floats, peak: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Of the windows of each attempt so far: mean cpu, mean memory, deviation of cpu, trend, peak.

    The deviation is Welford's, so that a constant use has none.
    """
    n = len(attempt)
    mean, mean_memory, spread = np.empty(n), np.empty(n), np.empty(n)
    trend, largest = np.empty(n), np.empty(n)
    first, average, squares, total = 0, 0.0, 0.0, 0.0
    for i in range(n):
        if i == 0 or attempt[i] != attempt[i - 1]:
            first, average, squares, total = i, 0.0, 0.0, 0.0
        count = i - first + 1
        delta = cpu[i] - average
        average += delta / count
        squares += delta * (cpu[i] - average)
        total += memory[i]
        mean[i], mean_memory[i], spread[i] = average, total / count, np.sqrt(squares / count)
        trend[i] = memory[i] - memory[first]
        largest[i] = peak[i] if count == 1 else max(largest[i - 1], peak[i])
    return mean, mean_memory, spread, trend, largest


def _share(over: Floats, under: Floats) -> Floats:
    """``over / under``, 0 where ``under`` is 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
