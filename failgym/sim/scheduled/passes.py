"""The scheduler's pass over the queue: first come, first served; by priority; or another's."""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.jit import called
from failgym.sim.scheduled.attempts import start, stop, vacate
from failgym.sim.scheduled.backfill import backfill_pass
from failgym.sim.scheduled.dags import inputs_reachable
from failgym.sim.scheduled.machines import NOWHERE, first_fit
from failgym.sim.scheduled.placing import rank_pass
from failgym.sim.scheduled.queues import first, following
from failgym.sim.scheduled.rules import SCHEDULERS
from failgym.sim.scheduled.settlement import requeue, settle_if_over
from failgym.traces import Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["run_pass"]

_EASY, _RANK = SCHEDULERS.index("easy_backfill"), SCHEDULERS.index("rank_hybd")
_EVICT = int(Outcome.EVICT)


@called
def _victims(w: World, x: View, i: int) -> int:
    """List in ``x.picked`` the runs that have to go so that a queued one has enough slots.

    Returns:
        How many; 0 if it has enough, or all of lower priority are not enough.
    """
    need, n = x.runs[i].width - x.ep.free, 0
    for level in range(x.runs[i].level):
        at = x.levels[level]
        while need > 0 and at >= 0:
            x.picked[n] = at
            n += 1
            need -= x.runs[at].width
            at = x.runs[at].level_next
    return n if need <= 0 else 0


@called
def _evict(w: World, x: View, i: int) -> bool:
    """Evict what runs at lower priority, if that gives a queued run enough slots."""
    n = _victims(w, x, i)
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
