"""Checkpoints of progress and writes of outputs, to the one stable storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.accounts import charge_write
from failgym.sim.scheduled.attempts import date_end, vacate
from failgym.sim.scheduled.cluster.storage import begin_write, lose_write
from failgym.sim.scheduled.queue.queues import request_pass
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.workflow.outputs import output_saved, output_unwritten, output_writing
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.beyond import position
from failgym.sim.shared.events import note
from failgym.sim.shared.jit import called
from failgym.vocabulary import NEVER, Event

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["begin_checkpoint", "begin_output_write", "lose_output_write", "make_durable"]

_DURABLE, _WRITE_LOST = int(Event.DURABLE), int(Event.WRITE_LOST)
_WRITING = int(RunState.WRITING)


@called
def begin_checkpoint(w: World, x: View, i: int) -> None:
    """Stop a run until its progress is saved."""
    run = x.runs[i]
    run.checkpoint_work = work_of(run, x.ep.now)
    run.pause_from, run.pause_until = x.ep.now, NEVER
    date_end(w, x, i)
    begin_write(w, x, i, w.parameters[0].checkpoint_cost)


@called
def _reached(w: World, task: Any, run: Any) -> float:
    """How far a run had brought its task when its checkpoint began.

    The share of the length, at most 1; where the record is continued, of the task's work [ms].
    """
    if w.parameters[0].continued:
        return float(position(w.beyond[task.task], run, run.checkpoint_work))
    if run.length == 0:
        return 1.0
    return float(min(1.0, run.f0 + run.checkpoint_work / run.length))


@called
def _progress_saved(w: World, x: View, i: int) -> None:
    """Complete a checkpoint; the task keeps it if it holds more than the one it has."""
    run = x.runs[i]
    task, now = x.tasks[run.local], x.ep.now
    run.paused += now - run.pause_from
    if run.fin != NEVER:
        run.fin += now - run.pause_from
    run.pause_from, run.pause_until = -1, now
    run.durable_work = run.checkpoint_work
    reached = _reached(w, task, run)
    if reached > task.durable:
        task.durable = reached
        task.best_run, task.best_amount = i, run.checkpoint_work
        task.durable_work = run.chain + run.checkpoint_work
        task.most_durable = max(task.most_durable, task.durable_work)
        run.saved = run.checkpoint_work
    date_end(w, x, i)


@called
def _output_saved(w: World, x: View, i: int) -> None:
    """Complete the write of an output: the run gives its slots back."""
    run = x.runs[i]
    task = x.tasks[run.local]
    charge_write(x, task, run)
    task.output_saved = True
    output_saved(w, x, run.local, x.ep.now - run.writes_from)
    vacate(w, x, i)


@called
def make_durable(w: World, x: View, i: int) -> None:
    """A write of a run has ended."""
    run = x.runs[i]
    task = x.tasks[run.local]
    task.checkpoints += 1
    note(x, _DURABLE, task.task, run.number, 0)
    if run.state == _WRITING:
        _output_saved(w, x, i)
    else:
        _progress_saved(w, x, i)


@called
def begin_output_write(w: World, x: View, i: int) -> None:
    """A run that has finished begins to write its output; it keeps its slots."""
    run = x.runs[i]
    run.state, run.writes_from = _WRITING, x.ep.now
    output_writing(w, x, run.local)
    begin_write(w, x, i, w.tasks[x.tasks[run.local].task].write)
    request_pass(w, x)


@called
def lose_output_write(w: World, x: View, i: int) -> None:
    """The machine of a run that wrote its output has failed."""
    run = x.runs[i]
    task = x.tasks[run.local]
    note(x, _WRITE_LOST, task.task, run.number, 0)
    charge_write(x, task, run)
    lose_write(w, x, i)
    output_unwritten(w, x, run.local)
    vacate(w, x, i)
