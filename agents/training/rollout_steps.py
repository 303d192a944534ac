"""How many decisions are trained on: stable-baselines3 counts in whole rollouts."""

from __future__ import annotations

from failgym.agents.algorithms.hyperparameters import DQNSettings, OnPolicySettings, Settings

__all__ = ["rollout_of", "steps_of"]


def rollout_of(settings: Settings) -> int:
    """Decisions that are collected in all episodes before the total is looked at again."""
    of_each = 1
    if isinstance(settings, OnPolicySettings):
        of_each = settings.n_steps
    elif isinstance(settings, DQNSettings):
        of_each = settings.train_freq
    return settings.n_envs * of_each


def steps_of(asked: int, settings: Settings) -> int:
    """Decisions that are trained on where so many are asked for: whole rollouts, rounded up.

    >>> from failgym.agents.algorithms.hyperparameters import PPOSettings
    >>> steps_of(50_000, PPOSettings(n_envs=1_024, n_steps=16))
    65536
    """
    rollout = rollout_of(settings)
    return -(-asked // rollout) * rollout
