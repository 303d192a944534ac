"""Checkpoints: progress stops for the cost; durable at its end, lost if the attempt dies before."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.attempts import date_end
from failgym.sim.pinned.records import View, World
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.beyond import position
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import kernel
from failgym.vocabulary import NEVER, Event

__all__ = ["begin_checkpoint", "make_durable"]

_DURABLE = int(Event.DURABLE)


@kernel
def _reached(w: World, task: Any, run: Any, work: int) -> float:
    """How far an attempt with so much own work has brought its task.

    The share of the length, at most 1; where the record is continued, of the task's work [ms].
    """
    if w.parameters[0].continued:
        return position(w.beyond[task.task], run, work)
    length = w.rows[run.row].length
    if length == 0:
        return 1.0
    return min(1.0, run.f0 + work / length)


@kernel
def begin_checkpoint(w: World, x: View, task: Any, local: int, i: int) -> None:
    """Stop an attempt to save its progress."""
    ep = x.ep
    cost = w.parameters[0].checkpoint_cost
    run = x.runs[i]
    run.checkpoint_work = work_of(run, ep.now)
    run.pause_from = ep.now
    run.pause_until = ep.now + cost
    if run.fin != NEVER:
        run.fin += cost
    date_end(run)
    key = sort_key(_DURABLE, task.task, run.number)
    push(x, run.pause_until, key, local, i, 0)


@kernel
def make_durable(w: World, x: View, task: Any, i: int) -> None:
    """Complete a checkpoint; the task keeps it if it holds more than the one it has."""
    run = x.runs[i]
    run.paused += run.pause_until - run.pause_from
    run.pause_from = -1
    run.durable_work = run.checkpoint_work
    task.checkpoints += 1
    note(x, _DURABLE, task.task, run.number, 0)
    reached = _reached(w, task, run, run.checkpoint_work)
    if reached > task.durable:
        task.durable = reached
        task.best_run = i
        task.best_amount = run.checkpoint_work
        task.durable_work = run.chain + run.checkpoint_work
        run.saved = run.checkpoint_work
