"""Rewards to train on that are easier to learn from, and what may be changed without harm.

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
    much as the reference does: what both pay then falls out, whatever befalls the task (a baseline
    that knows the input: Mao et al., "Variance reduction for reinforcement learning in input-driven
    environments", ICLR 2019). Where they differ it adds the variance of a task's fate, known only
    at its end; and so it does in advantages that do not reach that far: take ``gae_lambda`` 1.

And what changes it:

`by_cost`
    Divide by a power of what the task costs under the reference, or under replay if there is none;
    tasks of less than `LEAST_COST` count as such. A few tasks that fail for weeks cost more than
    all others together, and drown them. What is best for a task stays the best for it, but tasks
    are weighted anew, and that cost is not observed: where the agent cannot tell tasks apart, it
    does what is best for the many small ones. Of use early, and where the large ones can be told by
    what is observed; of harm where a rare task on which much is at stake looks as any other
    (`failgym.agents.environments.task_sampling` makes those less rare instead).

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

from failgym.agents.environments.task_costs import TaskCosts
from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.evaluation.caller import Predicts

__all__ = ["LEAST_COST", "TrainingReward"]

LEAST_COST = 0.02
"""``by_cost``: tasks that cost less are divided as if they cost that [mean tasks]."""

Floats = npt.NDArray[np.float64]


class TrainingReward(VecEnvWrapper):
    """An environment with other rewards; everything else is passed through.

    The statistics of episodes (``info["episode"]``) remain those of the environment's own rewards.

    Args:
        venv: an environment of the pinned world, one task an episode (`make_sb3_env`).
        scale: factor.
        by_width: divide by the task's width?
        reference: a policy whose costs are paid back at the end of each task.
        by_cost: power of the task's cost to divide by.
        divisors: what the rewards of each task are divided by besides, by trace row.
        costs: of the environment's tasks, if they are known already.

    Raises:
        ValueError: for an environment of several tasks an episode, a scale that is not positive, or
            a power below 0.
    """

    def __init__(
        self,
        venv: BatchedVecEnv,
        *,
        scale: float = 1.0,
        by_width: bool = False,
        reference: Predicts | None = None,
        by_cost: float = 0.0,
        divisors: Floats | None = None,
        costs: TaskCosts | None = None,
    ) -> None:
        super().__init__(venv)
        if not 0.0 < scale < math.inf:
            raise ValueError(f"scale: expected a positive number, got {scale}")
        if not 0.0 <= by_cost < math.inf:
            raise ValueError(f"by_cost: expected at least 0, got {by_cost}")
        self.batched = venv
        costs = costs or TaskCosts(venv.get_attr("scenario")[0])
        self.paid_back = None if reference is None else costs.of(reference)
        """[tasks of the trace] paid at the end, before division; None: nothing"""
        self.factors = np.full(len(costs.world.tasks), scale)
        """[tasks of the trace] what rewards are multiplied by"""
        if by_width:
            self.factors /= costs.widths
        if by_cost:
            lost = costs.replay if self.paid_back is None else self.paid_back
            self.factors /= np.maximum(lost, LEAST_COST) ** by_cost
        if divisors is not None:
            self.factors /= divisors

    def reset(self) -> npt.NDArray[np.float32]:
        """Begin all episodes."""
        return self.batched.reset()

    def step_wait(
        self,
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        list[dict[str, Any]],
    ]:
        """Answer the open decisions, and change the rewards."""
        tasks = self.batched.tasks
        observations, rewards, ends, infos = self.batched.step_wait()
        changed = rewards.astype(np.float64)
        if self.paid_back is not None:
            changed += np.where(ends, self.paid_back[tasks], 0.0)
        changed *= self.factors[tasks]
        return observations, changed.astype(np.float32), ends, infos
