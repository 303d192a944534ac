"""The attempts that hold slots, in order of their estimated ends, as EASY backfilling reads them.

The order is kept as attempts start and stop. An estimate that time has overtaken stands first and
is raised when the order is read (`refresh`): between two readings nobody asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.queue.estimates import EASY, expected_end
from failgym.sim.shared.jit import called

if TYPE_CHECKING:  # records.py imports estimates.py
    from failgym.sim.scheduled.records import View, World

__all__ = ["refresh", "started", "stopped"]

_NUMBER_BITS = 24


@called
def _move(live: Any, to: int, source: int) -> None:
    live[to].expected = live[source].expected
    live[to].key = live[source].key
    live[to].slots = live[source].slots
    live[to].run = live[source].run


@called
def _set(x: View, at: int, key: int, slots: int, i: int) -> None:
    """Write an entry, and what it is ordered by into its run."""
    entry = x.live[at]
    entry.expected, entry.key, entry.slots, entry.run = x.runs[i].expected, key, slots, i


@called
def _before(entry: Any, expected: int, key: int) -> bool:
    return entry.expected < expected or (entry.expected == expected and entry.key < key)


@called
def _key(x: View, i: int) -> int:
    """(trace row of the task, number) in one."""
    run = x.runs[i]
    return (x.tasks[run.local].task << _NUMBER_BITS) | run.number


@called
def started(w: World, x: View, i: int) -> None:
    """A run has taken its slots."""
    if w.parameters[0].scheduler != EASY:
        return
    live, run = x.live, x.runs[i]
    run.expected = expected_end(w, x, i)
    key, at = _key(x, i), x.history.lives[0]
    while at > 0 and not _before(live[at - 1], run.expected, key):
        _move(live, at, at - 1)
        at -= 1
    _set(x, at, key, run.width, i)
    x.history.lives[0] += 1


@called
def stopped(w: World, x: View, i: int) -> None:
    """A run has given its slots back."""
    if w.parameters[0].scheduler != EASY:
        return
    live = x.live
    expected, key = x.runs[i].expected, _key(x, i)
    low, high = 0, x.history.lives[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if _before(live[middle], expected, key):
            low = middle + 1
        else:
            high = middle
    x.history.lives[0] -= 1
    for at in range(low, x.history.lives[0]):
        _move(live, at, at + 1)


@called
def refresh(w: World, x: View) -> None:
    """Raise the estimates that time has overtaken."""
    live, n = x.live, x.history.lives[0]
    while n > 0 and live[0].expected <= x.ep.now:
        i, key, slots = live[0].run, live[0].key, live[0].slots
        expected = expected_end(w, x, i)
        x.runs[i].expected = expected
        at = 0
        while at + 1 < n and _before(live[at + 1], expected, key):
            _move(live, at, at + 1)
            at += 1
        _set(x, at, key, slots, i)
