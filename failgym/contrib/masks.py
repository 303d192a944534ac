"""Observations and masks in one Dict, for learners that look for masks in the observation.

>>> import gymnasium as gym, failgym
>>> from failgym.contrib.masks import DictObservation
>>> env = DictObservation(gym.make("failgym/Checkpoint-v1", jobs=200))
>>> sorted(env.reset(seed=0)[0])
['action_mask', 'observations']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from failgym.vocabulary import ACTIONS

__all__ = ["MASK", "OBSERVATIONS", "DictObservation", "VectorDictObservation", "masked_space"]

OBSERVATIONS, MASK = "observations", "action_mask"
"""The keys, which are those that RLlib's own examples of action masking look for."""

Masked = dict[str, npt.NDArray[Any]]
"""What is observed: the environment's own observation, and the legal actions, int8 [5]."""


def masked_space(space: spaces.Space[Any]) -> spaces.Dict:
    """The space of observations of a space with a mask beside them."""
    mask = spaces.Box(0, 1, (ACTIONS,), np.int8)
    return spaces.Dict({OBSERVATIONS: space, MASK: mask})


class DictObservation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Observe ``{"observations": ..., "action_mask": int8 [5]}``.

    Args:
        env: an environment of failgym, whole or with fields selected.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.observation_space: spaces.Space[Any] = masked_space(env.observation_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Masked, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _beside(observation, info[MASK]), info

    def step(self, action: Any) -> tuple[Masked, Any, bool, bool, dict[str, Any]]:
        """Answer the open decision."""
        observation, *outcome, info = self.env.step(action)
        return cast(Any, (_beside(observation, info[MASK]), *outcome, info))


if TYPE_CHECKING:
    AnyVectorWrapper = VectorWrapper[Any, Any, Any, Any, Any]
else:
    AnyVectorWrapper = VectorWrapper  # Gymnasium 1.2 does not say of what


class VectorDictObservation(AnyVectorWrapper):
    """`DictObservation` for a batched environment, in any mode of beginning anew.

    Args:
        env: a batched environment of failgym, whole or with fields selected. In Gymnasium's own
            vector environments the single ones are wrapped.

    Raises:
        ValueError: for another one.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if not hasattr(env.unwrapped, "action_masks"):
            got = type(env.unwrapped).__name__
            raise ValueError(
                f"env: expected a batched environment of failgym, got {got}: wrap the single"
                " environments in DictObservation"
            )
        super().__init__(env)
        batched: Any = env
        self.single_observation_space = masked_space(batched.single_observation_space)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Masked, dict[str, Any]]:
        """Begin episodes."""
        observations, info = self.env.reset(seed=seed, options=options)
        return self._masked(observations), info

    def step(self, actions: Any) -> tuple[Masked, Any, Any, Any, dict[str, Any]]:
        """Answer the open decisions; last observations (``final_obs``) have masks too."""
        observations, *outcome, info = self.env.step(actions)
        if "final_obs" in info:
            masks = info["final_info"][MASK]
            last = [
                one if one is None else _beside(one, mask)
                for one, mask in zip(info["final_obs"], masks, strict=True)
            ]
            info["final_obs"] = np.fromiter(last, dtype=object, count=len(last))
        return cast(Any, (self._masked(observations), *outcome, info))

    def _masked(self, observations: npt.NDArray[Any]) -> Masked:
        """Observations [N, fields] and the masks of the open decisions, int8 [N, 5]."""
        unwrapped: Any = self.env.unwrapped
        return _beside(observations, unwrapped.action_masks().astype(np.int8))


def _beside(observation: npt.NDArray[Any], mask: npt.NDArray[Any]) -> Masked:
    return {OBSERVATIONS: observation, MASK: mask}
