"""The queue of rank_hybd in order of upward rank: a heap that says where each run stands in it.

Highest rank first if all queued tasks are of one job, lowest first if they are of several (Yu and
Shi, ICPP Workshops 2008); then by trace row and number. With ``rank_by="arrival"`` instead in the
order in which they joined. What a pass has looked at is set aside,
behind the heap in ``x.ranked``, until the pass is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["put_back", "rank_join", "rank_leave", "set_order", "take_first"]


@called
def _get(holder: Any, at: int) -> int:
    return holder[1].ranked[at]


@called
def _put(holder: Any, at: int, i: int) -> None:
    x = holder[1]
    x.ranked[at] = i
    x.runs[i].rank_at = at


@called
def _before(holder: Any, i: int, j: int) -> bool:
    """Does a pass turn to run i before run j?"""
    w, x = holder
    if w.parameters[0].by_arrival:
        return bool(x.runs[i].joined < x.runs[j].joined)
    a, b = x.tasks[x.runs[i].local].task, x.tasks[x.runs[j].local].task
    if a == b:
        return bool(x.runs[i].number < x.runs[j].number)
    if x.dag.ep[0].one_job:
        return bool(w.dags.falling[a] < w.dags.falling[b])
    return bool(w.dags.rising[a] < w.dags.rising[b])


_HEAP = make_heap(_get, _put, _before)
_rise, _sink = _HEAP.rise, _HEAP.sink


@called
def rank_join(w: World, x: View, i: int) -> None:
    """A run joins the queue, while no pass is open."""
    d = x.dag.ep[0]
    _rise((w, x), d.ranked, i)
    d.ranked += 1


@called
def rank_leave(w: World, x: View, i: int) -> None:
    """A run leaves the queue, from the heap or from what a pass has set aside."""
    d, at = x.dag.ep[0], x.runs[i].rank_at
    if at < d.ranked:
        d.ranked -= 1
        last = x.ranked[d.ranked]
        if last != i:
            _rise((w, x), at, last)
            _sink((w, x), x.runs[last].rank_at, d.ranked, last)
        at = d.ranked
    else:
        d.aside -= 1
        _put((w, x), at, x.ranked[d.ranked + d.aside])
        at = -1
    if at >= 0 and d.aside > 0:
        _put((w, x), at, x.ranked[d.ranked + d.aside])
    x.runs[i].rank_at = -1


@called
def take_first(w: World, x: View) -> int:
    """The run that comes first, which is set aside; the heap must not be empty."""
    d, i = x.dag.ep[0], x.ranked[0]
    d.ranked -= 1
    if d.ranked > 0:
        _sink((w, x), 0, d.ranked, x.ranked[d.ranked])
    _put((w, x), d.ranked, i)
    d.aside += 1
    return int(i)


@called
def put_back(w: World, x: View) -> None:
    """The pass is over: what it has set aside and not started is in the heap again."""
    d = x.dag.ep[0]
    while d.aside > 0:
        d.aside -= 1
        d.ranked += 1
        _rise((w, x), d.ranked - 1, x.ranked[d.ranked - 1])


@called
def set_order(w: World, x: View) -> None:
    """Before a pass: order the queue anew where it has come to be of one job, or of several."""
    d, one_job = x.dag.ep[0], x.ep.jobs_queued == 1
    if d.one_job == one_job:
        return
    d.one_job = one_job
    for at in range(d.ranked // 2 - 1, -1, -1):
        _sink((w, x), at, d.ranked, x.ranked[at])
