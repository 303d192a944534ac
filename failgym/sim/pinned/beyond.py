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

__all__ = ["follows", "gap_behind", "is_patient", "meet", "position", "restarts_drawn"]

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
def _meet_drawn(laws: Any, c: Any, task: Any, run: Any) -> None:
    """What a drawn attempt meets; the task counts it if it would fail from the start (rule C4)."""
    run.past = min(c.failures + task.drawn_failures, COUNTS - 1)
    cell, number = c.cell[run.past], run.number
    length = _drawn_length(laws, c, number)
    fails = draw(laws, FAILURE, cell, keyed(c.stream, number, _NEXT_FAILURE))
    outside = draw(laws, EXTERNAL, cell, keyed(c.stream, number, _NEXT_EXTERNAL))
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
def _patient(laws: Any, c: Any, failures: int) -> bool:
    """Does the cluster restart a task after so many failures of what it started (rule C8)?"""
    known = int(c.failures)
    if failures >= known > 0 and c.ends_failed:
        return False
    for j in range(known + 1, failures + 1):
        if keyed(c.stream, j, _GIVES_UP) < laws.gives_up[c.cell[min(j - 1, COUNTS - 1)]]:
            return False
    return True


@kernel
def is_patient(w: World, task: Any) -> bool:
    """Does the cluster restart a departed task after its last intrinsic failure?"""
    p = w.parameters[0]
    if p.by_record:
        return _patient(held(w.laws), w.beyond[task.task], task.own_failures)
    failures = task.own_failures if p.continued else task.failures
    return failures <= p.restart_limit


@kernel
def follows(w: World, task: Any, run: Any) -> bool:
    """Does an attempt replay a row that another started row follows?"""
    record = w.tasks[task.task]
    return not run.ghost and run.row + 1 < record.rows_at + record.rows


@called
def _goes_on(laws: Any, c: Any, run: Any) -> bool:
    """Is a drawn attempt that was ended from outside followed by a restart (rule C8)?"""
    return keyed(c.stream, run.number, _NEXT_RESTART) >= laws.ends_external[c.cell[run.past]]


@kernel
def restarts_drawn(w: World, task: Any, run: Any) -> bool:
    """Does the cluster restart a task after an outer end of a drawn attempt?"""
    return _goes_on(held(w.laws), w.beyond[task.task], run)


@called
def _drawn_gap(laws: Any, c: Any, run: Any, failed: bool) -> int:
    """Time from the end of an attempt to a restart, where the record has none (rule C9)."""
    law = GAP_AFTER_FAILURE if failed else GAP_AFTER_EXTERNAL
    gap = draw(laws, law, c.cell[run.past], keyed(c.stream, run.number, _NEXT_GAP))
    return int(gap) if gap < np.inf else 1


@kernel
def gap_behind(w: World, task: Any, run: Any, failed: bool) -> int:
    """Time from the end of an attempt to the restart that follows it [ms]."""
    if w.parameters[0].continued and not follows(w, task, run):
        return _drawn_gap(held(w.laws), w.beyond[task.task], run, failed)
    return w.rows[run.row].gap
