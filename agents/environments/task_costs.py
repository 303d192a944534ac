"""What every task of a pinned world costs under a policy."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from failgym.baselines import Replay
from failgym.evaluation import run_policy
from failgym.evaluation.caller import Predicts
from failgym.evaluation.continuing import CONTINUING
from failgym.worlds.build import build_world
from failgym.worlds.scenario import Scenario

__all__ = ["TaskCosts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class TaskCosts:
    """Costs of the tasks of a scenario, in units of the mean task of the train split.

    Args:
        scenario: of the pinned world, one task an episode.

    Raises:
        ValueError: for another world, or several tasks an episode.
    """

    def __init__(self, scenario: Scenario) -> None:
        world = build_world(scenario)
        if not scenario.kind.independent or scenario.slice_tasks != 1:
            raise ValueError("venv: expected the pinned world and slice_tasks=1")
        self.scenario, self.world = scenario, world

    @property
    def tasks(self) -> Ints:
        """Trace rows of the tasks that episodes are made of."""
        return self.world.own_tasks

    @property
    def widths(self) -> Floats:
        """Slots that each task occupies, by trace row, at least 1."""
        return np.maximum(self.world.tasks["width"].astype(np.float64), 1.0)

    @cached_property
    def replay(self) -> Floats:
        """Costs if nothing is done."""
        return self._of(CONTINUING)

    def of(self, policy: Predicts) -> Floats:
        """Costs under a policy, by trace row; 0 for tasks of no episode."""
        return self.replay if isinstance(policy, Replay) else self._of(policy)

    def _of(self, policy: Predicts) -> Floats:
        run = run_policy(self.world, self.scenario, policy, order=self.scenario.order)
        costs = np.zeros(len(self.world.tasks))
        costs[run.outcomes["task"]] = run.costs.sum(axis=1)
        return costs
