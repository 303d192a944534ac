"""The outcome table: what became of each task, beside what the record says."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.records import World
from failgym.vocabulary import TaskOutcome

__all__ = ["outcome_table"]

_NAMES = [field.name for field in fields(TaskOutcome)]


def outcome_table(world: World, states: Any) -> dict[str, npt.NDArray[Any]]:
    """Columns of the outcomes of TASK_STATE records: the fields of `TaskOutcome`, an array each."""
    record = world.tasks[states["task"]]
    table = {name: states[name] for name in _NAMES if name in states.dtype.names}
    table["submit"], table["recorded_work"] = record["submit"], record["record_work"]
    table["recorded_end"], table["recorded_outcome"] = (
        record["record_end"],
        record["record_outcome"],
    )
    table["transfer"] = np.zeros(len(states), dtype=np.int64)
    return {name: table[name].copy() for name in _NAMES}
