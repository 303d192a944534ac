"""The continued record: what attempts meet, recorded or drawn.

Rules C4 to C6 of `failgym.sim.reference`. Attempts of a departed task start in the order of their
numbers, so what a drawn one would meet is drawn when it starts: it depends on seed, task and number
alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.shared.beyond import drawn_failure, drawn_length, left_to_do
from failgym.sim.shared.continuation import COUNTS
from failgym.sim.shared.draws import keyed
from failgym.sim.shared.jit import called, kernel
from failgym.sim.shared.keys import Purpose
from failgym.sim.shared.laws import EXTERNAL, draw
from failgym.vocabulary import NEVER, Ending

__all__ = ["drawn_outside", "ends_badly", "meet", "pace_of", "undisturbed_end"]

_FINISH, _INTRINSIC, _USER = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.USER)
_EXTERNAL, _CENSORED = int(Ending.EXTERNAL), int(Ending.CENSORED)
_NEXT_EXTERNAL = int(Purpose.NEXT_EXTERNAL)


@kernel
def pace_of(c: Any, length: float) -> float:
    """How much of its task's work an attempt does in a ms that would do all of it in ``length``."""
    return 1.0 if c.work == np.inf else c.work / length


@kernel
def _date(c: Any, run: Any, length: float, fails: float) -> None:
    """When the work of an attempt is done, and whether it then fails or finishes (rule C6).

    Args:
        length: F [ms], infinite for never.
        fails: T_fail [ms], infinite for never.
    """
    run.pace = pace_of(c, length)
    point = np.floor(fails * run.pace)
    fails, finishes = left_to_do(c.work, run.f0, run.pace, length, fails, point)
    run.inner = _INTRINSIC if fails <= finishes else _FINISH
    until = min(fails, finishes)
    run.fin = run.restored + int(until) if until < np.inf else NEVER


@kernel
def drawn_outside(laws: Any, c: Any, number: int, past: int) -> float:
    """T_ext of a drawn attempt after so many failures (rule C4), infinite for never."""
    return draw(laws, EXTERNAL, c.cell[past], keyed(c.stream, number, _NEXT_EXTERNAL))


@kernel
def undisturbed_end(laws: Any, c: Any, run: Any) -> float:
    """When a drawn attempt would end from the start [ms]; infinite for never (rule A1)."""
    length = drawn_length(laws, c, run.number)
    return min(
        drawn_failure(laws, c, run.number, run.past),
        drawn_outside(laws, c, run.number, run.past),
        length,
    )


@kernel
def ends_badly(laws: Any, c: Any, run: Any, outside_too: bool) -> bool:
    """Would a drawn attempt fail by itself from the start, or be ended from outside? (A1)

    Args:
        laws: `Laws`, held.
        c: CONTINUED of its task.
        run: the attempt, with its number and past failures.
        outside_too: does an end from outside count?
    """
    length = drawn_length(laws, c, run.number)
    fails, outside = (
        drawn_failure(laws, c, run.number, run.past),
        drawn_outside(laws, c, run.number, run.past),
    )
    if fails < np.inf and fails <= outside and fails <= length:
        return True
    return outside_too and outside < np.inf and outside <= length


@kernel
def _meet_drawn(laws: Any, c: Any, task: Any, run: Any) -> None:
    """What a drawn attempt meets; the task counts it if it would fail from the start (rule C4)."""
    run.past = min(c.before + task.drawn_failures, COUNTS - 1)
    length = drawn_length(laws, c, run.number)
    fails, outside = (
        drawn_failure(laws, c, run.number, run.past),
        drawn_outside(laws, c, run.number, run.past),
    )
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
