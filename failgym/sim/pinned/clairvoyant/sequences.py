"""Attempts that follow each other, with nothing to decide but when to save them."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.attempts import own_outcome
from failgym.sim.pinned.records import State, World
from failgym.sim.shared.jit import kernel
from failgym.vocabulary import Ending, Outcome

__all__ = [
    "finishes_alone",
    "follow_each_other",
    "in_turn",
    "is_regular",
    "is_sequence",
    "last_chance",
    "worth_saving",
]

_FINISH, _INTRINSIC = int(Ending.FINISH), int(Ending.INTRINSIC)
_EXTERNAL = int(Ending.EXTERNAL)
_FINISHED, _CUT = int(Outcome.FINISH), int(Outcome.CENSORED)
_EVERY, _ALARM = 0, 2


@kernel
def _on_grid(w: World, record: Any) -> bool:
    """Do the windows of all attempts keep their place relative to the work done, whatever is saved?

    That is so if the attempts share one true length, every window is a decision, and checkpoint and
    restore cost are multiples of their spacing.
    """
    p = w.parameters[0]
    spacing = p.window * p.every
    if p.spacing != _EVERY or p.checkpoint_cost % spacing != 0 or p.restore_cost % spacing != 0:
        return False
    first: Any = w.rows[record.rows_at]
    length = first.length
    for i in range(record.rows_at, record.rows_at + record.rows):
        if w.rows[i].length != length or length == 0:
            return False
    return True


@kernel
def is_sequence(w: World, record: Any) -> bool:
    """Do attempts `follow_each_other`, and is there nothing to gain by a checkpoint but its work?

    That is: overhead is priced no lower than wasted work, and attempts may be saved at ages that
    are known beforehand.
    """
    p = w.parameters[0]
    if p.spacing == _ALARM or p.overhead < p.wasted:
        return False
    return follow_each_other(w, record)


@kernel
def follow_each_other(w: World, record: Any) -> bool:
    """Do the attempts of a task follow each other, with nothing to decide but when to save them?

    That is: only checkpoints (and kills) may be decided; the attempts do not overlap, none was cut
    by the end of the data, a FINISH comes last, and there is no row that never started.
    """
    return record.pending_end < 0 and in_turn(w, record)


@kernel
def in_turn(w: World, record: Any) -> bool:
    """The same, but for a row that never started: it is void once the task has left the record."""
    p = w.parameters[0]
    if p.clone or p.give_up or p.retry or record.rows == 0:
        return False
    last = record.rows_at + record.rows - 1
    for i in range(record.rows_at, last + 1):
        row = w.rows[i]
        if row.outcome == _CUT:
            return False
        if i < last and (row.ending == _FINISH or row.start + row.duration > w.rows[i + 1].start):
            return False
    return True


@kernel
def is_regular(w: World, record: Any) -> bool:
    """May `worth_saving` be relied on in a sequence?

    So it is if no attempt fails at a point of its progress, if all windows lie on a grid, and if
    there is but one attempt.
    """
    if record.rows == 1:
        return True
    for i in range(record.rows_at, record.rows_at + record.rows):
        if w.rows[i].ending == _INTRINSIC:
            return _on_grid(w, record)
    return True


@kernel
def worth_saving(w: World, s: State) -> bool:
    """In a regular sequence: is this window one of the two at which a checkpoint may be worth it?

    Write D for the work held by the task's checkpoint.

    - An attempt that will finish is best left alone: a checkpoint delays it, and nothing comes
      after. The same holds for the only attempt of a task: to leave the record saves nothing.
    - Of the others only the last checkpoint that becomes durable counts for what follows. Take a
      plan that saves an attempt at some windows, and one that saves it only at the last window that
      can become durable before the end. Both pay the restore from then on. The second holds at
      least as much work, paid no more pauses and lost no more, and the task comes out of the
      attempt no later. More work held is never worse: an attempt with an outer end passes alike, or
      finishes; one that fails at a point of its progress fails sooner. What that could spoil is the
      place of the last window before the failure. On a grid neither pauses nor restores do: D is
      larger by a multiple m of the spacing, so where the first plan saves at work x, the second
      saves at x - m, if that is positive, and both hold the same; else the second holds enough
      already. Whatever comes earlier, before a user's kill, is made up for by as much work that was
      not done before.
    - A checkpoint that does not become durable only makes the task leave the record, after which
      the cluster restarts it `restart_limit` times at most. Its cheapest form is the last window of
      an attempt with an outer end.
    """
    ep, task = s.episodes[0], s.tasks[0, 0]
    run = s.runs[0, ep.run]
    p = w.parameters[0]
    row: Any = w.rows[run.row]
    record: Any = w.tasks[task.task]
    if record.rows == 1:
        return False
    following = run.start + run.window * p.window
    if row.ending == _INTRINSIC:
        return following >= run.fin
    if row.ending != _EXTERNAL or run.fin < run.ext:
        return False
    if ep.now + p.checkpoint_cost < run.ext:
        return following + p.checkpoint_cost >= run.ext
    return not task.departed and following >= run.ext


@kernel
def last_chance(w: World, s: State) -> bool:
    """Is this the last window of an attempt that fails at which a checkpoint becomes durable?"""
    run: Any = s.runs[0, s.episodes[0].run]
    p = w.parameters[0]
    if own_outcome(w, run) == _FINISHED:
        return False
    following = run.start + run.window * p.window
    durable = s.episodes[0].now + p.checkpoint_cost < run.end
    return durable and following + p.checkpoint_cost >= run.end


@kernel
def finishes_alone(w: World, s: State) -> bool:
    """Is the attempt that is asked about best left alone from here on?

    It is the only one alive, it will finish, it works, nothing else will start, and all that was
    saved is on its way to that: then nothing is charged any more, and no plan that goes on from
    here costs less. Where time until completion has a price, or a pause is not over, a copy may be
    quicker.
    """
    ep, task = s.episodes[0], s.tasks[0, 0]
    run: Any = s.runs[0, ep.run]
    record: Any = w.tasks[task.task]
    if w.parameters[0].completion > 0.0 or not run.alive or task.live != 1 or task.armed:
        return False
    if not task.departed and task.next < record.rows:
        return False
    if ep.now < run.restored or run.pause_from >= 0:
        return False
    if own_outcome(w, run) != _FINISHED or run.end >= record.kill_at:
        return False
    saved = task.saved[0] + task.saved[1] + task.saved[2]
    amount, i = run.parent_amount, run.parent
    while i >= 0:
        saved -= amount * record.width
        amount, i = s.runs[0, i].parent_amount, s.runs[0, i].parent
    return saved == 0
