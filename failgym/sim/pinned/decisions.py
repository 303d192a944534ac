"""Decisions: what is legal, and what an action does."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.checkpoints import begin_checkpoint
from failgym.sim.pinned.records import View, World
from failgym.sim.pinned.risks import risk_of
from failgym.sim.pinned.settlement import (
    depart,
    execute_kill,
    give_up,
    owe_after_failure,
    settle_if_over,
    start_next,
)
from failgym.sim.shared.events import note, push, sort_key
from failgym.sim.shared.jit import kernel
from failgym.sim.shared.legal import (
    ONLY_CONTINUE,
    legal_failed,
    legal_window,
    window_index,
)
from failgym.sim.shared.restarts import void_restarts
from failgym.vocabulary import Action, Decision, Event

__all__ = ["apply", "ask", "close"]

_CONTINUE, _CLONE, _CHECKPOINT = int(Action.CONTINUE), int(Action.CLONE), int(Action.CHECKPOINT)
_RETRY = int(Action.RETRY)
_WINDOW, _FAILED = int(Decision.WINDOW), int(Decision.FAILED)
_GRACE, _DECISION = int(Event.GRACE), int(Event.DECISION)


@kernel
def ask(w: World, x: View, task: Any, local: int, i: int, kind: int) -> bool:
    """Open a decision, if more than CONTINUE is legal."""
    ep = x.ep
    mask = legal_window(w, task, x.runs[i], ep.now) if kind == _WINDOW else legal_failed(w, task)
    if mask == ONLY_CONTINUE:
        return False
    ep.decision, ep.local, ep.run, ep.mask = kind, local, i, mask
    ep.taken, ep.retried = 0, False
    ep.decisions += 1
    task.decisions += 1
    return True


@kernel
def close(w: World, x: View, task: Any) -> None:
    """Close the open decision; a failure that was not answered is left to the cluster."""
    ep = x.ep
    run = x.runs[ep.run]
    task.flagged = max(task.flagged, risk_of(w, task, run, window_index(w, run, ep.now)))
    if ep.decision == _FAILED:
        if not ep.retried:
            owe_after_failure(w, x, task, ep.local, ep.run)
        settle_if_over(w, x, task)


@kernel
def _kill(w: World, x: View, task: Any) -> None:
    """Arm the task to be killed after its grace period; armed, or the period over, kill it now."""
    record = w.tasks[task.task]
    due = record.first_start + record.grace
    if task.armed or due <= x.ep.now:
        task.armed = True
        execute_kill(w, x, task)
        return
    task.armed = True
    push(x, due, sort_key(_GRACE, task.task, 0), x.ep.local, -1, 0)


@kernel
def _act(w: World, x: View, task: Any, action: int) -> None:
    """Carry out a legal action other than CONTINUE."""
    ep = x.ep
    local, i = ep.local, ep.run
    if action == _CLONE:
        depart(w, x, task, local, -1)
        task.extra += 1
        task.clones += 1
        start_next(w, x, task, local, i, False)
    elif action == _CHECKPOINT:
        depart(w, x, task, local, -1)
        begin_checkpoint(w, x, task, local, i)
    elif action == _RETRY:
        depart(w, x, task, local, i)
        void_restarts(task)
        task.extra += 1
        task.retries += 1
        ep.retried = True
        start_next(w, x, task, local, -1, False)
    elif ep.decision == _FAILED:
        give_up(w, x, task, local, i)
    else:
        _kill(w, x, task)


@kernel
def apply(w: World, x: View, action: int) -> bool:
    """Answer the open decision; True if it is asked again."""
    ep = x.ep
    task = x.tasks[ep.local]
    if action < 0 or action > _RETRY or not (ep.mask >> action) & 1:
        ep.illegal += 1
        action = _CONTINUE
    note(x, _DECISION, task.task, x.runs[ep.run].number, action)
    if action != _CONTINUE:
        _act(w, x, task, action)
        ep.taken += 1
        if not task.settled:
            if ep.decision == _FAILED:
                ep.mask = legal_failed(w, task)
            elif x.runs[ep.run].alive:
                ep.mask = legal_window(w, task, x.runs[ep.run], ep.now)
            else:
                ep.mask = ONLY_CONTINUE
            if ep.mask != ONLY_CONTINUE:
                return True
    close(w, x, task)
    return False
