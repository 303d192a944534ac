"""What attempts of a continued record meet in every world, and whether the cluster goes on.

Rules C3, C6, C8 and C9 of `failgym.sim.reference`. What a drawn attempt meets depends on seed, task
and number alone: it is drawn, and drawn again, whenever it is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE
from failgym.sim.shared.draws import keyed
from failgym.sim.shared.jit import called, held, kernel
from failgym.sim.shared.keys import Purpose
from failgym.sim.shared.laws import CHANCE, FAILURE, GAP_AFTER_EXTERNAL, GAP_AFTER_FAILURE, draw
from failgym.vocabulary import Ending

__all__ = [
    "after_own",
    "declines_after_drawn",
    "declines_after_failure",
    "drawn_failure",
    "drawn_length",
    "gap_behind",
    "left_to_do",
    "position",
]

_INTRINSIC, _EXTERNAL = int(Ending.INTRINSIC), int(Ending.EXTERNAL)
_NEXT_FAILURE, _NEXT_CHANCE = int(Purpose.NEXT_FAILURE), int(Purpose.NEXT_CHANCE)
_NEXT_GAP, _NEXT_RESTART = int(Purpose.NEXT_GAP), int(Purpose.NEXT_RESTART)
_GIVES_UP = int(Purpose.GIVES_UP)
_LONGEST = float(LONGEST_FATE)


# --- What an attempt meets ------------------------------------------------------------------------


@kernel
def drawn_length(laws: Any, c: Any, number: int) -> float:
    """F of a drawn attempt (rule C3)."""
    chance = 1.0
    if c.chance_cell >= 0:
        found = draw(laws, CHANCE, c.chance_cell, keyed(c.stream, number, _NEXT_CHANCE))
        chance = found if found < np.inf else 1.0
    if c.work == np.inf:
        return np.inf
    return min(max(np.floor(c.work * c.slow * chance + 0.5), 1.0), _LONGEST)


@kernel
def drawn_failure(laws: Any, c: Any, number: int, past: int) -> float:
    """T_fail of a drawn attempt after so many failures (rule C4), infinite for never."""
    return draw(laws, FAILURE, c.cell[past], keyed(c.stream, number, _NEXT_FAILURE))


@kernel
def left_to_do(
    work: float, done: float, pace: float, length: float, fails: float, point: float
) -> tuple[float, float]:
    """After how much time of its own work an attempt fails by itself, and finishes (rule C6).

    Args:
        work: W [ms].
        done: s, what it resumes from [ms of W].
        pace: how much of W it does in a ms.
        length: time in which it would do all of W [ms].
        fails: time after which it would fail from the start [ms].
        point: position of that failure [ms of W].
    """
    finishes = length
    if done > 0.0:
        finishes = np.floor((work - done) / pace + 0.5)
        if done < point < np.inf:  # both may be infinite, point and pace
            fails = np.floor((point - done) / pace + 0.5)
    return fails, finishes


@kernel
def position(c: Any, run: Any, work: int) -> float:
    """What a checkpoint saves of the task's work that begins after so much own work (rule C7)."""
    return min(c.work, run.f0 + np.floor(work * run.pace))


# --- Whether the cluster goes on ------------------------------------------------------------------


@called
def _declines_by_record(laws: Any, c: Any, row: Any, failures: int) -> bool:
    """Does it where it restarts as in the record?

    Args:
        laws: `Laws`, held.
        c: CONTINUED of the task.
        row: row ``failures - 1`` of the record, if there are as many.
        failures: j.
    """
    if failures <= c.failures:
        return row.ends
    cell = c.cell[min(failures - 1, COUNTS - 1)]
    return keyed(c.stream, failures, _GIVES_UP) < laws.gives_up[cell]


@kernel
def declines_after_failure(w: Any, task: int, failures: int) -> bool:
    """Does the cluster decline at the last of so many intrinsic failures of what it started?"""
    p = w.parameters[0]
    if not p.by_record:
        return failures > p.restart_limit
    record, c = w.tasks[task], w.beyond[task]
    row = w.rows[record.rows_at + min(failures, record.rows) - 1]
    return _declines_by_record(held(w.laws), c, row, failures)


@called
def declines_after_drawn(laws: Any, c: Any, number: int, past: int) -> bool:
    """Does the cluster decline at the end of a drawn attempt from outside?"""
    return keyed(c.stream, number, _NEXT_RESTART) < laws.ends_external[c.cell[past]]


@kernel
def after_own(w: Any, task: Any, run: Any, ending: int) -> None:
    """An attempt has ended that the cluster started: does it decline (rule C8)?"""
    declines = False
    if ending == _INTRINSIC:
        task.own_failures += 1
        declines = declines_after_failure(w, task.task, task.own_failures)
    elif ending == _EXTERNAL:
        if run.ghost:
            c = w.beyond[task.task]
            declines = declines_after_drawn(held(w.laws), c, run.number, run.past)
        else:
            declines = w.rows[run.row].gap < 0
    if declines:
        task.declined = True


@called
def _drawn_gap(laws: Any, c: Any, run: Any, failed: bool) -> int:
    """Time from the end of an attempt to a restart, where the record has none (rule C9)."""
    law = GAP_AFTER_FAILURE if failed else GAP_AFTER_EXTERNAL
    gap = draw(laws, law, c.cell[run.past], keyed(c.stream, run.number, _NEXT_GAP))
    return int(gap) if gap < np.inf else 1


@kernel
def gap_behind(w: Any, task: Any, run: Any, failed: bool) -> int:
    """Time from the end of an attempt to the restart that follows it [ms]."""
    gap = w.rows[run.row].gap
    if w.parameters[0].continued and (run.ghost or gap < 0):
        return _drawn_gap(held(w.laws), w.beyond[task.task], run, failed)
    return gap
