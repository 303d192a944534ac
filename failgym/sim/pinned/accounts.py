"""Where machine-time goes, and what it costs.

When an attempt ends, its pauses go to checkpoint and restore and its work to useful, lost,
redundant or ghost work, except what it saved in the task's checkpoint: that stays in flight until
the task settles.
"""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.records import View, World
from failgym.sim.shared.accounts import LOST, REDUNDANT, UNKNOWN, USEFUL, fate, work_of
from failgym.sim.shared.jit import kernel

__all__ = ["arrivals", "charge_ended", "charge_settled", "costs"]


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
    account = fate(outcome, task.settled, run.ghost)
    if account == USEFUL:
        task.useful += work * width
        ep.useful += work * width
        return
    run.kind = account
    if account == UNKNOWN:
        task.unknown += work * width
        return
    task.saved[run.kind] += run.saved * width
    _charge(ep, task, run.kind, (work - run.saved) * width)


@kernel
def charge_settled(x: View, task: Any, finisher: int, width: int) -> None:
    """Settle saved work: useful along the finisher's chain (-1: no finisher), else to its class."""
    i = finisher
    while i >= 0 and x.runs[i].parent >= 0:
        amount = x.runs[i].parent_amount * width
        i = x.runs[i].parent
        if x.runs[i].kind == UNKNOWN:
            task.unknown -= amount
        else:
            task.saved[x.runs[i].kind] -= amount
        task.useful += amount
        x.ep.useful += amount
    for kind in range(3):
        _charge(x.ep, task, kind, task.saved[kind])
        task.saved[kind] = 0


@kernel
def arrivals(w: World, x: View) -> None:
    """Count the tasks of a merged slice that have been submitted by now."""
    ep = x.ep
    while ep.arrived < ep.tasks:
        submit = w.tasks[x.tasks[ep.arrived].task].submit
        if submit > ep.now:
            break
        ep.arrived += 1
        ep.waiting += 1
        ep.waiting_submit += submit


@kernel
def costs(w: World, x: View) -> tuple[float, float, float, float, float]:
    """The cost of the episode up to now, in the order of `TERMS`; each at least 0."""
    ep = x.ep
    p = w.parameters[0]
    if ep.merged:
        arrivals(w, x)
    completion = ep.completed + ep.waiting * ep.now - ep.waiting_submit
    return (
        p.wasted * (ep.lost + ep.redundant + ep.ghost),
        p.overhead * (ep.checkpoint + ep.restore),
        p.completion * completion,
        p.forfeited_work * ep.forfeited_work + p.forfeited_time * ep.forfeited_time,
        0.0,
    )
