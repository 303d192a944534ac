"""What a task must cost at least of which no attempt can finish, before anything is decided.

That no attempt can finish is clear if none would from anything that may have been saved before it:
up to ``reach``, the most that those of lower numbers can save, which an attempt resumes from. What
each meets depends on its number alone. Such a task is forfeited whatever is done.

Where nothing may be done but to save attempts that come in turn, all of them are started by the
cluster, and every millisecond of them is charged. Each lasts at least as long as from the best that
may have been saved, the first as long as it did. Attempts are over when the cluster declines to go
on, or when the user kills: the latter finds the machines busy for all the time since the first
start but the gaps between them. The least of these is a bound of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.pinned.beyond import drawn_outside, pace_of
from failgym.sim.pinned.clairvoyant.failing import can_finish, most_saved, soonest_failure
from failgym.sim.pinned.clairvoyant.sequences import in_turn
from failgym.sim.shared.beyond import (
    declines_after_drawn,
    declines_after_failure,
    drawn_failure,
    drawn_length,
)
from failgym.sim.shared.continuation import COUNTS
from failgym.sim.shared.jit import called, held, kernel
from failgym.vocabulary import NEVER, Ending, Outcome

__all__ = ["cost_if_unfinished"]

_FINISH, _INTRINSIC = int(Ending.FINISH), int(Ending.INTRINSIC)
_EXTERNAL, _USER = int(Ending.EXTERNAL), int(Ending.USER)
_CUT = int(Outcome.CENSORED)


@kernel
def _price(p: Any, record: Any, busy: float) -> float:
    """The cost of a task that does not finish and keeps machines busy for so long [ms]."""
    cost = min(p.wasted, p.overhead) * busy * record.width
    if record.forfeits:
        cost += p.forfeited_work * record.forfeit_work + p.forfeited_time * record.forfeit_time
    return cost


@kernel
def _declines(
    w: Any, task: int, row: Any, ghost: bool, number: int, past: int, external: bool, failures: int
) -> bool:
    """Does the cluster decline at the end of an attempt from outside, or at its j-th failure?"""
    if not external:
        return declines_after_failure(w, task, failures)
    if ghost:
        return declines_after_drawn(held(w.laws), w.beyond[task], number, past)
    return row.gap < 0


@kernel
def _meets(
    w: Any, c: Any, row: Any, ghost: bool, number: int, past: int
) -> tuple[float, float, float]:
    """F, T_fail and T_ext of an attempt [ms], infinite for never (rules C3 to C5).

    Args:
        row: that it replays.
        ghost: is it drawn?
        number: of a drawn attempt.
        past: failures before a drawn attempt.
    """
    if ghost:
        return (
            drawn_length(held(w.laws), c, number),
            drawn_failure(held(w.laws), c, number, past),
            drawn_outside(held(w.laws), c, number, past),
        )
    length = float(row.length) if row.length < NEVER else np.inf
    fails = float(row.duration) if row.ending == _INTRINSIC else np.inf
    outside = float(row.duration) if row.ending == _EXTERNAL else np.inf
    return length, fails, outside


@called
def cost_if_unfinished(w: Any, task: int, kills: bool) -> float:
    """A lower bound of the cost of all plans that depart from the record, if none finishes; else 0.

    Args:
        w: `World`, held.
        task: trace row.
        kills: may a plan kill the task, which the other stages of the search have not settled?
    """
    p, record, c = w.parameters[0], w.tasks[task], w.beyond[task]
    if record.rows == 0:
        return 0.0
    alone, over = not kills and in_turn(w, record), False
    row: Any = w.rows[record.rows_at]
    span = np.inf if record.kill_at == NEVER else float(record.kill_at - row.start)
    reach, busy, gaps, least = 0.0, 0.0, 0.0, np.inf
    failures, drawn_failures, known = 0, 0, True
    for i in range(record.rows + p.drawn):
        ghost = i >= record.rows
        row = w.rows[record.rows_at + min(i, record.rows - 1)]
        user = not ghost and row.ending == _USER
        if not ghost and (
            row.ending == _FINISH or row.outcome == _CUT or (user and c.work < np.inf)
        ):
            return 0.0
        number = record.numbers + i - record.rows
        past = min(c.before + drawn_failures, COUNTS - 1)
        length, fails, outside = _meets(w, c, row, ghost, number, past)
        if ghost and fails < np.inf and fails <= outside and fails <= length:
            drawn_failures += 1
        pace = pace_of(c, length)
        if can_finish(p, c.work, reach, pace, length, fails, outside):
            return 0.0
        soonest, outside = soonest_failure(reach, pace, fails), np.floor(outside)
        lasts = float(row.duration) if i == 0 and not user else min(soonest, outside)
        if alone and not over:
            least = min(least, max(busy, span - gaps))  # the user kills it
            over = user or lasts == np.inf
        if alone and not over:
            busy += lasts
            external, intrinsic = soonest > outside, outside == np.inf
            known = known and (external or intrinsic)
            failures += intrinsic
            gaps += np.inf if ghost or row.gap < 0 else float(row.gap)
            least = min(least, max(busy, span - gaps))  # the user kills what waits
            certain = external or known
            if not certain or _declines(w, task, row, ghost, number, past, external, failures):
                least = min(least, busy)
                over = certain
        if over and (user or i + 1 >= record.rows):
            break
        if p.checkpoint:
            reach = max(reach, min(c.work, most_saved(p, reach, pace, fails, outside)))
    if alone and not over:  # nothing is left to start
        least = min(least, busy)
    return _price(p, record, least if least < np.inf else 0.0)
