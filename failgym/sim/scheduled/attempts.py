"""Attempts: how one comes to be, is started on machines, when it will end, how it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.accounts import charge_run
from failgym.sim.scheduled.beyond import comes_to_be, from_scratch, meet
from failgym.sim.scheduled.cluster.machines import release, take
from failgym.sim.scheduled.cluster.storage import lose_write
from failgym.sim.scheduled.cluster.system import count_end
from failgym.sim.scheduled.queue.estimates import note_ended
from failgym.sim.scheduled.queue.queues import leave, request_pass
from failgym.sim.scheduled.queue.running import started, stopped
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.workflow.dags import repeated, transfer_time
from failgym.sim.scheduled.workflow.outputs import recomputation_lost, recomputation_started
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import called
from failgym.sim.shared.windows import rounded
from failgym.vocabulary import NEVER, Ending, Event, Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = [
    "await_notice",
    "create",
    "date_end",
    "drop",
    "ending_of",
    "forget",
    "free_record",
    "free_slots",
    "is_asked",
    "notice",
    "own_outcome",
    "start",
    "stop",
    "vacate",
    "windows_matter",
]

_END, _RESTORED, _START = int(Event.END), int(Event.RESTORED), int(Event.START)
_TRANSFER_END, _WINDOW, _PLACED = int(Event.TRANSFER_END), int(Event.WINDOW), int(Event.PLACED)
_FREE, _BLOCKED, _QUEUED = int(RunState.FREE), int(RunState.BLOCKED), int(RunState.QUEUED)
_RUNNING, _DUE, _ENDED = int(RunState.RUNNING), int(RunState.DUE), int(RunState.ENDED)
_FINISHES, _INTRINSIC, _USER = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.USER)
_CENSORS, _EXTERNAL = int(Ending.CENSORED), int(Ending.EXTERNAL)
_FINISH, _FAIL, _KILL = int(Outcome.FINISH), int(Outcome.FAIL), int(Outcome.KILL)
_EVICT, _LOST = int(Outcome.EVICT), int(Outcome.LOST)
OTHERWISE, INTRINSIC, OUTSIDE = 0, 1, 2
"""How the last attempt of a task ended."""
RECOMPUTATION = 2
"""Detail of the START of a recomputation."""


# --- Records --------------------------------------------------------------------------------------


@called
def _link(x: View, task: Any, i: int) -> None:
    """Put a run into the list of its task, which ascends by number."""
    run, after = x.runs[i], task.last_run
    while after >= 0 and x.runs[after].number > run.number:
        after = x.runs[after].previous
    run.previous = after
    if after >= 0:
        run.next = x.runs[after].next
        x.runs[after].next = i
    else:
        run.next = task.first_run
        task.first_run = i
    if run.next >= 0:
        x.runs[run.next].previous = i
    else:
        task.last_run = i


@called
def free_record(x: View, i: int) -> None:
    """Forget a run."""
    run = x.runs[i]
    task = x.tasks[run.local]
    if run.previous >= 0:
        x.runs[run.previous].next = run.next
    else:
        task.first_run = run.next
    if run.next >= 0:
        x.runs[run.next].previous = run.previous
    else:
        task.last_run = run.previous
    run.state = _FREE
    run.stamp += 1
    run.next = x.ep.free_run
    x.ep.free_run = i
    x.ep.alive -= 1


@called
def create(
    w: World, x: View, local: int, row: int, ghost: bool, recomputes: bool, number: int
) -> int:
    """Make a run of a row of World.rows; it is blocked until it joins the queue.

    Args:
        number: of the attempt; -1 for that of the row, or the next one of a ghost.
    """
    i = x.ep.free_run
    if i >= 0:
        x.ep.free_run = x.runs[i].next
    else:
        i = x.ep.runs
        x.ep.runs += 1
    run, task = x.runs[i], x.tasks[local]
    x.ep.alive += 1
    record = w.tasks[task.task]
    new = False
    if number < 0:
        number = w.rows[row].number
        if ghost:
            number = record.numbers + task.ghosts
            task.ghosts += 1
        new = True
    run.row, run.local, run.number, run.ghost, run.alive = row, local, number, ghost, False
    run.state, run.recomputes = _BLOCKED, recomputes
    run.width, run.level = record.width, record.priority
    run.start, run.ended, run.end, run.outcome = -1, -1, NEVER, -1
    run.saved, run.placements, run.machine, run.write, run.killed_by = 0, -1, -1, -1, -1
    run.restored, run.pause_from, run.durable_work, run.chain = NEVER, -1, 0, 0
    run.past, run.by_cluster = 0, False
    if new and w.parameters[0].continued:
        comes_to_be(w, task, run)
    _link(x, task, i)
    task.blocked += 1
    return i


@called
def drop(w: World, x: View, i: int) -> None:
    """Forget a run that has not started, silently."""
    run = x.runs[i]
    task = x.tasks[run.local]
    if run.state == _QUEUED:
        leave(w, x, i)
        request_pass(w, x)
    if run.state == _DUE:
        notice(x, i)
    task.blocked -= 1
    free_record(x, i)


@called
def await_notice(x: View, i: int, machine: int) -> None:
    """A new run waits until the cluster notices that a machine killed the one before."""
    run, state = x.runs[i], x.machines[machine]
    task = x.tasks[run.local]
    run.state, run.killed_by = _DUE, machine
    task.blocked -= 1
    task.due += 1
    run.queue_next, run.queue_before = state.due, -1
    if state.due >= 0:
        x.runs[state.due].queue_before = i
    state.due = i


@called
def notice(x: View, i: int) -> None:
    """A run that waited to be noticed is blocked, until it joins the queue."""
    run = x.runs[i]
    task = x.tasks[run.local]
    run.state = _BLOCKED
    task.due -= 1
    task.blocked += 1
    if run.queue_before >= 0:
        x.runs[run.queue_before].queue_next = run.queue_next
    else:
        x.machines[run.killed_by].due = run.queue_next
    if run.queue_next >= 0:
        x.runs[run.queue_next].queue_before = run.queue_before


# --- When it ends ---------------------------------------------------------------------------------


@called
def _slowest(w: World, x: View, i: int) -> float:
    """Speed of the slowest of its machines."""
    at = x.runs[i].placements
    speed = w.machines[x.placements[at].machine].speed
    while at >= 0:
        speed = min(speed, w.machines[x.placements[at].machine].speed)
        at = x.placements[at].next
    return speed


@called
def _dearest(w: World, x: View, i: int, task: int) -> int:
    """Largest compute time on any of its machines."""
    cost, at = 0, x.runs[i].placements
    while at >= 0:
        cost = max(cost, w.dags.costs[task, x.placements[at].machine])
        at = x.placements[at].next
    return cost


@called
def _machines_of(w: World, x: View, i: int) -> tuple[float, int]:
    """Speed of the slowest machine of a run, and its longest compute time there, -1 without."""
    if len(w.dags.costs) > 0:
        return 1.0, _dearest(w, x, i, x.tasks[x.runs[i].local].task)
    return _slowest(w, x, i), -1


@called
def _meets_fate(w: World, x: View, run: Any) -> bool:
    """Does a run meet what the continued record has for it?"""
    standing = x.tasks[run.local].remaining >= 0
    return w.parameters[0].continued and not run.recomputes and not standing


@called
def _size_up(w: World, x: View, i: int, row: Any) -> None:
    """Length and duration of a run on its machines."""
    run = x.runs[i]
    task = x.tasks[run.local]
    run.length, run.duration = row.length, row.duration
    if task.remaining >= 0:
        run.length = run.duration = task.remaining
    elif len(w.dags.costs) > 0:
        run.length = _dearest(w, x, i, task.task)
        if row.ending == _FINISHES:
            run.duration = run.length
        elif row.ending == _INTRINSIC:
            run.duration = rounded(row.fraction * run.length)
    else:
        speed = _slowest(w, x, i)
        if speed != 1.0:
            run.length = rounded(row.length / speed)
            run.duration = rounded(row.duration / speed)
    if run.recomputes:
        if w.parameters[0].continued and task.remaining < 0:
            run.length = int(from_scratch(w, x, i, *_machines_of(w, x, i)))
        if w.parameters[0].unpersist:
            run.length += repeated(w, x, run.local)
        run.duration = run.length


@called
def ending_of(w: World, x: View, run: Any) -> int:
    """What ends a run; what stands at the beginning, and recomputations, finish."""
    if run.recomputes or x.tasks[run.local].remaining >= 0:
        return _FINISHES
    ending = w.rows[run.row].ending
    if w.parameters[0].continued and (run.ghost or ending in (_FINISHES, _INTRINSIC)):
        return run.inner
    return ending


@called
def _work_needed(w: World, run: Any, ending: int) -> int:
    """Work until an attempt is done [ms]: to its point of failure if it fails, else its length."""
    if run.f0 == 0.0:
        own = ending in (_FINISHES, _INTRINSIC)
        return run.duration if own else run.length
    point = w.rows[run.row].fraction if ending == _INTRINSIC else 1.0
    return rounded(max(point - run.f0, 0.0) * run.length)


@called
def date_end(w: World, x: View, i: int) -> None:
    """Work out when a run ends: anew after each checkpoint.

    While one is written the work is not done, and only something outside can end the run. The
    calendar holds the first END of each run; if that comes up early, it is put back.
    """
    run = x.runs[i]
    ending = ending_of(w, x, run)
    fin = NEVER if run.pause_from >= 0 else run.fin
    run.own = fin
    run.end = fin
    if ending == _CENSORS or run.ext <= fin:
        run.own = run.ext
        run.end = NEVER if ending == _USER else run.ext
    if run.wall < run.own:
        run.end = run.wall
    if run.end < run.called:
        run.called = run.end
        key = sort_key(_END, x.tasks[run.local].task, run.number)
        push(x, run.end, key, run.local, i, run.stamp)


@called
def own_outcome(w: World, x: View, run: Any) -> int:
    """Outcome of a run that ends by itself, or at its walltime."""
    if run.wall < run.own:
        return _KILL
    ending = ending_of(w, x, run)
    if ending == _FINISHES:
        return _FINISH
    if ending == _INTRINSIC:
        return _FAIL
    if ending != _CENSORS and run.fin < run.ext and run.pause_from < 0:
        return _FINISH
    return w.rows[run.row].outcome


# --- Start and end --------------------------------------------------------------------------------


@called
def is_asked(task: Any) -> bool:
    """May anything be asked about the task?"""
    return task.asked and not task.settled


@called
def windows_matter(w: World, task: Any) -> bool:
    """Can a WINDOW of the task ever be asked again?"""
    p = w.parameters[0]
    if not is_asked(task):
        return False
    cloning = p.clone and not task.given_up and task.extra < p.max_extra
    return p.kill or p.checkpoint or (cloning and task.clones < p.max_clones)


@called
def _log_places(x: View, i: int) -> None:
    """Log the machines of a run; a gang has them in order of index."""
    run, at = x.runs[i], x.runs[i].placements
    task = x.tasks[run.local].task
    while at >= 0:
        note(x, _PLACED, task, run.number, x.placements[at].machine)
        at = x.placements[at].next


@called
def _link_level(x: View, i: int) -> None:
    """Put a run among the running ones of its priority: latest start, last task, number first."""
    run, after, at = x.runs[i], -1, x.levels[x.runs[i].level]
    row = x.tasks[run.local].task
    while at >= 0:
        other = x.runs[at]
        row_there = x.tasks[other.local].task
        if other.start < run.start or row_there < row:
            break
        if row_there == row and other.number < run.number:
            break
        after, at = at, other.level_next
    run.level_before, run.level_next = after, at
    if after >= 0:
        x.runs[after].level_next = i
    else:
        x.levels[run.level] = i
    if at >= 0:
        x.runs[at].level_before = i


@called
def _unlink_level(x: View, i: int) -> None:
    run = x.runs[i]
    if run.level_before >= 0:
        x.runs[run.level_before].level_next = run.level_next
    else:
        x.levels[run.level] = run.level_next
    if run.level_next >= 0:
        x.runs[run.level_next].level_before = run.level_before


@called
def _replay(w: World, x: View, run: Any) -> None:
    """When a run that starts now ends, as its row did."""
    ending = ending_of(w, x, run)
    run.fin = run.restored + _work_needed(w, run, ending)
    run.ext = NEVER
    if ending == _USER:
        run.ext = w.tasks[x.tasks[run.local].task].kill_at
    elif ending in (_EXTERNAL, _CENSORS):
        run.ext = x.ep.now + run.duration


@called
def _date(w: World, x: View, i: int) -> None:
    """When a run that starts now will have done what."""
    p, ep, run = w.parameters[0], x.ep, x.runs[i]
    task, row = x.tasks[run.local], w.rows[run.row]
    if not _meets_fate(w, x, run):
        _size_up(w, x, i, row)
    run.f0, run.parent, run.parent_amount, run.chain = 0.0, -1, 0, 0
    if not run.recomputes:
        run.f0, run.chain = task.durable, task.durable_work
        run.parent, run.parent_amount = task.best_run, task.best_amount
    run.transferred = ep.now
    if p.transfers and p.stages:
        run.transferred += transfer_time(w, x, run.local, run.machine)
    run.restored = run.transferred + (p.restore_cost if run.f0 > 0.0 else 0)
    if _meets_fate(w, x, run):
        meet(w, x, i, *_machines_of(w, x, i))
    else:
        _replay(w, x, run)
    run.wall = NEVER
    walltime = w.tasks[task.task].walltime
    if p.walltime_kill and walltime > 0 and not run.recomputes and task.remaining < 0:
        run.wall = ep.now + walltime
    run.called = NEVER
    date_end(w, x, i)


@called
def _call(w: World, x: View, i: int) -> None:
    """Put the phases and the first window of a run that starts now on the calendar."""
    ep, run = x.ep, x.runs[i]
    task = x.tasks[run.local]
    if run.transferred > ep.now:
        key = sort_key(_TRANSFER_END, task.task, run.number)
        push(x, run.transferred, key, run.local, i, run.stamp)
    if run.restored > run.transferred:
        key = sort_key(_RESTORED, task.task, run.number)
        push(x, run.restored, key, run.local, i, run.stamp)
    if not run.recomputes and windows_matter(w, task):
        key = sort_key(_WINDOW, task.task, run.number)
        push(x, ep.now, key, run.local, i, run.stamp)


@called
def start(w: World, x: View, i: int, machine: int) -> None:
    """Start a queued run on a machine, or (`machines.GANG`) on several."""
    ep, run = x.ep, x.runs[i]
    task = x.tasks[run.local]
    leave(w, x, i)
    task.blocked -= 1
    take(w, x, i, machine)
    run.state, run.alive = _RUNNING, True
    run.before = task.attempts
    task.attempts += 1
    task.live += 1
    ep.running += 1
    run.start, run.ended, run.kind, run.outcome, run.window = ep.now, -1, 0, -1, 0
    run.pause_from, run.pause_until, run.paused = -1, -1, 0
    run.checkpoint_work, run.durable_work, run.saved = 0, 0, 0
    task.first_start = min(task.first_start, ep.now)
    detail = 1 if run.ghost else 0
    if run.recomputes:
        task.recomputations += 1
        detail = RECOMPUTATION
        recomputation_started(w, x, run.local)
    note(x, _START, task.task, run.number, detail)
    if len(x.log) > 0:
        _log_places(x, i)
    _date(w, x, i)
    _call(w, x, i)
    started(w, x, i)
    if w.parameters[0].preemption:
        _link_level(x, i)


@called
def stop(w: World, x: View, i: int, outcome: int) -> None:
    """End a running run now and charge it; `vacate` then frees its slots."""
    ep, run = x.ep, x.runs[i]
    task = x.tasks[run.local]
    note_ended(w, x, i, outcome)
    charge_run(x, task, run, outcome)
    note(x, _END, task.task, run.number, outcome)
    if run.write >= 0:
        lose_write(w, x, i)
    count_end(x, outcome, ending_of(w, x, run) == _EXTERNAL)
    run.state, run.alive, run.ended, run.outcome = _ENDED, False, ep.now, outcome
    task.live -= 1
    ep.running -= 1
    task.last_ending = OUTSIDE if outcome in (_EVICT, _LOST) else OTHERWISE
    if not run.recomputes:
        task.last_outcome = outcome
    elif outcome != _FINISH:
        recomputation_lost(w, x, run.local)
    if w.parameters[0].preemption:
        _unlink_level(x, i)
    if outcome == _FAIL and not task.failed:
        task.failed = True
        x.jobs[task.job].failed += 1


@called
def free_slots(w: World, x: View, i: int) -> None:
    """Free the slots of a run that is over."""
    stopped(w, x, i)
    release(w, x, i)
    x.runs[i].state = _ENDED
    request_pass(w, x)


@called
def forget(x: View, i: int) -> None:
    """Free the record of a run that is over, unless its saved work still counts."""
    if x.runs[i].saved == 0 or x.tasks[x.runs[i].local].settled:
        free_record(x, i)


@called
def vacate(w: World, x: View, i: int) -> None:
    """Free the slots of a run that is over, and its record as `forget` does."""
    free_slots(w, x, i)
    forget(x, i)
