"""What a task forfeits that does not finish."""

from __future__ import annotations

import numpy as np

from failgym.sim.shared.continued import Beyond, machine_time_of_work
from failgym.sim.shared.records import Records
from failgym.sim.shared.rules import Weights
from failgym.sim.shared.totals import MOST_TIME
from failgym.vocabulary import Outcome

__all__ = ["set_forfeits"]


def set_forfeits(tasks: Records, beyond: Beyond, weights: Weights) -> None:
    """Fill in what each task forfeits: what the record finishes, or its value (rule V1).

    Args:
        tasks: TASK [tasks], changed in place.
        beyond: how they go on.
        weights: say whether tasks have a value.

    Raises:
        ValueError: if they have one and the record is not continued, so that nobody knows their
            work; or all values together do not fit into the numbers of the engine.
    """
    if weights.task_value is None:
        finishes = tasks["record_outcome"] == Outcome.FINISH
        tasks["forfeits"] = finishes
        tasks["forfeit_work"] = np.where(finishes, tasks["record_work"], 0)
        tasks["forfeit_time"] = np.where(finishes, tasks["record_end"] - tasks["submit"], 0)
        return
    if len(beyond.tasks) != len(tasks):
        raise ValueError(
            f"task_value: expected None unless beyond_record is 'continued', got"
            f" {weights.task_value!r}"
        )
    work = machine_time_of_work(tasks, beyond.tasks)
    total = float(work.sum(dtype=np.float64))
    if not total <= MOST_TIME:
        raise ValueError(
            f"task_value: the work of all tasks comes to {total:.3g} machine-ms, expected at most"
            f" {MOST_TIME:.3g}"
        )
    tasks["forfeits"] = (work > 0) & (weights.task_value > 0.0)
    tasks["forfeit_work"], tasks["forfeit_time"] = work, 0
