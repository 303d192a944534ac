"""Which tasks a scenario selects."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.compile import attempts_of, user_kill
from failgym.traces import Outcome, Trace
from failgym.vocabulary import NEVER
from failgym.worlds.scenario import Scenario

__all__ = ["selected", "shown_tasks"]

Bools = npt.NDArray[np.bool_]


def selected(scenario: Scenario, trace: Trace, tasks: Any) -> Bools:
    """Tasks that a scenario selects [tasks], of TASK records."""
    by_user = (tasks["kill_at"] != NEVER) & (tasks["record_outcome"] == Outcome.KILL)
    return _selected(scenario, trace, tasks["rows"], tasks["own_fail"] != NEVER, by_user)


def shown_tasks(scenario: Scenario, trace: Trace) -> Bools:
    """Tasks of known fate that ran and that a scenario selects [tasks], by the trace alone."""
    a, outcome = attempts_of(trace), trace.task_outcome
    rows = np.bincount(a.task[a.started], minlength=len(outcome))
    failed = np.bincount(a.task[a.outcome == Outcome.FAIL], minlength=len(outcome)) > 0
    by_user = (user_kill(a) != NEVER) & (outcome == Outcome.KILL)
    chosen = _selected(scenario, trace, rows, failed, by_user)
    return chosen & (rows > 0) & (outcome != Outcome.CENSORED)


def _selected(
    scenario: Scenario, trace: Trace, rows: npt.NDArray[np.int64], fails: Bools, by_user: Bools
) -> Bools:
    """Tasks that a scenario selects, by their started rows, failures and final kills [tasks]."""
    chosen = rows <= scenario.max_attempts
    if scenario.select == "failing":
        job = trace.column("tasks", "job")
        failed, killed = (np.zeros(trace.jobs.num_rows, dtype=np.bool_) for _ in range(2))
        failed[job[fails]] = True
        killed[job[by_user]] = True
        chosen &= (failed & ~killed)[job]
    return chosen
