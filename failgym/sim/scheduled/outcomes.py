"""The outcome table of the scheduled world: that of the pinned one, and what became of waiting."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.records import World
from failgym.vocabulary import NEVER, ScheduledOutcome

__all__ = ["outcome_table"]

_NAMES = [field.name for field in fields(ScheduledOutcome)]


def outcome_table(world: World, states: Any) -> dict[str, npt.NDArray[Any]]:
    """Columns of the outcomes of the TASK_STATE records of an episode, an array each."""
    record = world.tasks[states["task"]]
    table: dict[str, npt.NDArray[Any]]
    table = {name: states[name].copy() for name in _NAMES if name in states.dtype.names}
    arrives = states["remaining"] < 0
    beginning = int(record["submit"][arrives].min()) if arrives.any() else 0
    table["submit"] = np.where(arrives, record["submit"], beginning)
    table["recorded_work"] = record["record_work"].copy()
    table["recorded_end"] = record["record_end"].copy()
    table["recorded_outcome"] = record["record_outcome"].copy()
    table["start"] = np.where(states["first_start"] == NEVER, -1, states["first_start"])
    table["saved"] = states["output_saved"].astype(np.int64)
    return {name: table[name] for name in _NAMES}
