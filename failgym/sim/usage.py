"""The usage group of the observation, worked out once for every monitoring window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.fields import FIELDS
from failgym.traces import Trace

__all__ = ["USAGE_FIELDS", "usage_table"]

USAGE_FIELDS = sum(field.group == "usage" for field in FIELDS)

Floats = npt.NDArray[np.float64]


def usage_table(trace: Trace) -> npt.NDArray[np.float32]:
    """[windows, USAGE_FIELDS] what the windows of an attempt up to and with each row tell."""
    attempt = trace.column("windows", "attempt")
    if not len(attempt):
        return np.zeros((1, USAGE_FIELDS), dtype=np.float32)
    names = ("cpu", "memory", "local_io", "remote_io", "network", "max_memory")
    cpu, memory, local_io, remote_io, network, peak = (
        np.asarray(trace.column("windows", name, missing=0), dtype=np.float64) for name in names
    )
    opens = np.append(True, attempt[1:] != attempt[:-1])
    first = np.flatnonzero(opens)[np.cumsum(opens) - 1]
    count = np.arange(len(attempt)) - first + 1.0
    task = trace.column("attempts", "task")[attempt]
    mean = _running_sum(cpu, first) / count
    spread = np.sqrt(np.maximum(_running_sum(cpu**2, first) / count - mean**2, 0.0))
    largest = _running_maximum(np.maximum(peak, memory), first)
    columns = [
        *(cpu, memory, local_io, remote_io, network, mean),
        _running_sum(memory, first) / count,
        _share(spread, mean),
        memory - memory[first],
        largest,
        _share(largest, np.asarray(trace.column("tasks", "memory", missing=0))[task]),
        _share(cpu, np.asarray(trace.column("tasks", "cpu", missing=0))[task]),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _running_sum(values: Floats, first: npt.NDArray[np.int64]) -> Floats:
    total = np.cumsum(values)
    return total - (total - values)[first]


def _running_maximum(values: Floats, first: npt.NDArray[np.int64]) -> Floats:
    """Largest value since the first row of each group, by adding a rising step per group."""
    step = (np.cumsum(np.arange(len(values)) == first) - 1) * (values.max() - values.min() + 1.0)
    return np.maximum.accumulate(values + step) - step


def _share(over: Floats, under: Floats) -> Floats:
    """``over / under``, 0 where ``under`` is 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
