"""MO-Gymnasium: environments whose reward is the vector of its terms.

Importing this module registers, beside every environment of failgym, one with ``mo-`` before its
name:

>>> import gymnasium as gym
>>> import failgym.contrib.mo_gymnasium
>>> env = gym.make("failgym/mo-Checkpoint-v1", disable_env_checker=True, jobs=200)
>>> env.unwrapped.reward_space.shape, env.reset(seed=0)[0].shape
((5,), (88,))

``mo_gymnasium.make`` does the same, and switches Gymnasium's check of scalar rewards off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.registration import (
    register,  # pyright: ignore[reportUnknownVariableType]
    registry,
)

from failgym.envs import SCENARIOS, MitigationEnv, Scenario
from failgym.envs.spaces import TERMS

__all__ = ["RewardTermsEnv", "register_environments"]


class RewardTermsEnv(MitigationEnv):
    """`MitigationEnv` with the terms of the reward in place of their sum.

    They are in the order of `failgym.envs.TERMS`: what is wasted, overhead, completion time, what
    is forfeited, and what others cost. ``mo_gymnasium.wrappers.LinearReward`` with weights of one
    is the environment's own reward.

    Args:
        scenario: a registered name or a `Scenario`.
        more: as `MitigationEnv` takes it.
    """

    def __init__(self, scenario: str | Scenario, **more: Any) -> None:
        super().__init__(scenario, **more)
        self.reward_space = spaces.Box(-np.inf, 0.0, (len(TERMS),), np.float64)
        self.reward_dim = len(TERMS)

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, action: int | np.int64
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], bool, bool, dict[str, Any]]:
        """Answer the open decision; the reward is float64 [5]."""
        observation, _, terminated, truncated, info = super().step(action)
        return observation, info["reward_terms"].copy(), terminated, truncated, info


def register_environments() -> None:
    """Register ``failgym/mo-<name>`` for every environment, those of other packages included."""
    for name in SCENARIOS:
        if f"failgym/mo-{name}" not in registry:
            register(
                id=f"failgym/mo-{name}",
                entry_point=f"{__name__}:{RewardTermsEnv.__name__}",
                kwargs={"scenario": name},
                disable_env_checker=True,  # it expects one number
            )


register_environments()
