"""Tasks and rewards to train on, as `failgym train` has them, for batched environments of RLlib.

What they do and when they help is said in `failgym.agents.environments.rewards` and
`task_sampling`: neither changes what is best to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv, VectorWrapper

from failgym.baselines import REGISTRY
from failgym.known_names import check_known
from failgym.vocabulary import Action
from failgym.worlds.scenario import Scenario

__all__ = ["ShapedRewards", "Shaping"]

if TYPE_CHECKING:
    AnyVectorWrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    AnyVectorWrapper = VectorWrapper  # Gymnasium 1.2 does not say of what


@dataclass(frozen=True)
class Shaping:
    """Rewards and tasks to train on, in the pinned world with an episode for each task."""

    reference: str | None = None
    """name of a baseline; what it pays for a task is paid back at its end"""
    stakes: tuple[str, ...] = ()
    """names of actions; tasks are met as often as much is at stake on them if these are taken
    whenever they may be, and rewards are divided by how much more often that is. None: alike"""
    seed: int = 0
    """of the draw of tasks"""

    def __post_init__(self) -> None:
        if self.reference is not None:
            check_known("policy", self.reference, REGISTRY)
        known = tuple(action.name for action in Action)
        for name in self.stakes:
            check_known("action", name, known)

    def check(self, scenario: Scenario) -> None:
        """Raise ValueError for a scenario whose episodes are more than one task each."""
        if not scenario.kind.independent or scenario.slice_tasks != 1:
            raise ValueError("shaping: expected the pinned world and slice_tasks=1")

    def wrapped(self, env: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """A batched environment with these tasks and rewards.

        Raises:
            ImportError: without the extra `agents`.
        """
        from failgym.agents.environments.task_costs import TaskCosts
        from failgym.agents.environments.task_sampling import draw_by_stakes, stakes

        inner: Any = env.unwrapped
        costs = TaskCosts(inner.scenario)
        factors = np.ones(len(costs.world.tasks))
        if self.stakes:
            taken = [[int(Action[name])] for name in self.stakes]
            factors /= draw_by_stakes(env, stakes(costs, taken), self.seed)
        paid_back = np.zeros(len(factors))
        if self.reference is not None:
            paid_back = costs.of(REGISTRY[self.reference]())
        return ShapedRewards(env, paid_back, factors)


class ShapedRewards(AnyVectorWrapper):
    """Other rewards, by task; everything else is passed through.

    Args:
        env: a batched environment of the pinned world, one task an episode, that begins anew in the
            next step.
        paid_back: [tasks of the trace] paid at the end of a task, before multiplication.
        factors: [tasks of the trace] what rewards are multiplied by.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        paid_back: npt.NDArray[np.float64],
        factors: npt.NDArray[np.float64],
    ) -> None:
        super().__init__(env)
        self.paid_back, self.factors = paid_back, factors
        self.tasks = np.zeros(env.num_envs, dtype=np.int64)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all episodes."""
        observations, info = self.env.reset(seed=seed, options=options)
        self.tasks = info["task"].copy()
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Answer the open decisions, and change the rewards.

        The step in which an episode begins anew has none, whatever its task is called.
        """
        observations, rewards, ended, cut, info = self.env.step(actions)
        changed = (rewards + np.where(ended, self.paid_back[self.tasks], 0.0)) * self.factors[
            self.tasks
        ]
        self.tasks = info["task"].copy()
        return cast(Any, (observations, changed, ended, cut, info))
