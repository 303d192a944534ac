"""What each task of the pinned world has cost: those of a slice add up to what its episode cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.metrics import task_work
from failgym.sim.pinned.records import World as Tables
from failgym.traces import Outcome

__all__ = ["task_costs"]

Floats = npt.NDArray[np.float64]


def task_costs(
    tables: Tables, outcomes: Mapping[str, npt.NDArray[Any]], task: npt.NDArray[np.int64]
) -> Floats:
    """Cost of settled tasks by term, [tasks, 5], in the order of `TERMS`.

    Args:
        tables: say the prices.
        outcomes: table of outcomes of the tasks (`failgym.vocabulary.TaskOutcome`).
        task: [tasks] their numbers in ``tables.tasks``.
    """
    prices = tables.parameters[0]
    submit, record = outcomes["submit"], tables.tasks[task]
    lost = record["forfeits"] & (outcomes["outcome"] != Outcome.FINISH)
    forfeited = (
        prices["forfeited_work"] * record["forfeit_work"]
        + prices["forfeited_time"] * record["forfeit_time"]
    )
    return np.stack(
        [
            prices["wasted"] * task_work(outcomes, ("lost", "redundant", "ghost")),
            prices["overhead"] * task_work(outcomes, ("checkpoint", "restore")),
            prices["completion"] * (outcomes["end"] - submit),
            np.where(lost, forfeited, 0.0),
            np.zeros(len(submit)),
        ],
        axis=1,
    )
