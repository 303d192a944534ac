"""Decisions of the scheduled world: what is legal, and what an action does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.attempts import forget, vacate
from failgym.sim.scheduled.checkpoints import begin_checkpoint, begin_output_write
from failgym.sim.scheduled.cluster.placing import answer_dispatch
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.risks import risk_of
from failgym.sim.scheduled.settlement import (
    execute_kill,
    give_up,
    owe_after_failure,
    settle_if_over,
    start_next,
)
from failgym.sim.scheduled.workflow.lineage import unblock_children
from failgym.sim.scheduled.workflow.outputs import output_wanted
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import called
from failgym.sim.shared.legal import (
    ONLY_CONTINUE,
    legal_failed,
    legal_window,
    window_index,
)
from failgym.sim.shared.restarts import void_restarts
from failgym.vocabulary import Action, Decision, Event

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["answer", "ask", "ask_output"]

_CONTINUE, _CLONE, _CHECKPOINT = int(Action.CONTINUE), int(Action.CLONE), int(Action.CHECKPOINT)
_RETRY = int(Action.RETRY)
_WINDOW, _FAILED = int(Decision.WINDOW), int(Decision.FAILED)
_OUTPUT, _DISPATCH = int(Decision.OUTPUT), int(Decision.DISPATCH)
_GRACE, _DECISION = int(Event.GRACE), int(Event.DECISION)
_ENDED = int(RunState.ENDED)


@called
def _open(x: View, i: int, kind: int, mask: int) -> bool:
    """Open a decision, if more than CONTINUE is legal."""
    if mask == ONLY_CONTINUE:
        return False
    ep, local = x.ep, x.runs[i].local
    ep.decision, ep.local, ep.run, ep.mask = kind, local, i, mask
    ep.taken, ep.retried = 0, False
    ep.decisions += 1
    x.tasks[local].decisions += 1
    return True


@called
def ask(w: World, x: View, i: int, kind: int) -> bool:
    """Open a WINDOW or FAILED decision, if more than CONTINUE is legal."""
    task = x.tasks[x.runs[i].local]
    window = kind == _WINDOW
    mask = legal_window(w, task, x.runs[i], x.ep.now) if window else legal_failed(w, task)
    return _open(x, i, kind, mask)


@called
def ask_output(w: World, x: View, i: int) -> bool:
    """Open an OUTPUT decision, if the output is still needed."""
    if not output_wanted(w, x, x.runs[i].local):
        return False
    return _open(x, i, _OUTPUT, ONLY_CONTINUE | (1 << _CHECKPOINT))


@called
def _close(w: World, x: View) -> None:
    """Close the open decision; a failure that was not answered is left to the cluster."""
    ep, i, local = x.ep, x.ep.run, x.ep.local
    run, task = x.runs[i], x.tasks[local]
    task.flagged = max(task.flagged, risk_of(w, task.task, run, window_index(w, run, ep.now)))
    if ep.decision == _FAILED:
        if not ep.retried:
            owe_after_failure(w, x, local, i)
        settle_if_over(w, x, local)
        if run.state == _ENDED:
            forget(x, i)
    elif ep.decision == _OUTPUT:
        if run.state == _ENDED:
            vacate(w, x, i)
        unblock_children(w, x, local)


@called
def _kill(w: World, x: View) -> None:
    """Arm the task to be killed after its grace period; armed, or the period over, kill it now."""
    ep, local = x.ep, x.ep.local
    task = x.tasks[local]
    due = task.first_start + w.tasks[task.task].grace
    if task.armed or due <= ep.now:
        task.armed = True
        execute_kill(w, x, local)
        return
    task.armed = True
    push(x, due, sort_key(_GRACE, task.task, 0), local, -1, 0)


@called
def _act(w: World, x: View, action: int) -> None:
    """Carry out a legal action other than CONTINUE."""
    ep, i, local = x.ep, x.ep.run, x.ep.local
    task = x.tasks[local]
    if action in (_CLONE, _RETRY):
        task.extra += 1
        if action == _CLONE:
            task.clones += 1
        else:
            void_restarts(task)
            task.retries += 1
            ep.retried = True
        start_next(w, x, local, i if action == _CLONE else -1, False)
    elif action == _CHECKPOINT:
        if ep.decision == _OUTPUT:
            begin_output_write(w, x, i)
        else:
            begin_checkpoint(w, x, i)
    elif ep.decision == _FAILED:
        give_up(w, x, local)
    else:
        _kill(w, x)


@called
def _legal_again(w: World, x: View) -> int:
    """What is legal when the decision is asked again after an action."""
    task, run = x.tasks[x.ep.local], x.runs[x.ep.run]
    if x.ep.decision == _OUTPUT or task.settled:
        return ONLY_CONTINUE
    if x.ep.decision == _FAILED:
        return legal_failed(w, task)
    if not run.alive:
        return ONLY_CONTINUE
    return legal_window(w, task, run, x.ep.now)


@called
def _place(w: World, x: View, action: int) -> bool:
    """Answer a DISPATCH decision; True if another one is open."""
    i, run, task = x.ep.run, x.runs[x.ep.run], x.tasks[x.ep.local]
    run.chain = task.durable_work
    risk = risk_of(w, task.task, run, window_index(w, run, x.ep.now))
    again = answer_dispatch(w, x, action)
    if not again or x.ep.run != i:
        task.flagged = max(task.flagged, risk)
    return again


@called
def answer(w: World, x: View, action: int) -> bool:
    """Answer the open decision; True if it is asked again, or another one at once."""
    ep = x.ep
    if action < 0 or action > _RETRY or not (ep.mask >> action) & 1:
        ep.illegal += 1
        action = _CONTINUE
    note(x, _DECISION, x.tasks[ep.local].task, x.runs[ep.run].number, action)
    if ep.decision == _DISPATCH:
        return _place(w, x, action)
    if action != _CONTINUE:
        _act(w, x, action)
        ep.taken += 1
        ep.mask = _legal_again(w, x)
        if ep.mask != ONLY_CONTINUE:
            return True
    _close(w, x)
    return False
