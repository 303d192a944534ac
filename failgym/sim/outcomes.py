"""The outcome table: what became of each task, beside what the record says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.records import World

__all__ = ["TaskOutcome", "outcome_table"]


class TaskOutcome(NamedTuple):
    """What became of a task, beside what the record says; times in ms, work in machine-ms."""

    task: int
    submit: int
    recorded_end: int
    recorded_outcome: int
    end: int
    """-1 while it is not settled"""
    outcome: int
    useful: int
    lost: int
    redundant: int
    ghost: int
    checkpoint: int
    restore: int
    transfer: int
    attempts: int
    """attempts started"""
    extra: int
    """attempts that the agent asked for, clones included"""
    clones: int
    retries: int
    checkpoints: int
    """checkpoints that became durable"""
    armed: bool
    killed: bool
    """a kill was carried out"""
    departed: bool
    failures: int
    """intrinsic failures"""
    decisions: int
    recorded_work: int
    """machine-time of the attempt that finishes the task in the record, 0 if none does"""


def outcome_table(world: World, states: Any) -> dict[str, npt.NDArray[Any]]:
    """Columns of the outcomes of TASK_STATE records: the fields of `TaskOutcome`, an array each."""
    record = world.tasks[states["task"]]
    table = {name: states[name] for name in TaskOutcome._fields if name in states.dtype.names}
    table["submit"], table["recorded_work"] = record["submit"], record["record_work"]
    table["recorded_end"], table["recorded_outcome"] = (
        record["record_end"],
        record["record_outcome"],
    )
    table["transfer"] = np.zeros(len(states), dtype=np.int64)
    return {name: table[name].copy() for name in TaskOutcome._fields}
