"""Decisions: when they are asked and what may be answered (rules 5, 7, 12)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from failgym.sim.reference.tasks import Run, Task
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Action, Decision

__all__ = ["Question", "legal_actions", "next_window", "risk_at", "windows_behind"]


@dataclass
class Question:
    """A decision that waits for an answer."""

    kind: Decision
    task: Task
    run: Run
    legal: frozenset[Action]
    actions_taken: int


def windows_behind(rules: Rules, run: Run, now: int) -> int:
    """Rule 13: whole windows, of progress or of age, by which a forecast is read."""
    behind = run.elapsed(now) if rules.forecast_by == "age" else run.progress(now)
    return behind // rules.window


def risk_at(forecast: Forecast, run: Run, position: int) -> np.float32:
    """Risk of an attempt after so many windows.

    By a forecast of its row it is held beyond both ends, and 0 if unknown; a drawn attempt may have
    alarms of its own (A4).
    """
    if run.foretold is not None:
        return run.foretold.risk(position)
    first, beyond = (int(x) for x in forecast.offset[run.row.attempt : run.row.attempt + 2])
    if first == beyond:
        return np.float32(0.0)
    return forecast.risk[first + min(max(position, 0), beyond - first - 1)]


def next_window(rules: Rules, k: int) -> int:
    """The window of an attempt that is looked at after window k (rule 12)."""
    if rules.decide == "every":
        return k + rules.every
    if rules.decide == "geometric":
        return max(k + 1, math.ceil(rules.factor * k))
    return k + 1


def legal_actions(
    rules: Rules, kind: Decision, task: Task, run: Run, now: int
) -> frozenset[Action]:
    """The actions besides CONTINUE that may be taken; none if the decision is moot."""
    if not task.may_be_asked() or (kind is Decision.WINDOW and run.end is not None):
        return frozenset()
    if kind is Decision.FAILED:
        allowed = {
            Action.KILL: rules.give_up and not task.given_up,
            Action.RETRY: rules.retry and task.may_start(rules),
        }
    else:
        clones_left = task.clones < rules.max_clones
        allowed = {
            Action.CLONE: rules.clone and clones_left and task.may_start(rules),
            Action.CHECKPOINT: rules.checkpoint and _may_checkpoint(run, now),
            Action.KILL: rules.kill,
        }
    return frozenset(action for action, legal in allowed.items() if legal)


def _may_checkpoint(run: Run, now: int) -> bool:
    """Rule 7: no restore or checkpoint runs, and something was gained since the last one."""
    return not run.busy_saving(now) and run.work(now) > run.work_checkpointed()
