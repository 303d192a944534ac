"""How an episode begins, and where its arrays are too small to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.attempts import create
from failgym.sim.scheduled.cluster.machines import begin_machines
from failgym.sim.scheduled.cluster.outages import begin_outages
from failgym.sim.scheduled.cluster.system import begin_counters
from failgym.sim.scheduled.queue.estimates import clear_history
from failgym.sim.scheduled.records import LEVELS, Part, Short
from failgym.sim.scheduled.settlement import enter
from failgym.sim.scheduled.tasks import clear_account, prepare
from failgym.sim.scheduled.workflow.dag_state import begin_dags
from failgym.sim.shared.events import push, sort_key
from failgym.sim.shared.jit import called
from failgym.vocabulary import NEVER, TERMS, Event

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["ARRIVAL", "begin_episode", "call_arrival", "has_room", "has_room_for"]

_START = int(Event.START)
_RUNS, _EVENTS = int(Short.RUNS), int(Short.EVENTS)
_LOG, _QUERIES = int(Short.LOG), int(Short.QUERIES)
_TASKS = int(Part.TASKS)
ARRIVAL = -3
"""What a START carries in place of a run when it is the arrival of a task."""


@called
def has_room(w: World, x: View) -> bool:
    """Is there room for all that one event, one pass or one action can make?

    If there is not, EPISODE.short says of what.
    """
    p, ep = w.parameters[0], x.ep
    runs = 8
    if p.preemption or p.transfers:
        runs += ep.running
    else:
        runs += min(ep.running, p.largest)
    if p.stages:
        runs += x.dag.ep[0].unsaved
    if len(x.runs) - ep.alive < runs:
        ep.short = _RUNS
        return False
    starts = min(ep.queued + runs, p.slots if p.preemption else ep.free)
    if len(x.heap) - ep.events < 4 * (starts + min(ep.running, p.largest)) + 64:
        ep.short = _EVENTS
        return False
    if len(x.log) == 0:
        return True
    places = min(ep.free, starts * p.machines) if p.gangs else starts
    if p.preemption:
        places = min(p.slots, starts * p.machines)
    entries = 4 * (ep.alive + runs) + places + 2 * ep.tasks + 64
    if len(x.log) - ep.logged < entries:
        ep.short = _LOG
        return False
    ep.short = _QUERIES
    return not p.place or len(x.queries) - ep.queries >= (ep.queued + 1) * p.machines


@called
def has_room_for(x: View, chosen: int) -> bool:
    """Are the arrays of the episode long enough for a slice, not far too long, and its own?"""
    if x.shared[chosen]:
        return False
    for part in range(len(x.places)):
        if x.places[part, 1] < x.needs[chosen, part]:
            return False
    return x.places[_TASKS, 1] <= x.most[chosen]


@called
def _clear_episode(ep: Any, now: int) -> None:
    ep.now, ep.since, ep.service_at = now, now, now
    ep.done, ep.full, ep.merged, ep.cursor = False, 0, True, -1
    ep.events, ep.logged, ep.queries = 0, 0, 0
    ep.decision, ep.local, ep.run, ep.mask, ep.taken, ep.retried = -1, -1, -1, 0, 0, False
    ep.offered, ep.offers = -1, 0
    ep.decisions, ep.illegal, ep.slot_time = 0, 0, 0
    ep.arrived, ep.waiting, ep.waiting_submit, ep.completed = 0, 0, 0, 0
    ep.charged, ep.outage, ep.beginning = 0, 0, now
    ep.others_wasted, ep.others_overhead = 0, 0
    ep.others_waiting, ep.others_waiting_submit, ep.others_completed = 0, 0, 0
    ep.others_forfeited_work, ep.others_forfeited_time = 0, 0
    ep.pass_due, ep.passes, ep.searches = False, 0, 0
    ep.alive, ep.running, ep.queued, ep.joined = 0, 0, 0, 0
    ep.writes, ep.service, ep.write_stamp, ep.write_due = 0, 0, 0, NEVER
    clear_account(ep)
    ep.forfeited_work, ep.forfeited_time, ep.forfeited = 0, 0, 0
    for k in range(len(TERMS)):
        ep.cost[k] = 0.0


@called
def _begin_jobs(w: World, x: View) -> None:
    """Count the tasks of the jobs of the episode."""
    ep, at = x.ep, w.member_at[x.ep.slice]
    ep.jobs, ep.jobs_queued = 0, 0
    for k in range(at, at + ep.tasks):
        ep.jobs = max(ep.jobs, w.member_job[k] + 1)
    for j in range(ep.jobs):
        job = x.jobs[j]
        job.own, job.own_left, job.submit, job.failed, job.finished = 0, 0, NEVER, 0, 0
        job.tasks, job.low, job.queued = 0, 0, 0
        job.end, job.wasted, job.overhead = -1, 0, 0
        job.forfeited_work, job.forfeited_time = 0, 0
    for k in range(at, at + ep.tasks):
        job = x.jobs[w.member_job[k]]
        job.tasks += 1
        if w.member_own[k]:
            job.own += 1
            job.own_left += 1
            job.submit = min(job.submit, w.tasks[w.members[k]].submit)
    at = 0
    for j in range(ep.jobs):
        x.jobs[j].at = at
        at += x.jobs[j].tasks


@called
def _begin_runs(x: View) -> None:
    """No record of a run is in use, all queues are empty."""
    x.ep.runs, x.ep.free_run = 0, -1
    for level in range(LEVELS):
        x.queues[level, 0], x.queues[level, 1], x.levels[level] = -1, -1, -1


@called
def call_arrival(w: World, x: View) -> None:
    """Put the next arrival on the calendar."""
    ep = x.ep
    if ep.arrival < ep.tasks:
        prepare(w, x, ep.arrival)
        row = x.tasks[ep.arrival].task
        key = sort_key(_START, row, 0)
        push(x, w.tasks[row].submit, key, ep.arrival, ARRIVAL, 0)
        ep.arrival += 1


@called
def begin_episode(w: World, x: View, chosen: int) -> None:
    """Begin an episode on slice ``chosen``."""
    ep, at = x.ep, w.member_at[chosen]
    ep.slice, ep.tasks = chosen, w.member_at[chosen + 1] - at
    ep.own, ep.standing, ep.prepared = 0, 0, 0
    ep.first_row, ep.last_row = NEVER, -1
    now = NEVER
    for k in range(at, at + ep.tasks):
        row = w.members[k]
        ep.first_row, ep.last_row = min(ep.first_row, row), max(ep.last_row, row)
        if w.member_own[k]:
            ep.own += 1
        if w.member_remaining[k] >= 0:
            ep.standing += 1
        else:
            now = min(now, w.tasks[row].submit)
    _clear_episode(ep, now if now != NEVER else 0)
    ep.own_left, ep.left, ep.arrival = ep.own, ep.tasks, ep.standing
    _begin_jobs(w, x)
    _begin_runs(x)
    begin_machines(w, x)
    begin_counters(x)
    clear_history(w, x)
    begin_dags(w, x)
    begin_outages(w, x)
    prepare(w, x, ep.standing - 1)
    for local in range(ep.standing):
        task = x.tasks[local]
        task.next = 1
        enter(w, x, create(w, x, local, w.tasks[task.task].rows_at, False, False, -1))
    call_arrival(w, x)
