"""Rewards to train on that make the same policy the best one, and are easier to learn from.

The environment charges costs as they arise, in units of the mean task of the train split; scores
are made of these. What may be changed for training without changing what is best to do:

`scale`
    Multiply by a number. Of use where an algorithm cares for the size of rewards: the weight of the
    critic's error beside the policy's, clipped gradients, DQN's losses. PPO normalises advantages.
`by_width`
    Divide by the width of the task. A gang of 500 machines costs 500 times what one machine does,
    and drowns the others, though it asks for the same decisions. All costs of a task are divided
    alike, so that what is best for it stays the best; and its width is observed. Of use where
    widths differ much (HPC jobs), of none where tasks occupy one slot.
`reference`
    Pay at the end of the task what a reference policy would have lost on it, so that the return is
    what was saved. It depends on the task and not on what was done. Of use while the agent does
    much as the reference does: what both pay then falls out. Where they differ it adds the variance
    of a task's fate, known only at its end.

All hold in the pinned world with an episode for each task (``slice_tasks=1``), where a reward
belongs to one task. The weights of the reward's terms are fields of the scenario (``weight_*``):
to change those changes what is best.
"""

# stable-baselines3 annotates some of its arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnvWrapper

from failgym.agents.vec_env import BatchedVecEnv
from failgym.envs.scenario import Scenario
from failgym.envs.worlds import build_world
from failgym.evaluation import run_policy
from failgym.evaluation.caller import Predicts
from failgym.sim.fields import INDEX

__all__ = ["TrainingReward", "costs_by_task"]

WIDTH = INDEX["width"]

Floats = npt.NDArray[np.float64]


class TrainingReward(VecEnvWrapper):
    """An environment with other rewards; everything else is passed through.

    The statistics of episodes (``info["episode"]``) remain those of the environment's own rewards.

    Args:
        venv: an environment of the pinned world, one task an episode (`make_sb3_env`).
        scale: factor.
        by_width: divide by the task's width?
        reference: a policy whose costs are paid back at the end of each task.

    Raises:
        ValueError: for an environment of several tasks an episode, or a scale that is not positive.
    """

    def __init__(
        self,
        venv: BatchedVecEnv,
        *,
        scale: float = 1.0,
        by_width: bool = False,
        reference: Predicts | None = None,
    ) -> None:
        super().__init__(venv)
        scenario: Scenario = venv.get_attr("scenario")[0]
        if scenario.world != "pinned" or scenario.slice_tasks != 1:
            raise ValueError("venv: expected the pinned world and slice_tasks=1")
        if not 0.0 < scale < math.inf:
            raise ValueError(f"scale: expected a positive number, got {scale}")
        self.batched = venv
        self.scale, self.by_width = scale, by_width
        self.paid_back = None if reference is None else costs_by_task(scenario, reference)
        self._tasks = np.zeros(venv.num_envs, dtype=np.int64)
        self._widths = np.ones(venv.num_envs)

    def reset(self) -> npt.NDArray[np.float32]:
        """Begin all episodes."""
        observations = self.batched.reset()
        self._remember(observations)
        return observations

    def step_wait(
        self,
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        list[dict[str, Any]],
    ]:
        """Answer the open decisions, and change the rewards."""
        observations, rewards, ends, infos = self.batched.step_wait()
        changed = rewards.astype(np.float64)
        if self.paid_back is not None:
            changed += np.where(ends, self.paid_back[self._tasks], 0.0)
        changed *= self.scale / self._widths
        self._remember(observations)
        return observations, changed.astype(np.float32), ends, infos

    def _remember(self, observations: npt.NDArray[np.float32]) -> None:
        """Whose decisions are open now."""
        self._tasks = self.batched.tasks
        if self.by_width:
            self._widths = np.maximum(np.exp2(observations[:, WIDTH].astype(np.float64)) - 1.0, 1.0)


def costs_by_task(scenario: Scenario, policy: Predicts) -> Floats:
    """What every task of a scenario costs under a policy, by trace row; 0 for those in no slice."""
    world = build_world(scenario)
    run = run_policy(world, scenario, policy, order=scenario.order)
    tasks = run.outcomes["task"]
    costs = np.zeros(int(tasks.max()) + 1)
    costs[tasks] = run.costs.sum(axis=1)
    return costs
