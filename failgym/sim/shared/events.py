"""The calendar of events, a heap, and their total order; the event log.

Events are ordered by (time, kind, trace row of the task, sequence); the kinds of `records.Event`
are listed in the order in which they win ties. The sequence is the attempt number, or 0 where no
attempt is meant.
"""

from __future__ import annotations

from typing import Any

from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called, kernel

__all__ = ["note", "pop", "push", "sort_key"]

_SEQUENCE_BITS = 24
_TASK_BITS = 32


@kernel
def sort_key(kind: int, task: int, sequence: int) -> int:
    """Pack (kind, trace row of the task, sequence) so that the numbers order as the triples."""
    return (kind << (_TASK_BITS + _SEQUENCE_BITS)) | (task << _SEQUENCE_BITS) | sequence


@kernel
def kind_of(key: int) -> int:
    """The kind in a packed key."""
    return key >> (_TASK_BITS + _SEQUENCE_BITS)


@called
def _get(heap: Any, at: int) -> tuple[int, int, int, int, int]:
    event = heap[at]
    return event.time, event.key, event.local, event.run, event.stamp


@called
def _put(heap: Any, at: int, entry: Any) -> None:
    event = heap[at]
    event.time, event.key, event.local, event.run, event.stamp = entry


@called
def _before(heap: Any, a: Any, b: Any) -> bool:
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1])


_HEAP = make_heap(_get, _put, _before)
_rise, _sink = _HEAP.rise, _HEAP.sink


@kernel
def push(x: Any, time: int, key: int, local: int, run: int, stamp: int) -> None:
    """Add an event."""
    _rise(x.heap, x.ep.events, (time, key, local, run, stamp))
    x.ep.events += 1


@kernel
def pop(x: Any) -> tuple[int, int, int, int, int]:
    """Take the first event: (time, key, local, run, stamp). The heap must not be empty."""
    first = _get(x.heap, 0)
    x.ep.events -= 1
    n = x.ep.events
    if n > 0:
        _sink(x.heap, 0, n, _get(x.heap, n))
    return first


@kernel
def note(x: Any, kind: int, task: int, number: int, detail: int) -> None:
    """Write an entry of the event log at the present time, where a log is kept."""
    ep = x.ep
    if ep.logged < len(x.log):
        entry = x.log[ep.logged]
        entry.time = ep.now
        entry.kind = kind
        entry.task = task
        entry.number = number
        entry.detail = detail
        ep.logged += 1
