"""Which plans are left to search for a task, and which actions of them are tried."""

from __future__ import annotations

from typing import Any

from failgym.sim.pinned.clairvoyant.records import (
    ALL,
    ANY,
    KILL_AT_ONCE,
    OVER,
    REPLAY,
    SEQUENCE,
    WORTHY,
)
from failgym.sim.pinned.clairvoyant.sequences import (
    finishes_alone,
    is_regular,
    is_sequence,
    last_chance,
    worth_saving,
)
from failgym.sim.pinned.records import State, World
from failgym.sim.shared.jit import kernel
from failgym.vocabulary import Action, Decision, Ending, Outcome

__all__ = ["next_stage", "worth_trying"]

_CHECKPOINT, _KILL = int(Action.CHECKPOINT), int(Action.KILL)
_WINDOW = int(Decision.WINDOW)
_FINISH, _INTRINSIC = int(Ending.FINISH), int(Ending.INTRINSIC)
_CUT = int(Outcome.CENSORED)


@kernel
def worth_trying(w: World, s: State, kill: bool, stage: int, saved: int) -> int:
    """Actions other than CONTINUE to try at the open decision, a bit each."""
    ep = s.episodes[0]
    if stage == REPLAY:
        return 0
    if stage == KILL_AT_ONCE:
        return 1 << _KILL
    if finishes_alone(w, s):
        return 0
    wanted = ep.mask & ANY
    if ep.decision == _WINDOW:
        if not kill:
            wanted &= ANY & ~(1 << _KILL)
        if stage == WORTHY:
            worth = last_chance(w, s) if w.parameters[0].continued else worth_saving(w, s)
            if not worth:
                wanted &= ANY & ~(1 << _CHECKPOINT)
        if stage == SEQUENCE and saved == ep.run:
            wanted &= ANY & ~(1 << _CHECKPOINT)
    return wanted


@kernel
def _cut(w: World, record: Any) -> bool:
    """Was an attempt of the task cut by the end of the data?"""
    for i in range(record.rows_at, record.rows_at + record.rows):
        if w.rows[i].outcome == _CUT:
            return True
    return False


@kernel
def _finishes_at_once(w: World, record: Any) -> bool:
    """Is the record one attempt, which FINISHes?

    Left alone it wastes nothing, and no plan finishes sooner: ghosts are copies that start later.
    """
    if record.rows != 1:
        return False
    row: Any = w.rows[record.rows_at]
    return row.ending == _FINISH


@kernel
def _nothing_follows(w: World, record: Any) -> bool:
    """Is the record one attempt behind which nothing starts, whatever is saved of it?

    The cluster declines to start the task again, as it did in the record (rule C8), so that what is
    saved serves nobody. To save only takes time: what ends from outside, or by the user, ends when
    it did, having worked less by as much as was paused, and that is charged at no lower price; a
    failure by itself comes later, and so does FINISH. A row that waits in the record is void in a
    departed task, which may then settle sooner: such a task is searched.
    """
    p = w.parameters[0]
    if not p.continued or p.clone or p.retry or p.overhead < p.wasted:
        return False
    if record.rows != 1 or record.pending_end >= 0:
        return False
    row: Any = w.rows[record.rows_at]
    return row.outcome != _CUT and (row.ending != _INTRINSIC or p.by_record)


@kernel
def next_stage(w: World, record: Any, stage: int, kill: bool) -> int:
    """What is left to search for a task after a stage; ``kill``: are kills not settled yet?

    - `REPLAY`: the plan that leaves the task alone.
    - `KILL_AT_ONCE`: the one that kills it at its first decision, without waiting for the grace
      period. No other plan that kills is cheaper: all that a task has done when it is killed is
      charged, and so is the time until then; both only grow. Arming a kill, in itself, changes
      nothing. Two exceptions: an attempt that the data cut is charged only if killed, and a failure
      may have to be answered before a kill can be decided.
    - `WORTHY`: those with checkpoints that are `worth_saving`: all that matter in a regular
      sequence, elsewhere the ones to start from.
    - `SEQUENCE`: in a sequence, those that differ. Of the checkpoints of one attempt all but the
      last durable one only take time. How many there are may matter, when they are made does not:
      they are made as early as possible, one after the other. So an attempt left unsaved at a
      window is saved once more at most.
    - `ALL`: all.

    Where the record is continued a copy may be quicker than the original, an attempt beyond the
    record may finish, and no sequence is regular; but a task may be one that `_nothing_follows`.
    Kills at once, and sequences, are as they are: neither argument speaks of what an attempt meets.
    """
    p = w.parameters[0]
    if stage == REPLAY and p.kill and not _cut(w, record):
        return KILL_AT_ONCE
    if stage in (REPLAY, KILL_AT_ONCE):
        alone = not (p.clone or p.checkpoint or p.retry or p.give_up)
        alone = alone or (not p.continued and _finishes_at_once(w, record))
        alone = alone or _nothing_follows(w, record)
        if alone and not kill:
            return OVER
        return WORTHY if p.checkpoint else ALL
    if stage == WORTHY:
        if not is_sequence(w, record):
            return ALL
        return OVER if not p.continued and is_regular(w, record) else SEQUENCE
    return OVER
