"""Which tasks a scenario selects, and what the prices of the selected ones are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.records import NEVER
from failgym.traces import Outcome, Trace
from failgym.worlds.scenario import Scenario

__all__ = ["mean_work", "selected"]

Bools = npt.NDArray[np.bool_]


def selected(scenario: Scenario, trace: Trace, tasks: Any) -> Bools:
    """Tasks that a scenario selects [tasks], of TASK records."""
    chosen = tasks["rows"] <= scenario.max_attempts
    if scenario.select == "failing":
        job = trace.column("tasks", "job")
        failed = np.zeros(trace.jobs.num_rows, dtype=np.bool_)
        failed[job[tasks["own_fail"] != NEVER]] = True
        killed = np.zeros(trace.jobs.num_rows, dtype=np.bool_)
        by_user = (tasks["kill_at"] != NEVER) & (tasks["record_outcome"] == Outcome.KILL)
        killed[job[by_user]] = True
        chosen &= (failed & ~killed)[job]
    return chosen


def mean_work(tasks: Any, rows: Any, chosen: npt.NDArray[Any]) -> float:
    """Mean machine-time of the chosen tasks of TASK and ROW records, at least 1 [machine-ms]."""
    row_task = np.repeat(np.arange(len(tasks)), tasks["rows"])
    work = np.bincount(row_task, rows["duration"], len(tasks)) * tasks["width"]
    return max(float(work[chosen].mean()), 1.0)
