"""How a task leaves the record, what is restarted for it, and how it settles."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.accounts import arrivals, charge_settled
from failgym.sim.pinned.attempts import begin, end_attempt
from failgym.sim.pinned.records import View, World
from failgym.sim.shared.beyond import gap_behind
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import kernel
from failgym.sim.shared.restarts import EXTERNAL_RESTART, FAILURE_RESTART, rows_left, void_restarts
from failgym.vocabulary import CANCELLED, Ending, Event, Outcome

__all__ = [
    "depart",
    "execute_kill",
    "give_up",
    "kill_all",
    "owe_after_external",
    "owe_after_failure",
    "restart",
    "settle",
    "settle_if_over",
    "start_next",
    "succeed",
]

_END, _GRACE, _START, _SETTLED = (
    int(kind) for kind in (Event.END, Event.GRACE, Event.START, Event.SETTLED)
)
_FINISH, _KILL = int(Outcome.FINISH), int(Outcome.KILL)
_CENSORED = int(Outcome.CENSORED)
_FINISHES, _INTRINSIC, _EXTERNAL = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.EXTERNAL)


@kernel
def settle(w: World, x: View, task: Any, outcome: int, finisher: int) -> None:
    """Settle a task now: one that is worth something and does not finish is forfeited.

    One that the end of the data cut settles as CENSORED, whatever became of it.
    """
    ep = x.ep
    record = w.tasks[task.task]
    if record.censored:
        outcome = _CENSORED
    if ep.merged:
        arrivals(w, x)
    charge_settled(x, task, finisher, record.width)
    task.settled, task.outcome, task.end = True, outcome, ep.now
    ep.waiting -= 1
    ep.waiting_submit -= record.submit
    ep.completed += ep.now - record.submit
    if record.forfeits and outcome != _FINISH:
        ep.forfeited += 1
        ep.forfeited_work += record.forfeit_work
        ep.forfeited_time += record.forfeit_time
    note(x, _SETTLED, task.task, -1, outcome)


@kernel
def kill_all(w: World, x: View, task: Any, outcome: int) -> None:
    """End every live attempt of a task, in order of number."""
    i = task.first_run
    while task.live > 0 and i >= 0:
        if x.runs[i].alive:
            end_attempt(w, x, task, i, outcome)
        i = x.runs[i].next


@kernel
def succeed(w: World, x: View, task: Any, finisher: int) -> None:
    """First success: cancel the live siblings of a departed task, then settle."""
    if task.departed:
        kill_all(w, x, task, CANCELLED)
    settle(w, x, task, _FINISH, finisher)


@kernel
def execute_kill(w: World, x: View, task: Any) -> None:
    """Carry out the agent's kill: everything alive ends and the task settles."""
    note(x, _GRACE, task.task, -1, 0)
    task.killed = True
    kill_all(w, x, task, _KILL)
    settle(w, x, task, _KILL, -1)


@kernel
def _waits_for_pending(w: World, x: View, task: Any) -> bool:
    """Is an untouched task, nothing of it alive, still due for a row that never ran?

    Where that row is the one that ends last (by end and number), its outcome is the task's.
    """
    ep = x.ep
    record = w.tasks[task.task]
    if not task.pending:
        return False
    if ep.now < record.pending_end or record.kill_at == record.pending_end:
        return True
    task.pending = False
    if ep.now > record.pending_end:
        return False
    i = task.ended
    if i < 0 or x.runs[i].ended < ep.now or x.runs[i].number < record.pending_number:
        task.last_outcome = record.pending_outcome
        note(x, _END, task.task, record.pending_number, record.pending_outcome)
    return False


@kernel
def _may_restart(w: World, task: Any, cause: int) -> bool:
    """Is anything left that a restart could start?"""
    p = w.parameters[0]
    if p.continued:
        return not task.declined and (rows_left(w, task) or task.ghosts < p.drawn)
    if rows_left(w, task):
        return True
    return cause == FAILURE_RESTART and not p.paper


@kernel
def settle_if_over(w: World, x: View, task: Any) -> None:
    """Settle a task of which nothing is alive or due."""
    if task.settled or task.live > 0:
        return
    if task.departed:
        if task.owed_external > 0 and _may_restart(w, task, EXTERNAL_RESTART):
            return
        if task.owed_failure > 0 and _may_restart(w, task, FAILURE_RESTART):
            return
    elif rows_left(w, task) or _waits_for_pending(w, x, task):
        return
    settle(w, x, task, task.last_outcome, -1)


@kernel
def _owe(x: View, task: Any, local: int, time: int, number: int, cause: int) -> None:
    """Put a restart on the calendar."""
    if cause == EXTERNAL_RESTART:
        task.owed_external += 1
    else:
        task.owed_failure += 1
    push(x, time, sort_key(_START, task.task, number), local, cause, task.stamp)


@kernel
def owe_after_external(w: World, x: View, task: Any, local: int, i: int) -> None:
    """An outer end of a departed task: the cluster owes the next recorded attempt, if any."""
    if task.departed and not task.given_up and _may_restart(w, task, EXTERNAL_RESTART):
        run = x.runs[i]
        due = x.ep.now + gap_behind(w, task, run, False)
        _owe(x, task, local, due, run.number, EXTERNAL_RESTART)


@kernel
def owe_after_failure(w: World, x: View, task: Any, local: int, i: int) -> None:
    """A failure of a departed task, left to the cluster: it owes a restart, up to the limit."""
    if not task.departed or task.given_up:
        return
    p = w.parameters[0]
    if not task.declined if p.continued else task.failures <= p.restart_limit:
        run = x.runs[i]
        due = x.ep.now + gap_behind(w, task, run, True)
        _owe(x, task, local, due, run.number, FAILURE_RESTART)


@kernel
def depart(w: World, x: View, task: Any, local: int, failed: int) -> None:
    """Leave the record: starts to come are void, a restart owed for an earlier end stays due.

    Args:
        failed: the attempt whose FAILED decision is being answered, -1 for none.
    """
    if task.departed:
        return
    task.departed = True
    task.pending = False
    i = task.last_run
    if i < 0 or i == failed or x.runs[i].alive or not rows_left(w, task):
        return
    ending = w.rows[x.runs[i].row].ending
    if ending in (_EXTERNAL, _INTRINSIC):
        due = w.rows[w.tasks[task.task].rows_at + task.next].start
        _owe(x, task, local, max(x.ep.now, due), x.runs[i].number, EXTERNAL_RESTART)


@kernel
def give_up(w: World, x: View, task: Any, local: int, failed: int) -> None:
    """Start nothing more for the task."""
    depart(w, x, task, local, failed)
    task.given_up = True
    void_restarts(task)


@kernel
def _may_go_beyond(w: World, x: View, task: Any, beside: int) -> bool:
    """May a task of which no recorded attempt is left start one beyond the record?"""
    p = w.parameters[0]
    if p.continued:
        return task.ghosts < p.drawn
    return not p.paper or (beside >= 0 and w.rows[x.runs[beside].row].ending == _FINISHES)


@kernel
def start_next(w: World, x: View, task: Any, local: int, beside: int, by_cluster: bool) -> bool:
    """Start the next recorded attempt of a departed task, or one beyond; False if neither may be.

    Args:
        beside: the live attempt that is cloned, -1 for a retry or a restart. In the paper's
            accounting only a clone of an attempt that will finish goes beyond the record.
        by_cluster: is it a restart?
    """
    ghost = not rows_left(w, task)
    if ghost and not _may_go_beyond(w, x, task, beside):
        return False
    if not ghost:
        task.next += 1
    begin(w, x, task, local, ghost, by_cluster)
    return True


@kernel
def restart(w: World, x: View, task: Any, local: int, cause: int) -> None:
    """A restart falls due; dropped if something of the task is alive or nothing may start."""
    if cause == EXTERNAL_RESTART:
        task.owed_external -= 1
    else:
        task.owed_failure -= 1
    if task.live == 0 and not task.given_up and _may_restart(w, task, cause):
        start_next(w, x, task, local, -1, True)
    settle_if_over(w, x, task)
