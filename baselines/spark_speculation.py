"""Spark's speculation: copy a task that takes much longer than those that have finished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import (
    Bools,
    Choices,
    Heuristic,
    ObservationView,
    check_probability,
    choose,
)
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["SparkSpeculation", "alone", "finished_siblings"]


@dataclass(frozen=True)
class SparkSpeculation(Heuristic):
    """Clone a task that runs longer than ``multiplier`` times the median of the finished ones.

    Apache Spark, configuration reference, section Scheduling: once a share
    ``spark.speculation.quantile`` of the tasks of a stage is complete, a task that runs longer than
    ``spark.speculation.multiplier`` times their median is run again, at most once. The defaults
    are those of Spark 1 to 3. The number of tasks that must be complete is rounded down, and is at
    least one; a task alone in its stage is never copied.

    Fidelity: a stage is a job, and a task is looked at in its monitoring windows instead of every
    100 ms. Failures are left to the cluster. A copy is the next attempt of the record, or one like
    the last: it overtakes where the record's later attempts are faster, not for being elsewhere.
    """

    name: ClassVar[str] = "spark_speculation"
    after: ClassVar[str] = "Spark"
    needs: ClassVar[frozenset[str]] = frozenset({"clone"})
    reads: ClassVar[frozenset[str]] = frozenset({"siblings"})

    quantile: float = tuned(0.75, 0.0, 1.0)
    """Share of the tasks that must be complete (spark.speculation.quantile)."""
    multiplier: float = tuned(1.5, 0.25, 16.0, log=True)
    """Run time in medians from which a task is copied (spark.speculation.multiplier)."""

    def __post_init__(self) -> None:
        check_probability("quantile", self.quantile)
        if not self.multiplier > 0.0:
            raise ValueError(f"multiplier: expected a positive number, got {self.multiplier}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CLONE for a slow task without a copy, CONTINUE elsewhere."""
        needed = np.maximum(np.floor(self.quantile * view.count("job_tasks")), 1)
        enough = finished_siblings(view) >= needed
        slow = view["age_over_siblings"] > np.float32(self.multiplier)
        return choose(view.is_on("window") & enough & slow & alone(view), Action.CLONE)


def finished_siblings(view: ObservationView) -> Choices:
    """Other tasks of the job that have finished [batch]."""
    others = np.maximum(view.count("job_tasks") - 1, 0)
    return np.rint(view["siblings_finished"].astype(np.float64) * others).astype(np.int64)


def alone(view: ObservationView) -> Bools:
    """Has the task no copy, neither alive now nor made before by the agent?"""
    return (view.count("clones") == 0) & (view.count("live_attempts") <= 1)
