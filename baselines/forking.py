"""Forking: copy the last tasks of a job."""

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
from failgym.baselines.spark_speculation import finished_siblings
from failgym.vocabulary import Action

__all__ = ["Forking"]


@dataclass(frozen=True)
class Forking(Heuristic):
    """When a share p of a job's tasks is left, start r copies of each of them.

    The single-fork policy pi_keep(p, r) of Wang, Joshi and Wornell, "Efficient straggler
    replication in large-scale parallel computing", arXiv 1503.03128: when (1 - p) n of n parallel
    tasks have finished, r replicas of each of the p n others are started beside the original; the
    first copy to finish counts. p = 0.1 and r = 1, a backup for the last tenth, are this library's
    choice, since the best values depend on the distribution of run times. (1 - p) n is rounded up.

    Fidelity: their pi_kill, which replaces the original by r + 1 fresh copies, cannot be
    expressed: KILL ends a task, not one of its attempts. Their tasks start together, and copies are
    independent draws; here a copy is the next attempt of the record, or one like the last. The fork
    comes at a task's next window, and the scenario's cap on clones binds as well.
    """

    name: ClassVar[str] = "forking"
    after: ClassVar[str] = "Wang et al. 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"clone"})
    reads: ClassVar[frozenset[str]] = frozenset({"siblings"})

    share: float = tuned(0.1, 0.0, 1.0)
    """p: share of the tasks that is left when they are forked."""
    copies: int = tuned(1, 0, 4)
    """r: copies of each of them."""

    def __post_init__(self) -> None:
        check_probability("share", self.share)
        if self.copies < 0:
            raise ValueError(f"copies: expected at least 0, got {self.copies}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CLONE, up to r times, for a task of the last ones, CONTINUE elsewhere."""
        tasks = view.count("job_tasks")
        needed = np.ceil(np.round((1.0 - self.share) * tasks, 6))
        last = (tasks > 1) & (finished_siblings(view) >= needed)
        wanted = last & (view.count("clones") < self.copies)
        return choose(view.is_on("window") & wanted, Action.CLONE)
