"""RANK_HYBD: tasks in order of upward rank, each on the machine where it would finish first.

Z. Yu, W. Shi: A planner-guided scheduling strategy for multiple workflow applications. ICPP
Workshops 2008. With `ScheduledRules.place` every placement is a decision (FLAW): a machine may be
passed over, and a task for which none is left is held until the next pass.

A pass is resumable: what it has turned to is set aside from the queue until it is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.attempts import start
from failgym.sim.scheduled.cluster.ranking import put_back, set_order, take_first
from failgym.sim.scheduled.workflow.dags import compute_time, inputs_reachable, transfer_time
from failgym.sim.shared.jit import called
from failgym.vocabulary import Action, Decision

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["answer_dispatch", "fails", "offer_after", "place_held", "predicted", "rank_pass"]

_DISPATCH = int(Decision.DISPATCH)
_CONTINUE, _RETRY = int(Action.CONTINUE), int(Action.RETRY)
NO_OFFER = -1


# --- Offers ---------------------------------------------------------------------------------------


@called
def _candidates(w: World, x: View, i: int) -> bool:
    """Work out when a run would finish on each machine that could start it now; False if none."""
    local = x.runs[i].local
    if not inputs_reachable(w, x, local):
        return False
    task, leaves, offers = x.tasks[local].task, len(x.tree) >> 1, 0
    width = max(x.runs[i].width, 1)  # a machine that is down has 0 in the tree
    for machine in range(len(w.machines)):
        x.dag.finish[machine] = -1
        if x.tree[leaves + machine] >= width:
            time = transfer_time(w, x, local, machine) + compute_time(w, task, machine)
            x.dag.finish[machine] = x.ep.now + time
            offers += 1
    x.dag.ep[0].offers = offers
    return offers > 0


@called
def next_offer(x: View, finish: int, machine: int) -> int:
    """The candidate that comes after another one in order of (finish time, machine), else -1."""
    best = NO_OFFER
    for m in range(len(x.dag.finish)):
        at = x.dag.finish[m]
        if at < finish or (at == finish and m <= machine):
            continue
        if best < 0 or at < x.dag.finish[best]:
            best = m
    return best


@called
def offer_after(x: View) -> int:
    """The candidate that comes after the machine on offer, else -1."""
    if x.dag.ep[0].offers <= x.ep.offers + 1:
        return NO_OFFER
    return next_offer(x, x.dag.finish[x.ep.offered], x.ep.offered)


@called
def _first_offer(x: View) -> int:
    """The candidate where the run would finish first."""
    return next_offer(x, 0, -1)


@called
def _up_to(times: Any, begin: int, end: int, time: int) -> int:
    """How many of an ascending stretch of times are at most ``time``."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if times[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low - begin


@called
def predicted(w: World, x: View, machine: int, until: int) -> bool:
    """Is a machine predicted to fail after now, and no later than ``until``?"""
    begin, end = w.node_offset[machine], w.node_offset[machine + 1]
    return _up_to(w.node_time, begin, end, until) > _up_to(w.node_time, begin, end, x.ep.now)


@called
def fails(w: World, x: View, machine: int, until: int) -> bool:
    """Does a machine fail after now, and no later than ``until``?"""
    at = w.machines[machine].outage_at
    end = at + w.machines[machine].outages
    while at < end and w.outages[at].down <= x.ep.now:
        at += 1
    return at < end and w.outages[at].down <= until


@called
def _note_queries(w: World, x: View, i: int, last: int) -> None:
    """Note down what a predictor was asked about a run, the last machine offered included."""
    finish, machine = 0, -1
    asked = True
    while len(x.queries) > x.ep.queries:
        machine = next_offer(x, finish, machine)
        if machine < 0:
            return
        finish = x.dag.finish[machine]
        query = x.queries[x.ep.queries]
        x.ep.queries += 1
        query.event, query.job = x.dag.ep[0].number, x.tasks[x.runs[i].local].task
        query.machine, query.asked = machine, asked
        query.answered = predicted(w, x, machine, finish)
        query.fails = fails(w, x, machine, finish)
        if machine == last:
            asked = False


@called
def _offer(w: World, x: View, i: int, machine: int) -> None:
    """Ask whether a run shall be placed on a machine."""
    ep = x.ep
    ep.decision, ep.local, ep.run = _DISPATCH, x.runs[i].local, i
    ep.mask = (1 << _CONTINUE) | (1 << _RETRY)
    ep.taken, ep.retried, ep.offered = 0, False, machine
    if ep.offers == 0:
        ep.decisions += 1
        x.tasks[ep.local].decisions += 1


# --- The pass -------------------------------------------------------------------------------------


@called
def _place(w: World, x: View, i: int, machine: int) -> None:
    """Start a run, compiled once."""
    start(w, x, i, machine)


@called
def _go_on(w: World, x: View) -> bool:
    """Turn to the runs that are left, up to a decision; False at the end of the pass."""
    while x.dag.ep[0].ranked > 0 and x.ep.free > 0:
        i = take_first(x)
        if not _candidates(w, x, i):
            continue
        machine = _first_offer(x)
        if w.parameters[0].place and x.tasks[x.runs[i].local].asked and not x.runs[i].recomputes:
            x.ep.offers = 0
            _offer(w, x, i, machine)
            return True
        _place(w, x, i, machine)
    put_back(x)
    return False


@called
def rank_pass(w: World, x: View) -> bool:
    """Begin a pass of the scheduler; True if a DISPATCH decision is open."""
    if x.ep.queued == 0:
        return False
    x.dag.ep[0].number = x.ep.passes
    x.ep.passes += 1
    if x.ep.free == 0:
        return False
    set_order(w, x)
    return _go_on(w, x)


@called
def answer_dispatch(w: World, x: View, action: int) -> bool:
    """Answer the open DISPATCH decision and go on with the pass; True if another one is open."""
    i, machine = x.ep.run, x.ep.offered
    if action == _RETRY:
        other = offer_after(x)
        x.ep.offers += 1
        if other >= 0:
            _offer(w, x, i, other)
            return True
    _note_queries(w, x, i, machine)
    if action != _RETRY:
        _place(w, x, i, machine)
    x.ep.offered = NO_OFFER
    return _go_on(w, x)


@called
def place_held(w: World, x: View) -> bool:
    """Nothing else can happen: place the first run that can be placed; False if none can.

    In the order of the last pass, which held it.
    """
    if x.ep.queued == 0 or x.ep.free == 0:
        return False
    placed = False
    while not placed and x.dag.ep[0].ranked > 0:
        i = take_first(x)
        if _candidates(w, x, i):
            _place(w, x, i, _first_offer(x))
            placed = True
    put_back(x)
    return placed
