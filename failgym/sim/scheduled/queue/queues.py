"""The queue: in order of joining, with priority one queue for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.cluster.ranking import rank_join, rank_leave
from failgym.sim.scheduled.cluster.system import ARRIVALS, count
from failgym.sim.scheduled.queue.estimates import estimate
from failgym.sim.scheduled.records import LEVELS, RunState
from failgym.sim.scheduled.rules import SCHEDULERS
from failgym.sim.shared.events import note
from failgym.sim.shared.jit import called
from failgym.vocabulary import Event

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["block", "first", "following", "join", "leave", "request_pass"]

_QUEUED_EVENT = int(Event.QUEUED)
_BLOCKED, _QUEUED = int(RunState.BLOCKED), int(RunState.QUEUED)
_BY_PRIORITY, _BY_ESTIMATE = SCHEDULERS.index("priority"), SCHEDULERS.index("easy_backfill")
_BY_RANK = SCHEDULERS.index("rank_hybd")


@called
def request_pass(w: World, x: View) -> None:
    """Let the scheduler look at the queue once all else of this moment has happened."""
    x.ep.pass_due = True


@called
def _level(w: World, x: View, i: int) -> int:
    """The queue that a run belongs to."""
    return x.runs[i].level if w.parameters[0].scheduler == _BY_PRIORITY else 0


@called
def join(w: World, x: View, i: int) -> None:
    """A run that was blocked, or is new, joins the queue."""
    ep, run = x.ep, x.runs[i]
    task = x.tasks[run.local]
    run.state = _QUEUED
    task.blocked -= 1
    task.queued += 1
    run.queued_at, run.joined = ep.now, ep.joined
    ep.joined += 1
    ep.queued += 1
    if w.parameters[0].scheduler == _BY_ESTIMATE:
        run.estimate = estimate(w, x, i)
    queue = x.queues[_level(w, x, i)]
    run.queue_next, run.queue_before = -1, queue[1]
    if queue[1] >= 0:
        x.runs[queue[1]].queue_next = i
    else:
        queue[0] = i
    queue[1] = i
    job = x.jobs[task.job]
    if job.queued == 0:
        ep.jobs_queued += 1
    job.queued += 1
    if w.parameters[0].scheduler == _BY_RANK:
        rank_join(w, x, i)
    note(x, _QUEUED_EVENT, task.task, run.number, 0)
    count(x, ARRIVALS)
    request_pass(w, x)


@called
def leave(w: World, x: View, i: int) -> None:
    """A run leaves the queue, and is blocked as far as its state goes."""
    ep, run = x.ep, x.runs[i]
    task = x.tasks[run.local]
    run.state = _BLOCKED
    task.queued -= 1
    task.blocked += 1
    task.waited += ep.now - run.queued_at
    ep.queued -= 1
    queue = x.queues[_level(w, x, i)]
    if run.queue_before >= 0:
        x.runs[run.queue_before].queue_next = run.queue_next
    else:
        queue[0] = run.queue_next
    if run.queue_next >= 0:
        x.runs[run.queue_next].queue_before = run.queue_before
    else:
        queue[1] = run.queue_before
    job = x.jobs[task.job]
    job.queued -= 1
    if job.queued == 0:
        ep.jobs_queued -= 1
    if w.parameters[0].scheduler == _BY_RANK:
        rank_leave(x, i)


@called
def block(w: World, x: View, i: int) -> None:
    """A queued run has to wait for inputs again."""
    leave(w, x, i)
    request_pass(w, x)


@called
def _first_from(x: View, level: int) -> int:
    """The first run in the queues of priority ``level`` and below, or -1."""
    while level >= 0:
        if x.queues[level, 0] >= 0:
            return int(x.queues[level, 0])
        level -= 1
    return -1


@called
def first(w: World, x: View) -> int:
    """The head of the queue, or -1."""
    if x.ep.queued == 0:
        return -1
    return _first_from(x, LEVELS - 1 if w.parameters[0].scheduler == _BY_PRIORITY else 0)


@called
def following(w: World, x: View, i: int) -> int:
    """The run behind another one in the queue, or -1."""
    if x.runs[i].queue_next >= 0:
        return x.runs[i].queue_next
    return _first_from(x, _level(w, x, i) - 1)
