"""The event heap and the total order of events.

Events are ordered by (time, kind, trace row of the task, sequence); the kinds of `records.Event`
are listed in the order in which they win ties. The sequence is the attempt number, or 0 where no
attempt is meant.
"""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

from failgym.sim.jit import kernel

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


@kernel
def _before(a: Any, b: Any) -> bool:
    return a.time < b.time or (a.time == b.time and a.key < b.key)


@kernel
def _move(heap: Any, to: int, source: int) -> None:
    heap[to].time = heap[source].time
    heap[to].key = heap[source].key
    heap[to].local = heap[source].local
    heap[to].run = heap[source].run
    heap[to].stamp = heap[source].stamp


@kernel
def push(ep: Any, heap: Any, time: int, key: int, local: int, run: int, stamp: int) -> None:
    """Add an event."""
    i = ep.events
    ep.events += 1
    while i > 0:
        parent = (i - 1) >> 1
        up = heap[parent]
        if up.time < time or (up.time == time and up.key <= key):
            break
        _move(heap, i, parent)
        i = parent
    slot = heap[i]
    slot.time = time
    slot.key = key
    slot.local = local
    slot.run = run
    slot.stamp = stamp


@kernel
def pop(ep: Any, heap: Any) -> tuple[int, int, int, int, int]:
    """Take the first event: (time, key, local, run, stamp). The heap must not be empty."""
    top = heap[0]
    first = (top.time, top.key, top.local, top.run, top.stamp)
    ep.events -= 1
    n = ep.events
    if n == 0:
        return first
    last = heap[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and _before(heap[child + 1], heap[child]):
            child += 1
        if not _before(heap[child], last):
            break
        _move(heap, i, child)
        i = child
    _move(heap, i, n)
    return first


@kernel
def note(ep: Any, log: Any, kind: int, task: int, number: int, detail: int) -> None:
    """Write an entry of the event log at the present time, where a log is kept."""
    if ep.logged < len(log):
        entry = log[ep.logged]
        entry.time = ep.now
        entry.kind = kind
        entry.task = task
        entry.number = number
        entry.detail = detail
        ep.logged += 1
