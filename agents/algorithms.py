"""The algorithms that agents are trained with."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm

from failgym.agents.credit import MaskableTaskRolloutBuffer, TaskRolloutBuffer
from failgym.agents.hyperparameters import (
    A2CSettings,
    ActorCritic,
    DQNSettings,
    PPOSettings,
    QRDQNSettings,
    RecurrentPPOSettings,
    Settings,
)

__all__ = ["ALGORITHMS", "Algorithm", "algorithm_named"]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of stable-baselines3 or sb3-contrib, and what it is like."""

    name: str
    model: type[BaseAlgorithm]
    settings: type[Settings]
    """its hyper-parameters"""
    policy: str = "MlpPolicy"
    """what the library calls the network"""
    masked: bool = False
    """does it leave out illegal actions? To others they are CONTINUE"""
    on_policy: bool = True
    """does it learn from what the policy has just done, and from nothing older?"""

    @property
    def stochastic(self) -> bool:
        """Does it learn probabilities of actions, so that it can be asked to draw?"""
        return isinstance(self.settings.model_fields["policy"].default, ActorCritic)

    def build(self, settings: Settings, env: Any, seed: int | None = None) -> BaseAlgorithm:
        """A model that has not learned yet, on the processor.

        Args:
            settings: hyper-parameters of this algorithm.
            env: an environment of stable-baselines3 (`failgym.agents.vec_env.make_sb3_env`).
            seed: of the first weights and of all that is drawn.

        Raises:
            ValueError: for credit per task in a pinned world, where an episode can be one task.
        """
        kind: Any = self.model
        options = {**settings.arguments(), **self._credit(settings, env)}
        model: BaseAlgorithm = kind(self.policy, env, seed=seed, device="cpu", **options)
        if isinstance(settings.policy, ActorCritic):
            policy: Any = model.policy
            policy.action_net.bias.data[1:] = settings.policy.initial_bias
        return model

    def _credit(self, settings: Settings, env: Any) -> dict[str, Any]:
        """The rollout buffer that credits tasks, if the settings ask for it."""
        if not isinstance(settings, PPOSettings) or settings.credit is None:
            return {}
        buffer = MaskableTaskRolloutBuffer if self.masked else TaskRolloutBuffer
        options = {"env": env, **settings.credit.model_dump()}
        return {"rollout_buffer_class": buffer, "rollout_buffer_kwargs": options}


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("ppo", PPO, PPOSettings),
        Algorithm("maskable_ppo", MaskablePPO, PPOSettings, masked=True),
        Algorithm("recurrent_ppo", RecurrentPPO, RecurrentPPOSettings, policy="MlpLstmPolicy"),
        Algorithm("a2c", A2C, A2CSettings),
        Algorithm("dqn", DQN, DQNSettings, on_policy=False),
        Algorithm("qrdqn", QRDQN, QRDQNSettings, on_policy=False),
    )
}
"""Name -> algorithm."""


def algorithm_named(name: str) -> Algorithm:
    """An algorithm by its name. Raises ValueError for another, naming the nearest."""
    if name not in ALGORITHMS:
        near = difflib.get_close_matches(name, ALGORITHMS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(ALGORITHMS)}"
        raise ValueError(f"unknown algorithm {name!r}, {hint}")
    return ALGORITHMS[name]
