"""Where machine-time goes in the scheduled world, and who is charged for it (rule 21)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.shared.accounts import LOST, REDUNDANT, UNKNOWN, USEFUL, fate, work_of
from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = [
    "arrivals",
    "charge_run",
    "charge_settled",
    "charge_write",
    "costs",
    "settle_time",
    "settle_time_of_other",
]


@called
def _charge(x: View, task: Any, account: int, amount: int) -> None:
    """Charge lost, redundant or ghost work."""
    ep, own = x.ep, amount if task.own else 0
    ep.others_wasted += amount - own
    x.jobs[task.job].wasted += own
    if account == LOST:
        task.lost += amount
        ep.lost += own
    elif account == REDUNDANT:
        task.redundant += amount
        ep.redundant += own
    else:
        task.ghost += amount
        ep.ghost += own


@called
def _charge_useful(ep: Any, task: Any, amount: int) -> None:
    task.useful += amount
    if task.own:
        ep.useful += amount


@called
def _charge_overhead(x: View, task: Any, transfer: int, restore: int, checkpoint: int) -> None:
    """Charge what is not work."""
    ep = x.ep
    task.transfer += transfer
    task.restore += restore
    task.checkpoint += checkpoint
    if task.own:
        ep.transfer += transfer
        ep.restore += restore
        ep.checkpoint += checkpoint
        x.jobs[task.job].overhead += checkpoint + restore
    else:
        ep.others_overhead += checkpoint + restore


@called
def charge_run(x: View, task: Any, run: Any, outcome: int) -> None:
    """Charge an attempt that ends now, as far as its fate is known, before it is marked dead."""
    ep = x.ep
    now, width = ep.now, run.width
    ep.slot_time += (now - run.start) * width
    if run.recomputes:
        _charge(x, task, LOST, (now - run.start) * width)
        return
    work = work_of(run, now)
    transfer = min(now, run.transferred) - run.start
    restore = min(now, run.restored) - run.start - transfer
    checkpoint = now - run.start - transfer - restore - work
    _charge_overhead(x, task, transfer * width, restore * width, checkpoint * width)
    account = fate(outcome, False, run.ghost)
    if account == USEFUL:
        _charge_useful(ep, task, work * width)
        return
    run.kind = account
    if account == UNKNOWN:
        task.unknown += work * width
        return
    task.saved[run.kind] += run.saved * width
    _charge(x, task, run.kind, (work - run.saved) * width)


@called
def charge_write(x: View, task: Any, run: Any) -> None:
    """Charge the write of an output, done or lost, for the slots that it held until now."""
    time = (x.ep.now - run.writes_from) * run.width
    x.ep.slot_time += time
    _charge_overhead(x, task, 0, 0, time)


@called
def charge_settled(x: View, task: Any, finisher: int) -> None:
    """Settle saved work: useful along the finisher's chain (-1: no finisher), else to its class."""
    runs = x.runs
    i = finisher
    while i >= 0 and runs[i].parent >= 0:
        amount = runs[i].parent_amount * runs[i].width
        i = runs[i].parent
        if runs[i].kind == UNKNOWN:
            task.unknown -= amount
        else:
            task.saved[runs[i].kind] -= amount
        _charge_useful(x.ep, task, amount)
    for kind in range(3):
        _charge(x, task, kind, task.saved[kind])
        task.saved[kind] = 0


@called
def settle_time(w: World, x: View, task: Any, submit: int) -> None:
    """An own task is settled: its completion time, or its job's, is known if it was the last."""
    ep = x.ep
    if w.parameters[0].by_job:
        job = x.jobs[task.job]
        if job.own_left > 0:
            return
        submit, job.end = job.submit, ep.now
    if submit > ep.now:
        return
    ep.waiting -= 1
    ep.waiting_submit -= submit
    ep.completed += ep.now - submit


@called
def settle_time_of_other(x: View, task: Any, submit: int) -> None:
    """A task that is not its own is settled, and the episode is charged for it."""
    ep = x.ep
    since = ep.beginning if task.remaining >= 0 else submit
    if since > ep.now:
        return
    ep.others_waiting -= 1
    ep.others_waiting_submit -= since
    ep.others_completed += ep.now - since


@called
def arrivals(w: World, x: View) -> None:
    """Count the tasks that are charged, or own jobs, that have been submitted by now.

    What settled before it was submitted, for want of an input, costs no time.
    """
    ep = x.ep
    if w.parameters[0].by_job:
        while ep.charged < ep.jobs and x.jobs[ep.charged].submit <= ep.now:
            if x.jobs[ep.charged].own_left > 0:
                ep.waiting += 1
                ep.waiting_submit += x.jobs[ep.charged].submit
            ep.charged += 1
        return
    at = w.member_at[ep.slice]
    while ep.charged < ep.tasks:
        settled = ep.charged < ep.prepared and x.tasks[ep.charged].settled
        own = w.member_own[at + ep.charged]
        if (own or w.parameters[0].others) and not settled:
            submit = w.tasks[w.members[at + ep.charged]].submit
            if ep.charged < ep.standing:
                submit = ep.beginning
            if submit > ep.now:
                break
            if own:
                ep.waiting += 1
                ep.waiting_submit += submit
            else:
                ep.others_waiting += 1
                ep.others_waiting_submit += submit
        ep.charged += 1


@called
def _cost_of_others(w: World, ep: Any) -> float:
    """What the tasks that are not its own have cost up to now, if the episode is charged for it."""
    p = w.parameters[0]
    if not p.others:
        return 0.0
    completion = ep.others_completed + ep.others_waiting * ep.now - ep.others_waiting_submit
    return (
        p.wasted * ep.others_wasted
        + p.overhead * ep.others_overhead
        + p.completion * completion
        + p.forfeited_work * ep.others_forfeited_work
        + p.forfeited_time * ep.others_forfeited_time
    )


@called
def costs(w: World, x: View) -> tuple[float, float, float, float, float]:
    """The cost of the episode up to now, in the order of `TERMS`; each at least 0."""
    p, ep = w.parameters[0], x.ep
    arrivals(w, x)
    completion = ep.completed + ep.waiting * ep.now - ep.waiting_submit
    return (
        p.wasted * (ep.lost + ep.redundant + ep.ghost),
        p.overhead * (ep.checkpoint + ep.restore),
        p.completion * completion,
        p.forfeited_work * ep.forfeited_work + p.forfeited_time * ep.forfeited_time,
        _cost_of_others(w, ep),
    )
