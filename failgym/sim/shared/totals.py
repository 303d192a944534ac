"""What may come together while a trace is played has to fit into the numbers of the engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.records import Records
from failgym.sim.shared.rules import Rules
from failgym.traces.schema import LATEST
from failgym.vocabulary import NEVER

__all__ = ["LONGEST_LENGTH", "MOST_TIME", "check_totals"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LONGEST_LENGTH = 2**60
"""Undisturbed lengths are at most this [ms]: what an attempt of 35 years can be drawn to have."""
MOST_TIME = NEVER - 2 * LATEST
"""Times by slots come to at most this [ms]: no time is as late as `NEVER`, whatever runs when."""


def check_totals(
    rules: Rules,
    tasks: Records,
    rows: Records,
    slowest: float = 1.0,
    extra: int = 0,
    drawn: Ints | None = None,
    gap: Ints | None = None,
) -> None:
    """Raise ValueError, in one line, if a policy could bring about more than `MOST_TIME`.

    Every attempt that may be started runs as long as the longest of its task, and is saved whenever
    it has done something since the last checkpoint. The sum is made as a float.

    Args:
        rules: caps and costs.
        tasks: TASK [tasks].
        rows: ROW [attempts that can run], those of a task together.
        slowest: speed of the slowest machine.
        extra: what else may keep the slots of an attempt, where nobody shares the storage [ms].
        drawn: [tasks] how long an attempt beyond the record can run, where that is continued [ms].
        gap: [tasks] how long it may be until one is restarted there [ms].
    """
    longest = _longest(tasks, rows) / slowest
    attempts = tasks["rows"] + _extra_attempts(rules)
    if drawn is not None:
        longest = np.maximum(longest, drawn)
    most: Floats = attempts * (longest + _overhead(rules, longest) + extra) * tasks["width"]
    if gap is not None:
        most += attempts * gap
    total = float(most.sum())
    if not total <= MOST_TIME:
        task = int(np.argmax(most))
        raise ValueError(
            f"task {task}: {longest[task]:.3g} ms on {tasks['width'][task]} slots, tried"
            f" {attempts[task]} times and saved as often as the rules allow, is too much: all tasks"
            f" could come to {total:.3g} machine-ms, expected at most {MOST_TIME:.3g}"
        )


def _longest(tasks: Records, rows: Records) -> Ints:
    """How long an attempt of each task can run, saving and restoring aside [ms]."""
    killed = np.where(tasks["kill_at"] < NEVER, tasks["kill_at"] - tasks["submit"], 0)
    longest: Ints = np.maximum(killed, 0)
    filled = np.flatnonzero(tasks["rows"])
    if len(filled):
        found = np.maximum.reduceat(rows["duration"], tasks["rows_at"][filled])
        longest[filled] = np.maximum(longest[filled], found)
    return longest


def _extra_attempts(rules: Rules) -> int:
    """Attempts of a task that may be started beside those of the record."""
    asked = rules.clone or rules.checkpoint or rules.kill or rules.give_up or rules.retry
    if asked and rules.beyond_record == "continued":
        return rules.drawn_attempts
    own = rules.max_extra if rules.clone or rules.retry else 0
    return own + (rules.restart_limit + 1 if asked else 0)


def _overhead(rules: Rules, longest: npt.NDArray[np.float64]) -> Floats:
    """Time that attempts of a length spend on checkpoints and on a restore, at most [ms].

    A checkpoint begins with a window. What is left of the window in which it ends, or a whole one,
    is work.
    """
    if not rules.checkpoint:
        return np.zeros(len(longest))
    between = rules.window - rules.checkpoint_cost % rules.window
    return (longest / between + 1.0) * rules.checkpoint_cost + float(rules.restore_cost)
