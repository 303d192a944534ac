"""Attempts: how one starts, when it will end, how it ends."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.accounts import charge_ended
from failgym.sim.pinned.records import View, World
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import kernel
from failgym.sim.shared.windows import rounded
from failgym.vocabulary import NEVER, Ending, Event, Outcome

__all__ = ["begin", "date_end", "end_attempt", "own_outcome", "windows_matter"]

_END, _RESTORED, _START = int(Event.END), int(Event.RESTORED), int(Event.START)
_WINDOW = int(Event.WINDOW)
_FINISH, _INTRINSIC, _USER = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.USER)
_CENSORED = int(Ending.CENSORED)
_FINISHED = int(Outcome.FINISH)


@kernel
def work_needed(row: Any, f0: float) -> int:
    """Work until an attempt is done [ms]: to its point of failure if it fails, else to its length.

    From the very start (f0 = 0) the recorded duration stands as it is.
    """
    if f0 == 0.0:
        own = row.ending == _FINISH or row.ending == _INTRINSIC
        return row.duration if own else row.length
    point = row.fraction if row.ending == _INTRINSIC else 1.0
    return rounded(max(point - f0, 0.0) * row.length)


@kernel
def ended_from_outside(w: World, task: Any, row: Any, start: int) -> int:
    """When something outside ends an attempt that started at ``start``, else NEVER."""
    if row.ending == _FINISH or row.ending == _INTRINSIC:
        return NEVER
    if row.ending == _USER:
        return w.tasks[task.task].kill_at
    return start + row.duration


@kernel
def own_outcome(row: Any, run: Any) -> int:
    """Outcome of an attempt left to itself: work done strictly before an outer end finishes it."""
    outside = row.ending != _FINISH and row.ending != _INTRINSIC
    if outside and row.ending != _CENSORED and run.fin < run.ext:
        return _FINISHED
    return row.outcome


@kernel
def date_end(w: World, run: Any) -> None:
    """Work out when an attempt ends: anew, and never earlier, after each checkpoint.

    NEVER where the user's final kill takes it, which is an event of its own. The calendar holds one
    END of each attempt; if it comes up before the attempt ends, it is put back.
    """
    row = w.rows[run.row]
    run.end = run.fin
    if row.ending == _CENSORED or run.ext <= run.fin:
        run.end = NEVER if row.ending == _USER else run.ext


@kernel
def windows_matter(w: World, task: Any) -> bool:
    """Can a WINDOW of the task ever be asked again?"""
    p = w.parameters[0]
    if task.settled or w.tasks[task.task].censored:
        return False
    cloning = p.clone and not task.given_up and task.extra < p.max_extra
    return p.kill or p.checkpoint or (cloning and task.clones < p.max_clones)


@kernel
def begin(
    w: World,
    x: View,
    task: Any,
    local: int,
    index: int,
    ghost: bool,
) -> None:
    """Start row ``index`` of World.rows, or its ghost, now, from the task's checkpoint if any."""
    ep = x.ep
    p = w.parameters[0]
    row = w.rows[index]
    i = ep.runs
    ep.runs += 1
    run = x.runs[i]
    run.row, run.local, run.ghost, run.alive = index, local, ghost, True
    run.number, run.before = row.number, task.attempts
    if ghost:
        run.number = w.tasks[task.task].numbers + task.ghosts
        task.ghosts += 1
    run.next, run.kind, run.outcome, run.window = -1, 0, -1, 0
    run.start, run.ended, run.f0 = ep.now, -1, task.durable
    run.restored = ep.now + (p.restore_cost if task.durable > 0.0 else 0)
    run.fin = run.restored + work_needed(row, task.durable)
    run.ext = ended_from_outside(w, task, row, ep.now)
    run.pause_from, run.pause_until, run.paused = -1, -1, 0
    run.checkpoint_work, run.durable_work, run.saved = 0, 0, 0
    run.parent, run.parent_amount = task.best_run, task.best_amount
    run.chain = task.durable_work
    if task.first_run < 0:
        task.first_run = i
    else:
        x.runs[task.last_run].next = i
    task.last_run = i
    task.live += 1
    task.attempts += 1
    note(x, _START, task.task, run.number, int(ghost))
    date_end(w, run)
    if run.end != NEVER:
        push(x, run.end, sort_key(_END, task.task, run.number), local, i, 0)
    if run.restored > ep.now:
        key = sort_key(_RESTORED, task.task, run.number)
        push(x, run.restored, key, local, i, 0)
    if windows_matter(w, task):
        push(x, ep.now, sort_key(_WINDOW, task.task, run.number), local, i, 0)


@kernel
def end_attempt(w: World, x: View, task: Any, i: int, outcome: int) -> None:
    """End a live attempt now and charge it."""
    run = x.runs[i]
    charge_ended(x.ep, task, run, outcome, w.tasks[task.task].width)
    run.alive, run.ended, run.outcome = False, x.ep.now, outcome
    task.live -= 1
    task.ended = i
    task.last_outcome = outcome
    note(x, _END, task.task, run.number, outcome)
