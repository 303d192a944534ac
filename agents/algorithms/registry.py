"""The algorithms that agents are trained with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from failgym.agents.algorithms.hyperparameters import (
    A2CSettings,
    ActorCritic,
    DQNSettings,
    PPOSettings,
    QRDQNSettings,
    RecurrentPPOSettings,
    Settings,
)
from failgym.agents.algorithms.learner import COUNTERFACTUAL
from failgym.agents.credit.rollout_buffers import MaskableTaskRolloutBuffer, TaskRolloutBuffer
from failgym.agents.networks.architectures import ARCHITECTURES, Architecture
from failgym.known_names import check_known

__all__ = ["ALGORITHMS", "Algorithm", "algorithm_named"]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of stable-baselines3 or sb3-contrib, and what it is like."""

    name: str
    """that of its `failgym.agents.networks.architectures.ARCHITECTURES`"""
    settings: type[Settings]
    """its hyper-parameters"""

    @property
    def architecture(self) -> Architecture:
        """Its classes."""
        return ARCHITECTURES[self.name]

    @property
    def on_policy(self) -> bool:
        """Does it learn from what the policy has just done, and from nothing older?"""
        return issubclass(self.architecture.model, OnPolicyAlgorithm)

    @property
    def stochastic(self) -> bool:
        """Does it learn probabilities of actions, so that it can be asked to draw?"""
        return self.architecture.actor_critic

    def build(self, settings: Settings, env: Any, seed: int | None = None) -> BaseAlgorithm:
        """A model that has not learned yet, on the processor.

        Args:
            settings: hyper-parameters of this algorithm.
            env: an environment of stable-baselines3 (`failgym.agents.make_sb3_env`) that shows what
                is learned from: hyper-parameters say nothing of that here.
            seed: of the first weights and of all that is drawn.

        Raises:
            ValueError: for credit per task in a pinned world, where an episode can be one task.
        """
        kind: Any = self.architecture.model
        options = {**settings.arguments(), **self._credit(settings, env)}
        model: BaseAlgorithm = kind(
            self.architecture.policy, env, seed=seed, device="cpu", **options
        )
        if isinstance(settings.policy, ActorCritic):
            policy: Any = model.policy
            policy.action_net.bias.data[1:] = settings.policy.initial_bias
        return model

    def _credit(self, settings: Settings, env: Any) -> dict[str, Any]:
        """The rollout buffer that credits tasks, if the settings ask for it."""
        if not isinstance(settings, PPOSettings) or settings.credit is None:
            return {}
        buffer = MaskableTaskRolloutBuffer if self.architecture.masked else TaskRolloutBuffer
        options = {"env": env, **settings.credit.model_dump()}
        return {"rollout_buffer_class": buffer, "rollout_buffer_kwargs": options}


_SETTINGS: dict[str, type[Settings]] = {
    "ppo": PPOSettings,
    "maskable_ppo": PPOSettings,
    "recurrent_ppo": RecurrentPPOSettings,
    "a2c": A2CSettings,
    "dqn": DQNSettings,
    "qrdqn": QRDQNSettings,
}
ALGORITHMS = {name: Algorithm(name, settings) for name, settings in _SETTINGS.items()}
"""Name -> algorithm."""


def algorithm_named(name: str) -> Algorithm:
    """An algorithm by its name. Raises ValueError for another, naming the nearest."""
    if name not in ALGORITHMS:
        check_known("algorithm", name, (*ALGORITHMS, COUNTERFACTUAL))
        raise ValueError(f"algorithm: expected one of stable-baselines3, got {name!r}")
    return ALGORITHMS[name]
