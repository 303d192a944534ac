"""The queue of rank_hybd in order of upward rank: a heap that says where each run stands in it.

Highest rank first if all queued tasks are of one job, lowest first if they are of several (Yu and
Shi, ICPP Workshops 2008); then by trace row and number. With ``rank_by="arrival"`` instead in the
order in which they joined. What a pass has looked at is set aside,
behind the heap in ``x.ranked``, until the pass is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["put_back", "rank_join", "rank_leave", "run_of", "set_order", "take_first"]

_RUN_BITS = 32
_RUN = (1 << _RUN_BITS) - 1
"""An entry of the heap: what a run is ordered by, above the index of the run."""


@called
def run_of(entry: int) -> int:
    """The run of an entry."""
    return entry & _RUN


@called
def _entry_of(w: World, x: View, i: int) -> int:
    """The entry of a run in the order of now; runs of one task have the same place in it."""
    if w.parameters[0].by_arrival:
        return (x.runs[i].joined << _RUN_BITS) | i
    row = x.tasks[x.runs[i].local].task
    place = w.dags.falling[row] if x.dag.ep[0].one_job else w.dags.rising[row]
    return int((place << _RUN_BITS) | i)


@called
def _get(x: View, at: int) -> int:
    return x.ranked[at]


@called
def _put(x: View, at: int, entry: int) -> None:
    x.ranked[at] = entry
    x.runs[run_of(entry)].rank_at = at


@called
def _before(x: View, a: int, b: int) -> bool:
    """Does a pass turn to the run of entry a before that of entry b?"""
    if a >> _RUN_BITS == b >> _RUN_BITS:
        return bool(x.runs[run_of(a)].number < x.runs[run_of(b)].number)
    return a < b


_HEAP = make_heap(_get, _put, _before)
_rise, _sink = _HEAP.rise, _HEAP.sink


@called
def rank_join(w: World, x: View, i: int) -> None:
    """A run joins the queue, while no pass is open."""
    d = x.dag.ep[0]
    _rise(x, d.ranked, _entry_of(w, x, i))
    d.ranked += 1


@called
def rank_leave(x: View, i: int) -> None:
    """A run leaves the queue, from the heap or from what a pass has set aside."""
    d, at = x.dag.ep[0], x.runs[i].rank_at
    if at < d.ranked:
        d.ranked -= 1
        last = x.ranked[d.ranked]
        if run_of(last) != i:
            _rise(x, at, last)
            _sink(x, x.runs[run_of(last)].rank_at, d.ranked, last)
        at = d.ranked
    else:
        d.aside -= 1
        _put(x, at, x.ranked[d.ranked + d.aside])
        at = -1
    if at >= 0 and d.aside > 0:
        _put(x, at, x.ranked[d.ranked + d.aside])
    x.runs[i].rank_at = -1


@called
def take_first(x: View) -> int:
    """The run that comes first, which is set aside; the heap must not be empty."""
    d, entry = x.dag.ep[0], x.ranked[0]
    d.ranked -= 1
    if d.ranked > 0:
        _sink(x, 0, d.ranked, x.ranked[d.ranked])
    _put(x, d.ranked, entry)
    d.aside += 1
    return int(run_of(entry))


@called
def put_back(x: View) -> None:
    """The pass is over: what it has set aside and not started is in the heap again."""
    d = x.dag.ep[0]
    while d.aside > 0:
        d.aside -= 1
        d.ranked += 1
        _rise(x, d.ranked - 1, x.ranked[d.ranked - 1])


@called
def set_order(w: World, x: View) -> None:
    """Before a pass: order the queue anew where it has come to be of one job, or of several."""
    d, one_job = x.dag.ep[0], x.ep.jobs_queued == 1
    if d.one_job == one_job:
        return
    d.one_job = one_job
    for at in range(d.ranked):
        x.ranked[at] = _entry_of(w, x, run_of(x.ranked[at]))
    for at in range(d.ranked // 2 - 1, -1, -1):
        _sink(x, at, d.ranked, x.ranked[at])
