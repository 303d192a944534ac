"""Which actions are legal at a decision, and the risk that a forecast tells there."""

from __future__ import annotations

from typing import Any

from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.checkpoints import may_checkpoint
from failgym.sim.shared.jit import kernel
from failgym.vocabulary import Action

__all__ = [
    "ONLY_CONTINUE",
    "legal_failed",
    "legal_window",
    "recorded_risk",
    "window_index",
]

_CLONE, _CHECKPOINT = int(Action.CLONE), int(Action.CHECKPOINT)
_KILL, _RETRY = int(Action.KILL), int(Action.RETRY)
ONLY_CONTINUE = 1
"""CONTINUE alone is legal, a bit each."""


@kernel
def window_index(w: Any, run: Any, now: int) -> int:
    """Whole windows behind an attempt, of progress or of age, by which its forecast is read."""
    p = w.parameters[0]
    if p.by_age:
        return ((now if run.alive else run.ended) - run.start) // p.window
    return (run.chain + work_of(run, now)) // p.window


@kernel
def recorded_risk(w: Any, run: Any, index: int) -> Any:
    """Forecast risk of the row of an attempt after so many windows, held at the last one."""
    row = w.rows[run.row]
    if row.risks == 0:
        return w.risk[-1]
    return w.risk[row.risk_at + min(max(index, 0), row.risks - 1)]


@kernel
def legal_window(w: Any, task: Any, run: Any, now: int) -> int:
    """Legal actions of a WINDOW decision, a bit each."""
    p = w.parameters[0]
    mask = ONLY_CONTINUE
    if p.clone and not task.given_up and task.extra < p.max_extra and task.clones < p.max_clones:
        mask |= 1 << _CLONE
    if p.checkpoint and may_checkpoint(run, now):
        mask |= 1 << _CHECKPOINT
    if p.kill:
        mask |= 1 << _KILL
    return mask


@kernel
def legal_failed(w: Any, task: Any) -> int:
    """Legal actions of a FAILED decision, a bit each."""
    p = w.parameters[0]
    mask = ONLY_CONTINUE
    if task.given_up:
        return mask
    if p.give_up:
        mask |= 1 << _KILL
    if p.retry and task.extra < p.max_extra:
        mask |= 1 << _RETRY
    return mask
