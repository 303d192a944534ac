"""The outcome table of the scheduled world: that of the pinned one, and what became of waiting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.records import NEVER
from failgym.sim.scheduled.records import World

__all__ = ["ScheduledOutcome", "outcome_table"]


class ScheduledOutcome(NamedTuple):
    """What became of a task, beside what the record says; times in ms, work in machine-ms.

    The fields of `failgym.sim.outcomes.TaskOutcome`, and those of the scheduled world.
    """

    task: int
    submit: int
    """of a task that stands at the beginning, the beginning"""
    recorded_end: int
    recorded_outcome: int
    end: int
    outcome: int
    useful: int
    lost: int
    redundant: int
    ghost: int
    checkpoint: int
    restore: int
    transfer: int
    attempts: int
    """attempts started, recomputations included"""
    extra: int
    clones: int
    retries: int
    checkpoints: int
    """checkpoints, of outputs too, that became durable"""
    armed: bool
    killed: bool
    departed: bool
    failures: int
    decisions: int
    recorded_work: int
    start: int
    """first start; -1 if it never ran"""
    waited: int
    """time that its attempts have waited in the queue"""
    evictions: int
    outages: int
    """attempts killed by machines"""
    loss: int
    """time from dispatch to death of those, whatever the width"""
    recomputations: int
    """recomputations of its output that started"""
    saved: int
    """1 if its output is on stable storage"""


def outcome_table(world: World, states: Any) -> dict[str, npt.NDArray[Any]]:
    """Columns of the outcomes of the TASK_STATE records of an episode, an array each."""
    record = world.tasks[states["task"]]
    names = ScheduledOutcome._fields
    table: dict[str, npt.NDArray[Any]]
    table = {name: states[name].copy() for name in names if name in states.dtype.names}
    arrives = states["remaining"] < 0
    beginning = int(record["submit"][arrives].min()) if arrives.any() else 0
    table["submit"] = np.where(arrives, record["submit"], beginning)
    table["recorded_work"] = record["record_work"].copy()
    table["recorded_end"] = record["record_end"].copy()
    table["recorded_outcome"] = record["record_outcome"].copy()
    table["start"] = np.where(states["first_start"] == NEVER, -1, states["first_start"])
    table["saved"] = states["output_saved"].astype(np.int64)
    return {name: table[name] for name in names}
