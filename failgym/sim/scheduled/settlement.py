"""What runs next of a task, and how it settles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.accounts import (
    arrivals,
    charge_settled,
    settle_time,
    settle_time_of_other,
)
from failgym.sim.scheduled.attempts import create, drop, free_record, stop, vacate
from failgym.sim.scheduled.queue.queues import join
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.tasks import prepare
from failgym.sim.scheduled.workflow.lineage import admit, descendants
from failgym.sim.scheduled.workflow.outputs import settled, wanted_again
from failgym.sim.scheduled.workflow.quantiles import insert
from failgym.sim.shared.beyond import after_own, gap_behind
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import called
from failgym.sim.shared.restarts import EXTERNAL_RESTART, FAILURE_RESTART, rows_left, void_restarts
from failgym.vocabulary import CANCELLED, Ending, Event, Outcome

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = [
    "copy_of",
    "drop_waiting",
    "enter",
    "execute_kill",
    "give_up",
    "is_alive",
    "note_end",
    "owe_after_external",
    "owe_after_failure",
    "requeue",
    "restart",
    "settle",
    "settle_if_over",
    "settle_rest",
    "start_next",
    "stop_all",
    "succeed",
]

_GRACE, _START, _SETTLED = int(Event.GRACE), int(Event.START), int(Event.SETTLED)
_FINISH, _KILL = int(Outcome.FINISH), int(Outcome.KILL)
_CENSORED = int(Outcome.CENSORED)
_FINISHES = int(Ending.FINISH)
_BLOCKED, _QUEUED = int(RunState.BLOCKED), int(RunState.QUEUED)
_RUNNING, _DUE, _ENDED = int(RunState.RUNNING), int(RunState.DUE), int(RunState.ENDED)


# --- What runs next -------------------------------------------------------------------------------


@called
def enter(w: World, x: View, i: int) -> None:
    """A blocked run joins the queue, unless it has to wait for inputs."""
    if w.parameters[0].stages:
        admit(w, x, i)
    else:
        join(w, x, i)


@called
def copy_of(w: World, x: View, i: int) -> int:
    """A new run of what a machine or a pre-emption ended, under its number; not queued yet.

    The record of the run may be free already: what it says still stands.
    """
    run = x.runs[i]
    past, by_cluster = run.past, run.by_cluster
    again = create(w, x, run.local, run.row, run.ghost, run.recomputes, run.number)
    x.runs[again].past, x.runs[again].by_cluster = past, by_cluster
    return again


@called
def requeue(w: World, x: View, i: int) -> None:
    """What was pre-empted wants to run again at once."""
    again = copy_of(w, x, i)
    if x.runs[again].recomputes:
        wanted_again(x, x.runs[again].local)
    enter(w, x, again)


@called
def is_alive(task: Any) -> bool:
    """Does something of the task run, wait, or wait to be noticed?"""
    return task.live + task.queued + task.blocked + task.due > 0


@called
def _finishes(w: World, x: View, i: int) -> bool:
    """Will a run (-1: none) finish, as recorded?"""
    return i >= 0 and w.rows[x.runs[i].row].ending == _FINISHES


@called
def _drawn_left(w: World, task: Any) -> bool:
    """Where the record is continued: is a drawn attempt left in the pool (rule C1)?"""
    return task.ghosts < w.parameters[0].drawn and not w.tasks[task.task].censored


@called
def _may_go_beyond(w: World, x: View, task: Any, beside: int) -> bool:
    """May a task of which no row is left start an attempt beyond its record?"""
    p = w.parameters[0]
    if p.continued:
        return _drawn_left(w, task)
    return not p.paper or _finishes(w, x, beside)


@called
def start_next(w: World, x: View, local: int, beside: int, by_cluster: bool) -> None:
    """Queue the next row of the task, or an attempt beyond its record.

    Args:
        beside: the live attempt that is cloned, -1 for a retry or a restart. In the paper's
            accounting only a clone of an attempt that will finish goes beyond the record.
        by_cluster: does the record or a restart start it?
    """
    task = x.tasks[local]
    record = w.tasks[task.task]
    row, ghost = record.rows_at + record.rows - 1, True
    if task.next < record.rows:
        row, ghost = record.rows_at + task.next, False
        task.next += 1
    elif not _may_go_beyond(w, x, task, beside):
        return
    i = create(w, x, local, row, ghost, False, -1)
    x.runs[i].by_cluster = by_cluster
    enter(w, x, i)


@called
def note_end(w: World, x: View, i: int, ending: int) -> None:
    """An attempt has ended that the cluster started: does it decline (rule C8)?"""
    after_own(w, x.tasks[x.runs[i].local], x.runs[i], ending)


@called
def _may_restart(w: World, task: Any, cause: int) -> bool:
    """Is anything left that a restart could start?"""
    p, left = w.parameters[0], rows_left(w, task)
    if p.continued:
        return not task.declined and (left or _drawn_left(w, task))
    return left or (cause == FAILURE_RESTART and not p.paper)


@called
def _owe(w: World, x: View, local: int, i: int, cause: int) -> None:
    """Put a restart on the calendar, after the gap that the record shows, or one drawn."""
    task, run = x.tasks[local], x.runs[i]
    if cause == EXTERNAL_RESTART:
        task.owed_external += 1
    else:
        task.owed_failure += 1
    due = x.ep.now + gap_behind(w, task, run, cause == FAILURE_RESTART)
    push(x, due, sort_key(_START, task.task, run.number), local, cause, task.stamp)


@called
def owe_after_external(w: World, x: View, local: int, i: int) -> None:
    """An end that the record follows with a restart: the cluster owes the next row, if any."""
    task = x.tasks[local]
    if not task.given_up and _may_restart(w, task, EXTERNAL_RESTART):
        _owe(w, x, local, i, EXTERNAL_RESTART)


@called
def owe_after_failure(w: World, x: View, local: int, i: int) -> None:
    """A failure left to the cluster: it owes a restart, up to the limit."""
    task = x.tasks[local]
    p = w.parameters[0]
    if task.given_up:
        return
    if not task.declined if p.continued else task.failures <= p.restart_limit:
        _owe(w, x, local, i, FAILURE_RESTART)


@called
def restart(w: World, x: View, local: int, cause: int) -> None:
    """A restart falls due; dropped if something of the task is alive or nothing may start."""
    task = x.tasks[local]
    if cause == EXTERNAL_RESTART:
        task.owed_external -= 1
    else:
        task.owed_failure -= 1
    possible = cause == FAILURE_RESTART or rows_left(w, task)
    if w.parameters[0].continued:
        possible = _may_restart(w, task, cause)
    if not is_alive(task) and not task.given_up and possible:
        start_next(w, x, local, -1, True)
    settle_if_over(w, x, local)


# --- How it settles -------------------------------------------------------------------------------


@called
def _free_records(x: View, task: Any) -> None:
    """Forget the runs of a settled task whose saved work had counted."""
    i = task.first_run
    while i >= 0:
        run = x.runs[i]
        this, i = i, run.next
        if run.state == _ENDED and run.placements < 0:
            free_record(x, this)


@called
def _insert(durations: Any, job: Any, time: int) -> None:
    job.finished += 1
    end, wanted = job.at + job.tasks, (job.finished + 1) // 2
    job.low = insert(durations, job.at, end, job.low, job.finished - 1, time, wanted)


@called
def _remember(x: View, task: Any, time: int) -> None:
    """A task of the job has finished, by a run that took so long."""
    _insert(x.durations, x.jobs[task.job], time)


@called
def _settle_one(w: World, x: View, local: int, outcome: int, finisher: int) -> None:
    """Settle a task now: one that is worth something and does not finish is forfeited.

    One that the end of the data cut settles as CENSORED, whatever became of it.
    """
    ep, task = x.ep, x.tasks[local]
    record = w.tasks[task.task]
    if record.censored and task.remaining < 0:
        outcome = _CENSORED
    charge_settled(x, task, finisher)
    charged = task.own or w.parameters[0].others
    if charged:
        arrivals(w, x)
    task.settled, task.outcome, task.end = True, outcome, ep.now
    ep.left -= 1
    if charged and not task.own:
        settle_time_of_other(x, task, record.submit)
        if record.forfeits and outcome != _FINISH and task.remaining < 0:
            ep.others_forfeited_work += record.forfeit_work
            ep.others_forfeited_time += record.forfeit_time
    if task.own:
        ep.own_left -= 1
        x.jobs[task.job].own_left -= 1
        settle_time(w, x, task, record.submit)
        if record.forfeits and outcome != _FINISH:
            ep.forfeited += 1
            ep.forfeited_work += record.forfeit_work
            ep.forfeited_time += record.forfeit_time
            job = x.jobs[task.job]
            job.forfeited_work += record.forfeit_work
            job.forfeited_time += record.forfeit_time
    note(x, _SETTLED, task.task, -1, outcome)
    if outcome == _FINISH:
        _remember(x, task, x.runs[finisher].ended - x.runs[finisher].start)
    if w.parameters[0].stages:
        settled(w, x, local)
    _free_records(x, task)


@called
def _settle_descendants(w: World, x: View, local: int) -> None:
    """What reads the output of a task that will never have one is killed."""
    n = descendants(w, x, local)
    for k in range(n):
        other = x.dag.listed[k]
        drop_waiting(w, x, other)
        void_restarts(x.tasks[other])
        _settle_one(w, x, other, _KILL, -1)


@called
def settle(w: World, x: View, local: int, outcome: int, finisher: int) -> None:
    """Settle a task now, and what can never run without its output."""
    _settle_one(w, x, local, outcome, finisher)
    if x.tasks[local].outcome != _FINISH and w.parameters[0].stages:
        _settle_descendants(w, x, local)


@called
def settle_rest(w: World, x: View) -> None:
    """Nothing happens any more: what is charged and has not settled never will, by trace row."""
    begin = w.member_at[x.ep.slice]
    prepare(w, x, x.ep.tasks - 1)
    for k in range(begin, begin + x.ep.tasks):
        local = w.member_by_row[k]
        charged = x.tasks[local].own or w.parameters[0].others
        if charged and not x.tasks[local].settled:
            drop_waiting(w, x, local)
            _settle_one(w, x, local, _CENSORED, -1)


@called
def drop_waiting(w: World, x: View, local: int) -> None:
    """Forget, silently, the runs of a task that have not started."""
    i = x.tasks[local].first_run
    while i >= 0:
        run = x.runs[i]
        this, i = i, run.next
        if run.state == _BLOCKED or run.state == _QUEUED or run.state == _DUE:
            drop(w, x, this)


@called
def stop_all(w: World, x: View, local: int, outcome: int) -> None:
    """End every run of a task that runs, in order of number, and forget those that wait."""
    task = x.tasks[local]
    if task.queued + task.blocked + task.due > 0:
        drop_waiting(w, x, local)
    i = task.first_run
    while task.live > 0 and i >= 0:
        this, i = i, x.runs[i].next
        if x.runs[this].state == _RUNNING:
            stop(w, x, this, outcome)
            vacate(w, x, this)


@called
def succeed(w: World, x: View, local: int, finisher: int) -> None:
    """First success: cancel what else there is of the task, then settle it."""
    task = x.tasks[local]
    if is_alive(task):
        stop_all(w, x, local, CANCELLED)
    settle(w, x, local, _FINISH, finisher)


@called
def execute_kill(w: World, x: View, local: int) -> None:
    """Carry out the agent's kill: everything alive ends and the task settles."""
    task = x.tasks[local]
    note(x, _GRACE, task.task, -1, 0)
    task.killed = True
    stop_all(w, x, local, _KILL)
    settle(w, x, local, _KILL, -1)


@called
def settle_if_over(w: World, x: View, local: int) -> None:
    """Settle a task of which nothing is alive or due."""
    task = x.tasks[local]
    if task.settled or is_alive(task):
        return
    if task.owed_external > 0 and _may_restart(w, task, EXTERNAL_RESTART):
        return
    if task.owed_failure > 0 and _may_restart(w, task, FAILURE_RESTART):
        return
    settle(w, x, local, task.last_outcome, -1)


@called
def give_up(w: World, x: View, local: int) -> None:
    """Start nothing more for the task."""
    task = x.tasks[local]
    task.given_up = True
    void_restarts(task)
    drop_waiting(w, x, local)
