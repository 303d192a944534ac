"""Gymnasium's batched CartPole, as a yardstick behind the same adapter as failgym itself."""

# CartPole's arrays have no types of their own.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

__all__ = ["BatchedCartPole"]

FIELDS, ACTIONS = 4, 2
"""What CartPole observes, and how many actions it has."""


class BatchedCartPole(CartPoleVectorEnv):
    """CartPole's batched numpy twin, which begins anew in the step in which an episode ends.

    Gymnasium's own does so in the step after, which no `VecEnv` may. The rest of it is untouched.

    Args:
        num_envs: N.
        width: numbers of an observation; those beyond CartPole's four are zero.
        actions: size of the alphabet; odd ones push to the right, and all are legal.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(self, num_envs: int, width: int = FIELDS, actions: int = ACTIONS) -> None:
        super().__init__(num_envs)
        self.width, self.actions = width, actions
        own: Any = self.single_observation_space
        low, high = np.zeros((2, width), dtype=np.float32)
        low[:FIELDS], high[:FIELDS] = own.low, own.high
        self.single_observation_space = spaces.Box(low, high, dtype=np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(actions)
        self._masks = np.ones((num_envs, actions), dtype=np.bool_)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal actions: all of them, bool [N, actions]."""
        return self._masks

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin all episodes."""
        observations, info = super().reset(seed=seed, options=options)
        return self._padded(observations), info

    def step(self, action: npt.NDArray[np.integer[Any]]) -> Any:
        """Push every cart; an episode that ends begins anew."""
        push = action if self.actions == ACTIONS else action & 1
        observations, rewards, terminated, truncated, info = super().step(push)
        observations = self._padded(observations)
        if self.prev_done.any():
            info = self._begin_anew(self.prev_done, observations)
            self.prev_done = np.zeros(self.num_envs, dtype=np.bool_)
        return observations, rewards, terminated, truncated, info

    def _begin_anew(
        self, ended: npt.NDArray[np.bool_], observations: npt.NDArray[np.float32]
    ) -> dict[str, Any]:
        """Begin episodes in place of those that ended; says what these ended with."""
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last[i] = observations[i].copy()
        state: Any = self.state
        state[:, ended] = self.np_random.uniform(self.low, self.high, (FIELDS, int(ended.sum())))
        self.steps[ended] = 0
        observations[ended, :FIELDS] = state[:, ended].T
        return {"final_obs": last, "_final_obs": ended, "final_info": {}, "_final_info": ended}

    def _padded(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Observations of the width that was asked for."""
        if self.width == FIELDS:
            return observations
        wide = np.zeros((self.num_envs, self.width), dtype=np.float32)
        wide[:, :FIELDS] = observations
        return wide
