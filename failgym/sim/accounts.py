"""Where machine-time goes, and what it costs.

When an attempt ends, its pauses go to checkpoint and restore and its work to useful, lost,
redundant or ghost work, except what it saved in the task's checkpoint: that stays in flight until
the task settles.
"""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

from failgym.sim.jit import kernel
from failgym.sim.records import CANCELLED, World
from failgym.traces import Outcome

__all__ = ["arrivals", "charge_ended", "charge_settled", "costs", "work_of"]

LOST, REDUNDANT, GHOST, UNKNOWN = 0, 1, 2, 3
"""Where the work of an attempt goes that did not finish its task; UNKNOWN where the data end."""
_FINISH, _CENSORED = int(Outcome.FINISH), int(Outcome.CENSORED)


@kernel
def work_of(run: Any, now: int) -> int:
    """Own work of an attempt up to a time [ms]: elapsed less restore and checkpoints."""
    until = now if run.alive else run.ended
    if until <= run.restored:
        return 0
    pause = 0
    if run.pause_from >= 0:
        pause = min(until, run.pause_until) - run.pause_from
    return until - run.restored - run.paused - pause


@kernel
def _charge(ep: Any, task: Any, account: int, amount: int) -> None:
    """Charge lost, redundant or ghost work."""
    if account == LOST:
        task.lost += amount
        ep.lost += amount
    elif account == REDUNDANT:
        task.redundant += amount
        ep.redundant += amount
    else:
        task.ghost += amount
        ep.ghost += amount


@kernel
def charge_ended(ep: Any, task: Any, run: Any, outcome: int, width: int) -> None:
    """Charge an attempt that ends now, as far as its fate is known, before it is marked dead."""
    now = ep.now
    work = work_of(run, now)
    restore = min(now, run.restored) - run.start
    checkpoint = now - run.start - restore - work
    task.checkpoint += checkpoint * width
    ep.checkpoint += checkpoint * width
    task.restore += restore * width
    ep.restore += restore * width
    if outcome == _CENSORED and not task.settled:
        run.kind = UNKNOWN
        task.unknown += work * width
        return
    if outcome == _FINISH and not task.settled:
        task.useful += work * width
        ep.useful += work * width
        return
    run.kind = LOST
    if outcome == CANCELLED or task.settled:
        run.kind = REDUNDANT
    elif run.ghost:
        run.kind = GHOST
    task.saved[run.kind] += run.saved * width
    _charge(ep, task, run.kind, (work - run.saved) * width)


@kernel
def charge_settled(ep: Any, task: Any, runs: Any, finisher: int, width: int) -> None:
    """Settle saved work: useful along the finisher's chain (-1: no finisher), else to its class."""
    i = finisher
    while i >= 0 and runs[i].parent >= 0:
        amount = runs[i].parent_amount * width
        i = runs[i].parent
        if runs[i].kind == UNKNOWN:
            task.unknown -= amount
        else:
            task.saved[runs[i].kind] -= amount
        task.useful += amount
        ep.useful += amount
    for kind in range(3):
        _charge(ep, task, kind, task.saved[kind])
        task.saved[kind] = 0


@kernel
def arrivals(w: World, ep: Any, tasks: Any) -> None:
    """Count the tasks of a merged slice that have been submitted by now."""
    while ep.arrived < ep.tasks:
        submit = w.tasks[tasks[ep.arrived].task].submit
        if submit > ep.now:
            break
        ep.arrived += 1
        ep.waiting += 1
        ep.waiting_submit += submit


@kernel
def costs(w: World, ep: Any, tasks: Any) -> tuple[float, float, float, float]:
    """The cost of the episode up to now, by term; each at least 0.

    The terms are wasted, overhead, completion, forfeited.
    """
    p = w.parameters[0]
    if ep.merged:
        arrivals(w, ep, tasks)
    completion = ep.completed + ep.waiting * ep.now - ep.waiting_submit
    return (
        p.wasted * (ep.lost + ep.redundant + ep.ghost),
        p.overhead * (ep.checkpoint + ep.restore),
        p.completion * completion,
        p.forfeited_work * ep.forfeited_work + p.forfeited_time * ep.forfeited_time,
    )
