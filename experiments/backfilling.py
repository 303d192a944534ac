"""EASY backfilling of a workload on one machine, with each estimate of run times.

What `experiments.backfill_speed` times and `experiments.kumar2020_figure11` judges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.batch import ScheduledBatch
from failgym.sim.scheduled.compile import compile_scheduled, with_episodes
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.context import AGE_BUCKETS, CLASSES, SYSTEM_FIELDS, Context
from failgym.sim.shared.forecast import Forecast
from failgym.traces import Trace, uninterrupted, with_machines

__all__ = ["LOOK_BACK", "blank", "mean_waits", "on_one_machine", "scheduling"]

LOOK_BACK = {"average": 2, "median": 9, "mcs": 16}
"""Ended jobs of a user that the estimators look back at (Kumar et al., DSN 2020, figure 11)."""


def on_one_machine(trace: Trace, slots: int | None = None) -> Trace:
    """The jobs on one machine of so many slots; by default of the log's MaxProcs.

    It has at least as many as the widest job needs.
    """
    trace = uninterrupted(trace)
    stated = trace.meta.remarks.get("MaxProcs", "").split()
    widest = int(trace.column("tasks", "width").max())
    if slots is None:
        slots = int(stated[0]) if stated and stated[0].isdecimal() else widest
    return with_machines(trace, 1, slots=max(slots, widest))


def scheduling(
    trace: Trace, estimator: str, episodes: int = 1, jobs: int | None = None, kill: bool = False
) -> ScheduledBatch:
    """Episodes of so many jobs, by default all, one after the other; each begins anew.

    A reset of the batch runs an episode for each lane from the first submission to the last end.
    """
    chosen: dict[str, Any] = {"estimator": estimator, "history": LOOK_BACK.get(estimator, 1)}
    rules = ScheduledRules(scheduler="easy_backfill", walltime_kill=kill, restart_limit=0, **chosen)
    n = trace.rows("tasks")
    world = compile_scheduled(trace, rules, blank(trace, rules.window))
    order = np.lexsort((np.arange(n), world.tasks["submit"]))
    begin = np.arange(episodes) * (n if jobs is None else jobs)
    end = begin + (n if jobs is None else jobs)
    world = with_episodes(world, order, np.stack([begin, begin, end, end], axis=1))
    return ScheduledBatch(world, rules, 1)


def mean_waits(trace: Trace, estimator: str, episodes: int, jobs: int) -> npt.NDArray[np.float64]:
    """The mean wait of each episode's jobs [s]."""
    batch = scheduling(trace, estimator, episodes, jobs)
    waits = np.empty(episodes)
    for episode in range(episodes):
        batch.reset(np.array([episode], dtype=np.int64))
        table = batch.outcomes(0)
        waits[episode] = float((table["start"] - table["submit"]).mean()) / 1000
    return waits


def blank(trace: Trace, window: int) -> Context:
    """A context that knows nothing: no observation is ever made."""
    rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
    return Context(
        expectations=np.zeros((CLASSES, AGE_BUCKETS, 3)),
        system=np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),
        forecast=Forecast.none(trace.content_hash, *rows, window),
    )
