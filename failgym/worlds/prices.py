"""Step 7: what a scenario charges, by the means of the tasks that set its prices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.rules import Weights
from failgym.worlds.scenario import Scenario

__all__ = ["Units", "completion_times", "prices_of", "units_of"]

Ints = npt.NDArray[np.int64]


class Units(NamedTuple):
    """What costs are counted in: means of the tasks that set the prices."""

    work: float
    """machine-time, at least 1 [machine-ms]"""
    time: float
    """completion time, at least 1 [ms]"""


def units_of(tables: Any, tasks: Ints, times: Ints) -> Units:
    """The units of costs.

    Args:
        tables: compiled: TASK and ROW records.
        tasks: whose machine-time sets the prices, as trace rows.
        times: whose mean is the unit of completion time [ms].
    """
    return Units(_mean_work(tables, tasks), max(float(times.mean()), 1.0))


def prices_of(scenario: Scenario, units: Units) -> Weights:
    """The weights of a scenario.

    Where the scenario says what waiting costs, completion time is in units of machine-time too.

    Args:
        scenario: says the weights.
        units: of machine-time and of completion time.
    """
    price = scenario.waiting_price
    return Weights(
        wasted=scenario.weight_wasted,
        overhead=scenario.weight_overhead,
        completion=scenario.weight_completion * (1.0 if price is None else price),
        forfeited=scenario.weight_forfeited,
        task_value=scenario.task_value,
        work_scale=units.work,
        time_scale=units.time if price is None else units.work,
    )


def completion_times(tables: Any, tasks: Ints) -> Ints:
    """From submission to the end of each of these tasks in the record [ms]."""
    record = tables.tasks[tasks]
    return record["record_end"] - record["submit"]


def _mean_work(tables: Any, tasks: Ints) -> float:
    """Mean machine-time of these tasks, at least 1 [machine-ms]."""
    count = len(tables.tasks)
    row_task = np.repeat(np.arange(count), tables.tasks["rows"])
    work = np.bincount(row_task, tables.rows["duration"], count) * tables.tasks["width"]
    return max(float(work[tasks].mean()), 1.0)
