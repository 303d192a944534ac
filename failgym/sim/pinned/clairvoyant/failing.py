"""What a task must cost at least of which no attempt can finish, where its record is continued."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.pinned.attempts import own_ending, own_outcome
from failgym.sim.pinned.beyond import drawn_outside, pace_of
from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.beyond import (
    declines_after_drawn,
    declines_after_failure,
    drawn_failure,
    drawn_length,
)
from failgym.sim.shared.continuation import COUNTS
from failgym.sim.shared.jit import called, held, kernel
from failgym.vocabulary import NEVER, Ending, Outcome

__all__ = ["can_finish", "cost_of_failure", "most_saved", "soonest_failure"]

_FINISH, _INTRINSIC = int(Ending.FINISH), int(Ending.INTRINSIC)
_EXTERNAL, _USER = int(Ending.EXTERNAL), int(Ending.USER)
_FINISHED, _CUT = int(Outcome.FINISH), int(Outcome.CENSORED)


@kernel
def can_finish(
    p: Any, work: float, reach: float, pace: float, length: float, fails: float, outside: float
) -> bool:
    """May an attempt finish that resumes from any work up to ``reach``? If in doubt, yes.

    It cannot if something outside comes first however much was saved, or if it fails first: from
    work below its point of failure it always does (rule C6), from beyond it T_fail after it was
    restored.
    """
    left = length
    if reach > 0.0:
        left = np.floor((work - reach) / pace + 0.5)
    if min(length, left + p.restore_cost) >= np.floor(outside):
        return False
    point = np.floor(fails * pace)
    fails_first = fails < np.inf and fails <= length and point <= work
    return not (fails_first and (reach < point or left >= fails))


@kernel
def soonest_failure(reach: float, pace: float, fails: float) -> float:
    """The least time after which an attempt fails that resumes from any work up to ``reach``."""
    point = np.floor(fails * pace)
    if fails == np.inf or point == np.inf:
        return fails
    return min(fails, np.floor((point - reach) / pace + 0.5)) if reach < point else 0.0


@kernel
def most_saved(p: Any, reach: float, pace: float, fails: float, outside: float) -> float:
    """How much is saved at most behind an attempt that resumes from any work up to ``reach``.

    What ends it from outside comes no later for restores and checkpoints; a failure does.
    """
    time = outside - p.checkpoint_cost
    until = max(reach, time * pace, reach + (time - p.restore_cost) * pace)
    if fails == np.inf:
        return until
    point = np.floor(fails * pace)
    if reach < point:  # it fails there, up to rounding
        return min(until, max(reach, point + pace))
    return min(until, reach + (fails + 1.0) * pace)


@called
def cost_of_failure(w: Any, ep: Any, task: Any, run: Any) -> float:
    """A lower bound of what is not yet charged, if no attempt can finish; else 0.

    It is of tasks whose attempts follow each other, as `sequences.follow_each_other` says, and
    holds for all plans but the one that leaves the task alone, and those that kill it. Every
    millisecond of an attempt is charged as work or as overhead, and what has been saved as work;
    and a task that does not finish is forfeited. That no attempt can finish is clear if none would
    from anything that may have been saved before it, i.e. up to ``reach``: the work of all attempts
    before, had each paused no more than to restore and to save once. An attempt is sure to start if
    the cluster is sure not to decline before; then it takes at least as long as from whatever was
    saved. Which attempt that is, and what it would meet from the start, is certain: they start in
    the order of their numbers. How it ends may not be, where something outside and a failure both
    can: what is behind it may start, or not.

    A plan that departs does so in an attempt that is alive. Before, the record goes on, whether the
    cluster declined or not; behind, what it started goes on as long as it did not decline. Up to
    the user's kill attempts take as long as they did, or would without it; it is known when they
    start behind ends from outside, after recorded gaps.

    Args:
        w: `World`, held.
        ep: the episode, with an open decision.
        task: TASK_STATE of its only task.
        run: the only attempt that is alive.
    """
    p, record, c = w.parameters[0], w.tasks[task.task], w.beyond[task.task]
    if own_outcome(w, run) in (_FINISHED, _CUT):
        return 0.0
    ending, user_kills = own_ending(run), record.kill_at != NEVER
    end = min(run.end, record.kill_at)
    if end == NEVER:
        return 0.0
    most = work_of(run, end)
    if ending != _INTRINSIC:
        most = max(most - p.checkpoint_cost, run.checkpoint_work)
    reach = max(task.durable, min(c.work, run.f0 + most * run.pace))
    busy, time = float(end - run.start), end
    failures, drawn_failures, ghosts = task.own_failures, task.drawn_failures, task.ghosts
    following, declined = task.next, task.declined
    known, starts = True, True  # are the endings so far certain, and that the next one starts?
    intrinsic, external = ending == _INTRINSIC, ending == _EXTERNAL
    if intrinsic and run.ext != NEVER:  # if it is paused, the outer end may come first
        intrinsic = False
    row: Any = w.rows[run.row]
    ghost, number, past = run.ghost, run.number, run.past
    while ending != _USER:
        gap = np.int64(-1) if ghost else row.gap
        if external:
            if ghost:
                declined = declined or declines_after_drawn(held(w.laws), c, number, past)
            else:
                declined = declined or gap < 0
        elif intrinsic and known:
            failures += 1
            declined = declined or declines_after_failure(w, task.task, failures)
        else:
            known, starts = False, False
        left = following < record.rows
        if (declined and (task.departed or not left)) or not (left or ghosts < p.drawn):
            break
        starts = starts and not declined
        if user_kills and (gap < 0 or not external):
            starts = False
        time += gap
        ghost = not left
        fails, outside = np.inf, np.inf
        if left:
            row = w.rows[record.rows_at + following]
            following += 1
            ending = row.ending
            if ending == _FINISH or row.outcome == _CUT:
                return 0.0
            if ending == _USER:
                if c.work < np.inf:
                    return 0.0
                if starts and user_kills:
                    late = time if task.departed else max(time, row.start)
                    busy += max(record.kill_at - late, 0)
                break
            if not task.departed:
                time = max(time, row.start)
            length = float(row.length) if row.length < NEVER else np.inf
            if ending == _INTRINSIC:
                fails = float(row.duration)
            else:
                outside = float(row.duration)
        else:
            number = record.numbers + ghosts
            ghosts += 1
            past = min(c.before + drawn_failures, COUNTS - 1)
            length = drawn_length(held(w.laws), c, number)
            fails = drawn_failure(held(w.laws), c, number, past)
            outside = drawn_outside(held(w.laws), c, number, past)
            if fails < np.inf and fails <= outside and fails <= length:
                drawn_failures += 1
        pace = pace_of(c, length)
        if can_finish(p, c.work, reach, pace, length, fails, outside):
            return 0.0
        soonest, outside = soonest_failure(reach, pace, fails), np.floor(outside)
        lasts = min(soonest, outside)
        if lasts == np.inf:
            break
        if starts:
            busy += min(lasts, float(max(record.kill_at - time, 0))) if user_kills else lasts
        external, intrinsic = soonest > outside, outside == np.inf
        reach = max(reach, min(c.work, most_saved(p, reach, pace, fails, outside)))
        time += np.int64(lasts)
    saved = task.saved[0] + task.saved[1] + task.saved[2]
    least = p.wasted * saved + min(p.wasted, p.overhead) * busy * record.width
    least += p.completion * max(busy - (ep.now - run.start), 0.0)
    if record.forfeits:
        least += p.forfeited_work * record.forfeit_work + p.forfeited_time * record.forfeit_time
    return least
