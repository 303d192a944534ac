"""Attempts: how one starts, when it will end, how it ends."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.accounts import charge_ended
from failgym.sim.pinned.beyond import meet
from failgym.sim.pinned.records import View, World
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import held, kernel
from failgym.sim.shared.windows import rounded
from failgym.vocabulary import NEVER, Ending, Event, Outcome

__all__ = ["begin", "date_end", "end_attempt", "own_ending", "own_outcome", "windows_matter"]

_END, _RESTORED, _START = int(Event.END), int(Event.RESTORED), int(Event.START)
_WINDOW = int(Event.WINDOW)
_FINISH, _INTRINSIC, _USER = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.USER)
_CENSORED = int(Ending.CENSORED)
_FINISHED, _FAILED = int(Outcome.FINISH), int(Outcome.FAIL)
_EVICTED = int(Outcome.EVICT)


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
def _meet_recorded(w: World, task: Any, row: Any, run: Any) -> None:
    """What an attempt that replays a row meets, or a ghost of it."""
    run.inner = _INTRINSIC if row.ending == _INTRINSIC else _FINISH
    run.outer = row.ending
    run.fin = run.restored + work_needed(row, task.durable)
    run.ext = run.start + row.duration
    if row.ending == _FINISH or row.ending == _INTRINSIC:
        run.ext = NEVER
    elif row.ending == _USER:
        run.ext = w.tasks[task.task].kill_at
    elif row.ending == _CENSORED:
        run.fin = NEVER


@kernel
def own_ending(run: Any) -> int:
    """What ends an attempt left to itself: its work, if that is done strictly before an outer end.

    A failure by itself comes before an outer end of the same millisecond.
    """
    if run.fin < run.ext or (run.fin == run.ext and run.inner == _INTRINSIC):
        return run.inner
    return run.outer


@kernel
def own_outcome(w: World, run: Any) -> int:
    """Outcome of an attempt left to itself."""
    ending = own_ending(run)
    if ending == _FINISH:
        return _FINISHED
    if w.parameters[0].continued and run.ghost:
        return _FAILED if ending == _INTRINSIC else _EVICTED
    return w.rows[run.row].outcome


@kernel
def date_end(run: Any) -> None:
    """Work out when an attempt ends: anew, and never earlier, after each checkpoint.

    NEVER where the user's final kill takes it, which is an event of its own. The calendar holds one
    END of each attempt; if it comes up before the attempt ends, it is put back.
    """
    ending = own_ending(run)
    run.end = run.fin if ending == run.inner else run.ext
    if ending == _USER:
        run.end = NEVER


@kernel
def windows_matter(w: World, task: Any) -> bool:
    """Can a WINDOW of the task ever be asked again?"""
    p = w.parameters[0]
    if task.settled or w.tasks[task.task].censored:
        return False
    cloning = p.clone and not task.given_up and task.extra < p.max_extra
    return p.kill or p.checkpoint or (cloning and task.clones < p.max_clones)


@kernel
def begin(w: World, x: View, task: Any, local: int, ghost: bool, by_cluster: bool) -> None:
    """Start the row before ``task.next``, or an attempt beyond the last one, now.

    It resumes from the task's checkpoint if there is one.

    Args:
        ghost: is it beyond the record?
        by_cluster: does the record or a restart start it?
    """
    ep = x.ep
    p = w.parameters[0]
    record = w.tasks[task.task]
    index = record.rows_at + task.next - 1
    row = w.rows[index]
    i = ep.runs
    ep.runs += 1
    run = x.runs[i]
    run.row, run.local, run.ghost, run.alive = index, local, ghost, True
    run.number, run.before, run.by_cluster = row.number, task.attempts, by_cluster
    if ghost:
        run.number = record.numbers + task.ghosts
        task.ghosts += 1
    run.next, run.kind, run.outcome, run.window = -1, 0, -1, 0
    run.start, run.ended, run.f0 = ep.now, -1, task.durable
    run.restored = ep.now + (p.restore_cost if task.durable > 0.0 else 0)
    if p.continued:
        meet(held(w.laws), w.beyond[task.task], record, row, task, run)
    else:
        _meet_recorded(w, task, row, run)
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
    date_end(run)
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
