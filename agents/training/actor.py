"""The actor of a model alone: asked for scores during training, where time counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy

__all__ = ["Actor", "asked"]


class Actor:
    """Answers as `predict` of a model without memory does, in a fifth of its time for few lanes.

    The layers are the same; what is left out are distributions and checks. Actions are drawn by
    adding Gumbel noise to the logits (Gumbel, 1954), from a generator of its own.

    Args:
        policy: the networks of PPO, A2C or MaskablePPO, fully connected.
        seed: of the draws.
    """

    def __init__(self, policy: ActorCriticPolicy | MaskableActorCriticPolicy, seed: int) -> None:
        self._hidden, self._last = policy.mlp_extractor.forward_actor, policy.action_net
        known: Any = policy
        self.observation_space: Any = known.observation_space
        """names the fields that it is shown"""
        self._masked = isinstance(policy, MaskableActorCriticPolicy)
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[npt.NDArray[np.int64], Any]:
        """Choose an action for each observation of a batch, as `failgym.policy.Policy` says."""
        with torch.inference_mode():
            found = self._last(self._hidden(torch.as_tensor(observation)))
        logits: npt.NDArray[Any] = found.numpy()
        if not deterministic:
            logits = logits + self._rng.gumbel(size=logits.shape)
        if self._masked and action_masks is not None:
            logits = np.where(action_masks, logits, -np.inf)
        return logits.argmax(axis=1), state


def asked(model: BaseAlgorithm, seed: int) -> Actor | BaseAlgorithm:
    """The fastest of what answers as the model does."""
    policy: Any = model.policy
    plain = type(policy) in (ActorCriticPolicy, MaskableActorCriticPolicy)
    return Actor(policy, seed) if plain else model
