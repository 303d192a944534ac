"""Stable storage: k writes at full speed, more of them share it evenly.

The service that every write under way has had so far, V, is an integer in 1/1024 ms. It is worked
out when a write begins, ends or is lost, and only then: between these moments its slope does not
change. A write of c ms that begins at V ends at V + 1024 c. The calendar holds one DURABLE event
for the write that ends next; one that comes up too early is put back.

Products of long times with many writes do not fit into 64 bits: divisions come first, where they
leave no remainder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.shared.events import push, sort_key
from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called
from failgym.vocabulary import NEVER, Event

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["begin_write", "lose_write", "not_durable_before", "storage_event"]

UNIT = 1024
"""Service in a millisecond at full speed."""
_DURABLE = int(Event.DURABLE)
_NUMBER_BITS = 24


@called
def _shared(w: World, x: View) -> bool:
    """Are there more writes than the storage serves at full speed?"""
    streams = w.parameters[0].streams
    return streams > 0 and x.ep.writes > streams


@called
def _served(w: World, x: View) -> int:
    """The service up to now."""
    ep = x.ep
    elapsed = ep.now - ep.service_at
    if ep.writes == 0 or elapsed <= 0:
        return ep.service
    if _shared(w, x):
        unit = UNIT * w.parameters[0].streams
        whole, rest = elapsed // ep.writes, elapsed % ep.writes
        return ep.service + unit * whole + unit * rest // ep.writes
    return ep.service + UNIT * elapsed


@called
def _serve(w: World, x: View) -> None:
    """Bring the service up to now."""
    x.ep.service, x.ep.service_at = _served(w, x), x.ep.now


@called
def not_durable_before(w: World, x: View, i: int) -> int:
    """When the write of a run would end at full speed from now on: it ends no earlier."""
    return x.ep.now + (x.writes[x.runs[i].write].target - _served(w, x)) // UNIT


@called
def _due(w: World, x: View) -> int:
    """When the write that ends next ends."""
    ep = x.ep
    if ep.writes == 0:
        return NEVER
    left = max(x.writes[0].target - ep.service, 0)
    unit, sharing = UNIT, 1
    if _shared(w, x):
        sharing = ep.writes
        unit *= w.parameters[0].streams
    whole, rest = left // unit, left % unit
    return ep.service_at + whole * sharing + (rest * sharing + unit - 1) // unit


@called
def _call(x: View, time: int) -> None:
    """Put the storage's event on the calendar; the one that is there is void."""
    x.ep.write_stamp += 1
    x.ep.write_due = time
    push(x, time, sort_key(_DURABLE, 0, 0), -1, -1, x.ep.write_stamp)


@called
def _date(w: World, x: View) -> None:
    """See to it that the calendar has an event no later than the next end of a write."""
    due = _due(w, x)
    if due < x.ep.write_due:
        _call(x, due)


@called
def _get(x: View, at: int) -> tuple[int, int, int, int]:
    write = x.writes[at]
    return write.target, write.key, write.began, write.run


@called
def _put(x: View, at: int, entry: Any) -> None:
    write = x.writes[at]
    write.target, write.key, write.began, write.run = entry
    x.runs[entry[3]].write = at


@called
def _before(x: View, a: Any, b: Any) -> bool:
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1])


_HEAP = make_heap(_get, _put, _before)
_rise, _sink = _HEAP.rise, _HEAP.sink


@called
def _take_out(x: View, at: int) -> None:
    """Remove a write from the heap."""
    x.runs[x.writes[at].run].write = -1
    x.ep.writes -= 1
    n = x.ep.writes
    if at == n:
        return
    last = _get(x, n)
    _rise(x, at, last)
    _sink(x, x.runs[last[3]].write, n, last)


@called
def begin_write(w: World, x: View, i: int, cost: int) -> None:
    """A run begins to write what takes ``cost`` ms at full speed."""
    _serve(w, x)
    run = x.runs[i]
    target = x.ep.service + UNIT * cost
    key = (x.tasks[run.local].task << _NUMBER_BITS) | run.number
    _rise(x, x.ep.writes, (target, key, x.ep.now, i))
    x.ep.writes += 1
    _date(w, x)


@called
def lose_write(w: World, x: View, i: int) -> None:
    """A run ends or is killed: what it writes, if anything, is lost."""
    if x.runs[i].write < 0:
        return
    _serve(w, x)
    _take_out(x, x.runs[i].write)
    _date(w, x)


@called
def storage_event(w: World, x: View, time: int, stamp: int) -> int:
    """A DURABLE event comes up: the run whose write ends, and the clock moves; -1 if none does.

    Then the event was void, and the clock stays. It may have been put back.
    """
    if stamp != x.ep.write_stamp:
        return -1
    x.ep.write_due = NEVER
    due = _due(w, x)
    if due > time:
        if due < NEVER:
            _call(x, due)
        return -1
    x.ep.now = max(x.ep.now, time)
    _serve(w, x)
    i = x.writes[0].run
    _take_out(x, 0)
    _date(w, x)
    return i
