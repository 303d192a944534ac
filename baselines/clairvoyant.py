"""The clairvoyant bound: what the best plan of somebody who knows the record costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.envs import Scenario, resolve
from failgym.sim.pinned.clairvoyant import SEARCH_LIMIT, Bound, clairvoyant, clairvoyant_costs
from failgym.worlds.build import build_world
from failgym.worlds.kinds import CLAIRVOYANT

__all__ = ["Bound", "Clairvoyant", "clairvoyant_costs"]


@dataclass(frozen=True)
class Clairvoyant:
    """The least cost of each task over all plans, knowing the record; 100 on the scale of scores.

    It is the exception among the baselines: it is given the world and not an observation, so it is
    no `Heuristic` and not in the registry. Tasks of a pinned world are independent of each other,
    so the bound is exact, task by task; `Bound.exact` says where the search was cut short, and
    `Bound.lowest` what no plan can cost less than there. How it is found, and why that is enough:
    `failgym.sim.pinned.clairvoyant`.

    >>> from failgym.envs import resolve
    >>> bound = Clairvoyant().plan(resolve("GracePeriod-v1", {"jobs": 1_000}))
    >>> bound.costs.shape[1], bool(bound.exact.all())
    (5, True)
    """

    limit: int = SEARCH_LIMIT
    """Decisions that the search for the plan of one task may answer."""

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit: expected at least 1, got {self.limit}")

    def plan(self, scenario: str | Scenario, tasks: npt.NDArray[np.int64] | None = None) -> Bound:
        """Find the cheapest plan of each task of a scenario.

        Args:
            scenario: a scenario or the name of one; its own split counts.
            tasks: trace rows of tasks of known fate [tasks]; by default those of its slices.

        Raises:
            ValueError: for an unknown scenario, one of a scheduled world (which has but a lower
                bound: `failgym.sim.scheduled.bounds`), or a task whose fate is not known.
        """
        rules = resolve(scenario)
        if rules.kind.bound_name != CLAIRVOYANT:
            raise ValueError(f"clairvoyant: expected a pinned world, got {rules.name or 'another'}")
        world = build_world(rules)
        tasks = world.own_tasks if tasks is None else tasks
        return clairvoyant(world.tables, rules, tasks, self.limit)

    def costs(
        self, scenario: str | Scenario, tasks: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Cost terms of each task under its cheapest plan, [tasks, 5]; see `plan`."""
        return self.plan(scenario, tasks).costs
