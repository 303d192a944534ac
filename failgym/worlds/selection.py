"""Which tasks a scenario selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces import Outcome, Trace
from failgym.vocabulary import NEVER
from failgym.worlds.scenario import Scenario

__all__ = ["selected"]


def selected(scenario: Scenario, trace: Trace, tasks: Any) -> npt.NDArray[np.bool_]:
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
