"""What attempts meet where the record is continued: rules C3 to C6, on machines (K2 to K4).

What a drawn attempt meets depends on seed, task and number alone. It is drawn when the attempt
comes to be, and anew whenever it starts, so that nothing of it has to be remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from failgym.sim.shared.beyond import drawn_failure, drawn_length, left_to_do
from failgym.sim.shared.continuation import COUNTS
from failgym.sim.shared.jit import called, held
from failgym.vocabulary import NEVER, Ending

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["comes_to_be", "from_scratch", "meet", "slowed", "undisturbed"]

_FINISH, _INTRINSIC, _USER = int(Ending.FINISH), int(Ending.INTRINSIC), int(Ending.USER)
_EXTERNAL, _CENSORED = int(Ending.EXTERNAL), int(Ending.CENSORED)


@called
def _length(w: World, task: int, row: int, number: int) -> float:
    """F of an attempt of a task (rule C3) [ms], infinite for never.

    Args:
        task: trace row.
        row: the one that it replays; of a drawn attempt, any.
    """
    if number >= w.tasks[task].numbers:
        return float(drawn_length(held(w.laws), w.beyond[task], number))
    length = w.rows[row].length
    return float(length) if length < NEVER else np.inf


@called
def _failure(w: World, task: int, run: Any) -> float:
    """T_fail of an attempt (rules C4, C5, K2) [ms], infinite for never."""
    if run.ghost:
        return float(drawn_failure(held(w.laws), w.beyond[task], run.number, run.past))
    return float(w.fails[run.row])


@called
def comes_to_be(w: World, task: Any, run: Any) -> None:
    """Count the failures before a new attempt; the task counts it if it is to fail (rule C4).

    Attempts come to be in order of their numbers; those that are requeued were counted before.
    """
    if not run.ghost:
        run.past = w.rows[run.row].past
        return
    run.past = min(w.beyond[task.task].before + task.drawn_failures, COUNTS - 1)
    fails = _failure(w, task.task, run)
    if fails < np.inf and fails <= _length(w, task.task, run.row, run.number):
        task.drawn_failures += 1


# --- On its machines ------------------------------------------------------------------------------


@called
def slowed(w: World, c: Any, time: float, speed: float, dearest: int) -> float:
    """A time of work on the machines of an attempt (rule K4), rounded; infinite stays so.

    Args:
        c: CONTINUED of its task.
        speed: of the slowest of them.
        dearest: longest compute time on any of them [ms]; -1 where the trace has none.
    """
    if time == np.inf:
        return time
    if dearest < 0:
        return float(np.floor(time / speed + 0.5))
    if c.work == np.inf:  # nobody knows what share of the work it is
        return time
    return float(np.floor(dearest * time / max(c.work, 1.0) + 0.5))


@called
def from_scratch(w: World, x: View, i: int, speed: float, dearest: int) -> float:
    """How long an attempt works that does all of its task's work (rules K4, K5) [ms]."""
    run = x.runs[i]
    task, row = x.tasks[run.local].task, w.rows[run.row]
    length = _length(w, task, run.row, run.number)
    recorded = run.number < w.tasks[task].numbers and row.ending == _FINISH
    if recorded and dearest < 0 and row.duration == 0 and length == 1.0:
        length = 0.0  # F is at least 1, a row may be shorter
    return slowed(w, w.beyond[task], length, speed, dearest)


@called
def meet(w: World, x: View, i: int, speed: float, dearest: int) -> None:
    """Work out what an attempt meets that starts now (rules C6, K4).

    Args:
        i: its run, with what it resumes from and the end of the restore.
        speed: see `slowed`.
        dearest: the same.
    """
    run = x.runs[i]
    task, row = x.tasks[run.local].task, w.rows[run.row]
    c, length = w.beyond[task], _length(w, task, run.row, run.number)
    fails, finishes = _failure(w, task, run), from_scratch(w, x, i, speed, dearest)
    run.pace, point = speed if dearest < 0 else 1.0, fails
    if c.work < np.inf:
        whole = slowed(w, c, length, speed, dearest)
        run.pace = c.work / whole if whole > 0.0 else np.inf
        point = np.floor(fails * (c.work / length))  # as in rule C6: of the task, not the machine
    run.length = int(finishes) if finishes < np.inf else NEVER
    fails = slowed(w, c, fails, speed, dearest)
    fails, finishes = left_to_do(c.work, run.f0, run.pace, finishes, fails, point)
    run.inner = _INTRINSIC if fails < np.inf and fails <= finishes else _FINISH
    until = min(fails, finishes)
    run.fin = run.restored + int(until) if until < np.inf else NEVER
    run.ext = NEVER
    if run.ghost:
        return
    if row.ending == _USER:
        run.ext = w.tasks[task].kill_at
    elif row.ending == _EXTERNAL or row.ending == _CENSORED:
        run.ext = run.start + row.duration
        if dearest < 0:
            run.ext = run.start + int(np.floor(row.duration / speed + 0.5))
    if row.ending == _CENSORED:
        run.fin = NEVER


@called
def undisturbed(w: World, x: Any, i: int) -> int:
    """Time from start to end that an attempt would meet on a machine of speed 1 (rule K6) [ms].

    It resumes from what the task has saved by now. Where only its user ends it, it would start now.
    """
    run = x.runs[i]
    state, row = x.tasks[run.local], w.rows[run.row]
    task = state.task
    c, length = w.beyond[task], _length(w, task, run.row, run.number)
    if run.recomputes:
        return int(from_scratch(w, x, i, 1.0, -1))
    if not run.ghost and row.ending == _CENSORED:
        return int(row.duration)
    fails, restore = _failure(w, task, run), 0
    pace, point = 1.0, fails
    if c.work < np.inf:
        pace, point = c.work / length, np.floor(fails * (c.work / length))
    if state.durable > 0.0:
        restore = w.parameters[0].restore_cost
    finishes = from_scratch(w, x, i, 1.0, -1)
    fails, finishes = left_to_do(c.work, state.durable, pace, finishes, fails, point)
    until = min(fails, finishes) + restore
    if not run.ghost and row.ending == _EXTERNAL:
        until = min(until, float(row.duration))
    if until == np.inf or (not run.ghost and row.ending == _USER):
        until = min(until, float(max(w.tasks[task].kill_at - x.ep.now, 0)))
    return int(until)
