"""The outcome table: what became of each task, beside what the record says."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.records import World
from failgym.vocabulary import Accounts, TaskOutcome

__all__ = ["accounts_of", "outcome_table"]

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


def accounts_of(states: Any, under_way: int) -> Accounts:
    """Machine-time of TASK_STATE records by account.

    Args:
        under_way: of their attempts, and writes, that are not over [machine-ms].
    """
    kept = [name for name in Accounts._fields if name in states.dtype.names]
    unclassified = int(states["saved"].sum() + states["unknown"].sum())
    return Accounts(
        in_flight=unclassified + under_way, **{name: int(states[name].sum()) for name in kept}
    )
