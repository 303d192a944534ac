"""The scheduler's pass over the queue: first come, first served; by priority; or another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.attempts import start, stop, vacate
from failgym.sim.scheduled.cluster.machines import GANG, NOWHERE, count_room, first_fit, slots_on
from failgym.sim.scheduled.cluster.placing import rank_pass
from failgym.sim.scheduled.queue.backfill import backfill_pass
from failgym.sim.scheduled.queue.queues import first, following
from failgym.sim.scheduled.rules import SCHEDULERS
from failgym.sim.scheduled.settlement import requeue, settle_if_over
from failgym.sim.scheduled.workflow.dags import inputs_reachable
from failgym.sim.shared.jit import called
from failgym.vocabulary import Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["run_pass"]

_EASY, _RANK = SCHEDULERS.index("easy_backfill"), SCHEDULERS.index("rank_hybd")
_EVICT = int(Outcome.EVICT)


@called
def _spare(x: View, n: int, m: int, surplus: int) -> int:
    """Of the ``n`` runs in ``x.picked`` leave out, from the last backwards, who need not go.

    Args:
        m: the machine that they make room on, or `machines.GANG`.
        surplus: slots that would be free beyond those needed there, were all of them gone.

    Returns:
        How many are left.
    """
    for k in range(n - 1, -1, -1):
        slots = slots_on(x, x.picked[k], m)
        if slots <= surplus:
            surplus -= slots
            x.picked[k] = -1
    left = 0
    for k in range(n):
        if x.picked[k] >= 0:
            x.picked[left] = x.picked[k]
            left += 1
    return left


@called
def _victims_anywhere(x: View, i: int) -> int:
    """List in ``x.picked`` who has to go to make room for a gang; how many, 0 if none can."""
    surplus, n = x.ep.free - x.runs[i].width, 0
    for level in range(x.runs[i].level):
        at = x.levels[level]
        while at >= 0:
            x.picked[n] = at
            n += 1
            surplus += x.runs[at].width
            if surplus >= 0:
                return _spare(x, n, GANG, surplus)
            at = x.runs[at].level_next
    return 0


@called
def _room_without(x: View, i: int, width: int) -> int:
    """Count what a run occupies as room; the first machine that then has enough, or NOWHERE."""
    at = x.runs[i].placements
    while at >= 0:
        if count_room(x, at) >= width:
            return x.placements[at].machine
        at = x.placements[at].next
    return NOWHERE


@called
def _victims_on_one(x: View, i: int) -> int:
    """List in ``x.picked`` who has to go to make room on one machine; how many, 0 if none can."""
    x.ep.searches += 1
    n, width = 0, x.runs[i].width
    for level in range(x.runs[i].level):
        at = x.levels[level]
        while at >= 0:
            x.picked[n] = at
            n += 1
            m = _room_without(x, at, width)
            if m != NOWHERE:
                return _spare(x, n, m, x.machines[m].room - width)
            at = x.runs[at].level_next
    return 0


@called
def _evict(w: World, x: View, i: int) -> bool:
    """Evict what runs at lower priority, if that makes room for a queued run."""
    if x.runs[i].width <= w.parameters[0].largest:
        n = _victims_on_one(x, i)
    else:
        n = _victims_anywhere(x, i)
    for k in range(n):
        victim = x.picked[k]
        run = x.runs[victim]
        task = x.tasks[run.local]
        task.evictions += 1
        stop(w, x, victim, _EVICT)
        vacate(w, x, victim)
        if task.given_up and not run.recomputes:
            settle_if_over(w, x, run.local)
        else:
            requeue(w, x, victim)
    return n > 0


@called
def _in_order(w: World, x: View) -> None:
    """Start the head of the queue as long as there is room for it."""
    p = w.parameters[0]
    i = first(w, x)
    while i >= 0:
        machine = NOWHERE
        if not p.stages or p.outputs_lost or inputs_reachable(w, x, x.runs[i].local):
            machine = first_fit(w, x, x.runs[i].width)
            if machine == NOWHERE and p.preemption and _evict(w, x, i):
                machine = first_fit(w, x, x.runs[i].width)
            if machine == NOWHERE:
                return
        this, i = i, following(w, x, i)
        if machine != NOWHERE:
            start(w, x, this, machine)


@called
def run_pass(w: World, x: View) -> bool:
    """Let the scheduler look at the queue; True if a decision is asked."""
    x.ep.pass_due = False
    scheduler = w.parameters[0].scheduler
    if scheduler == _RANK:
        return rank_pass(w, x)
    if x.ep.queued > 0:
        x.ep.passes += 1
        if scheduler == _EASY:
            backfill_pass(w, x)
        else:
            _in_order(w, x)
    return False
