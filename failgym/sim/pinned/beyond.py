"""The continued record: what attempts meet, recorded or drawn, and whether the cluster goes on.

Rules C1 to C9 of `failgym.sim.reference`. Attempts of a departed task start in the order of their
numbers, so what a drawn one would meet is drawn when it starts: it depends on seed, task and number
alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.pinned.records import World
from failgym.sim.shared.continuation import COUNTS, LONGEST_FATE
from failgym.sim.shared.draws import keyed
from failgym.sim.shared.jit import called, held, kernel
from failgym.sim.shared.keys import Purpose
from failgym.sim.shared.laws import (
    CHANCE,
    EXTERNAL,
    FAILURE,
    GAP_AFTER_EXTERNAL,
    GAP_AFTER_FAILURE,
    draw,
)
from failgym.vocabulary import NEVER, Ending

__all__ = ["after_own", "ends_badly", "gap_behind", "meet", "position", "undisturbed_end"]

_FINISH, _INTRINSIC, _USER = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.USER)
_EXTERNAL, _CENSORED = int(Ending.EXTERNAL), int(Ending.CENSORED)
_NEXT_FAILURE, _NEXT_EXTERNAL = int(Purpose.NEXT_FAILURE), int(Purpose.NEXT_EXTERNAL)
_NEXT_CHANCE, _NEXT_GAP = int(Purpose.NEXT_CHANCE), int(Purpose.NEXT_GAP)
_NEXT_RESTART, _GIVES_UP = int(Purpose.NEXT_RESTART), int(Purpose.GIVES_UP)
_LONGEST = float(LONGEST_FATE)


# --- What an attempt meets ------------------------------------------------------------------------


@kernel
def _drawn_length(laws: Any, c: Any, number: int) -> float:
    """F of a drawn attempt (rule C3)."""
    chance = 1.0
    if c.chance_cell >= 0:
        found = draw(laws, CHANCE, c.chance_cell, keyed(c.stream, number, _NEXT_CHANCE))
        chance = found if found < np.inf else 1.0
    if c.work == np.inf:
        return np.inf
    return min(max(np.floor(c.work * c.slow * chance + 0.5), 1.0), _LONGEST)


@kernel
def _pace(c: Any, length: float) -> float:
    """How much of its task's work an attempt does in a ms that would do all of it in ``length``."""
    return 1.0 if c.work == np.inf else c.work / length


@kernel
def _date(c: Any, run: Any, length: float, fails: float) -> None:
    """When the work of an attempt is done, and whether it then fails or finishes (rule C6).

    Args:
        length: F [ms], infinite for never.
        fails: T_fail [ms], infinite for never.
    """
    run.pace = _pace(c, length)
    finishes = length
    if run.f0 > 0.0:
        finishes = np.floor((c.work - run.f0) / run.pace + 0.5)
        point = np.floor(fails * run.pace)
        if run.f0 < point:
            fails = np.floor((point - run.f0) / run.pace + 0.5)
    run.inner = _INTRINSIC if fails <= finishes else _FINISH
    until = min(fails, finishes)
    run.fin = run.restored + int(until) if until < np.inf else NEVER


@kernel
def _fails(laws: Any, c: Any, run: Any) -> float:
    """T_fail of a drawn attempt (rule C4)."""
    return draw(laws, FAILURE, c.cell[run.past], keyed(c.stream, run.number, _NEXT_FAILURE))


@kernel
def _outside(laws: Any, c: Any, run: Any) -> float:
    """T_ext of a drawn attempt (rule C4)."""
    return draw(laws, EXTERNAL, c.cell[run.past], keyed(c.stream, run.number, _NEXT_EXTERNAL))


@kernel
def undisturbed_end(laws: Any, c: Any, run: Any) -> float:
    """When a drawn attempt would end from the start [ms]; infinite for never (rule A1)."""
    length = _drawn_length(laws, c, run.number)
    return min(_fails(laws, c, run), _outside(laws, c, run), length)


@kernel
def ends_badly(laws: Any, c: Any, run: Any, outside_too: bool) -> bool:
    """Would a drawn attempt fail by itself from the start, or be ended from outside? (A1)

    Args:
        laws: `Laws`, held.
        c: CONTINUED of its task.
        run: the attempt, with its number and past failures.
        outside_too: does an end from outside count?
    """
    length = _drawn_length(laws, c, run.number)
    fails, outside = _fails(laws, c, run), _outside(laws, c, run)
    if fails < np.inf and fails <= outside and fails <= length:
        return True
    return outside_too and outside < np.inf and outside <= length


@kernel
def _meet_drawn(laws: Any, c: Any, task: Any, run: Any) -> None:
    """What a drawn attempt meets; the task counts it if it would fail from the start (rule C4)."""
    run.past = min(c.failures + task.drawn_failures, COUNTS - 1)
    length = _drawn_length(laws, c, run.number)
    fails, outside = _fails(laws, c, run), _outside(laws, c, run)
    if fails < np.inf and fails <= outside and fails <= length:
        task.drawn_failures += 1
    run.outer = _EXTERNAL
    run.ext = run.start + int(outside) if outside < np.inf else NEVER
    _date(c, run, length, fails)


@kernel
def _meet_row(c: Any, record: Any, row: Any, run: Any) -> None:
    """What an attempt meets that replays a row (rule C5)."""
    run.past, run.outer, run.ext = row.past, row.ending, run.start + row.duration
    if row.ending == _FINISH or row.ending == _INTRINSIC:
        run.ext = NEVER
    elif row.ending == _USER:
        run.ext = record.kill_at
    length = float(row.length) if row.length < NEVER else np.inf
    _date(c, run, length, float(row.duration) if row.ending == _INTRINSIC else np.inf)
    if row.ending == _CENSORED:
        run.fin = NEVER
    elif row.ending == _FINISH and run.f0 == 0.0:
        run.fin = run.restored + row.duration  # F is at least 1, a row may be shorter


@called
def meet(laws: Any, c: Any, record: Any, row: Any, task: Any, run: Any) -> None:
    """Work out what an attempt meets that starts now, from the task's checkpoint if any.

    Args:
        laws: `Laws`, held.
        c: CONTINUED of its task.
        record: TASK.
        row: the one that it replays; of a drawn attempt, that whose looks it has.
        task: TASK_STATE.
        run: the attempt, with its number, start and end of the restore.
    """
    if run.ghost:
        _meet_drawn(laws, c, task, run)
    else:
        _meet_row(c, record, row, run)


@kernel
def position(c: Any, run: Any, work: int) -> float:
    """What a checkpoint saves of the task's work that begins after so much own work (rule C7)."""
    return min(c.work, run.f0 + np.floor(work * run.pace))


# --- Whether the cluster goes on ------------------------------------------------------------------


@called
def _declines_after_failure(laws: Any, c: Any, row: Any, failures: int) -> bool:
    """Does the cluster decline at the last of so many intrinsic failures of what it started?

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


@called
def _declines_after_drawn(laws: Any, c: Any, run: Any) -> bool:
    """Does the cluster decline at the end of a drawn attempt from outside?"""
    return keyed(c.stream, run.number, _NEXT_RESTART) < laws.ends_external[c.cell[run.past]]


@kernel
def after_own(w: World, task: Any, run: Any, ending: int) -> None:
    """An attempt has ended that the cluster started: does it decline (rule C8)?"""
    p = w.parameters[0]
    declines = False
    if ending == _INTRINSIC:
        task.own_failures += 1
        j = task.own_failures
        if p.by_record:
            record, c = w.tasks[task.task], w.beyond[task.task]
            row = w.rows[record.rows_at + min(j, record.rows) - 1]
            declines = _declines_after_failure(held(w.laws), c, row, j)
        else:
            declines = j > p.restart_limit
    elif ending == _EXTERNAL:
        if run.ghost:
            declines = _declines_after_drawn(held(w.laws), w.beyond[task.task], run)
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
def gap_behind(w: World, task: Any, run: Any, failed: bool) -> int:
    """Time from the end of an attempt to the restart that follows it [ms]."""
    gap = w.rows[run.row].gap
    if w.parameters[0].continued and (run.ghost or gap < 0):
        return _drawn_gap(held(w.laws), w.beyond[task.task], run, failed)
    return gap
