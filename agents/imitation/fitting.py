"""Fit an actor and its critic to demonstrations, and examine what they have learned."""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from failgym.agents.imitation.demonstrations import Demonstrations
from failgym.vocabulary import Action

__all__ = ["Lessons", "explained_variance", "fit"]

LARGEST_GRADIENT = 0.5
"""Gradients are scaled down to this norm, as in PPO."""
CRITIC_WEIGHT = 0.5
"""Weight of the critic's squared error, in variances of the returns."""
BATCH = 16_384
"""Decisions that a network is asked for at once when it is examined."""

Floats = npt.NDArray[np.float64]


class Lessons:
    """Demonstrations as tensors.

    Args:
        demonstrations: what is learned.
        masked: is the policy told which actions are legal?
    """

    def __init__(self, demonstrations: Demonstrations, masked: bool) -> None:
        self.demonstrations, self.masked = demonstrations, masked
        self.observations = torch.as_tensor(demonstrations.observations)
        self.actions = torch.as_tensor(demonstrations.actions)
        self.returns = torch.as_tensor(demonstrations.returns, dtype=torch.float32)

    def __len__(self) -> int:
        return len(self.demonstrations)

    def judged(self, policy: Any, rows: npt.NDArray[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Values of decisions, and log-probabilities of the teacher's actions, [rows]."""
        legal = {"action_masks": self.demonstrations.masks[rows]} if self.masked else {}
        values, likely, _ = policy.evaluate_actions(
            self.observations[rows], self.actions[rows], **legal
        )
        return values.flatten(), likely

    def agreement(self, policy: Any) -> tuple[float, float]:
        """Shares of the decisions in which the best action is the teacher's: of all, and of those
        in which the teacher does not CONTINUE. NaN where there are none.
        """
        wanted = self.demonstrations.actions
        same = [np.zeros(0, dtype=np.bool_)]
        for rows in self._parts():
            legal = {"action_masks": self.demonstrations.masks[rows]} if self.masked else {}
            shown = self.demonstrations.observations[rows]
            chosen, _ = policy.predict(shown, deterministic=True, **legal)
            same.append(chosen == wanted[rows])
        agreed = np.concatenate(same)
        return _mean(agreed), _mean(agreed[wanted != int(Action.CONTINUE)])

    def values(self, policy: Any) -> Floats:
        """What the critic expects, [rows]."""
        with torch.no_grad():
            parts = [self.judged(policy, rows)[0].double().numpy() for rows in self._parts()]
        return np.concatenate([np.zeros(0), *parts])

    def _parts(self) -> Iterator[npt.NDArray[np.int64]]:
        for first in range(0, len(self), BATCH):
            yield np.arange(first, min(first + BATCH, len(self)))


def fit(
    policy: Any,
    lessons: Lessons,
    *,
    critic: bool,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    rng: np.random.Generator,
) -> None:
    """Maximise the likelihood of the teacher's actions, and minimise the error of the critic.

    Args:
        policy: an actor-critic policy of stable-baselines3 or sb3-contrib.
        lessons: what is learned.
        critic: does the critic learn too?
        epochs: passes over the lessons.
        batch_size: decisions of a gradient step.
        learning_rate: of Adam; falls to 0.
        rng: orders the decisions.
    """
    policy.set_training_mode(True)
    spread = float(np.var(lessons.demonstrations.returns))
    weight = CRITIC_WEIGHT / (spread or 1.0)  # where all returns are the same, nothing is scaled
    if critic:
        _centre(policy, lessons)
    optimiser = torch.optim.Adam(policy.parameters(), lr=learning_rate, eps=1e-5)
    updates = epochs * -(-len(lessons) // batch_size)
    falling = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, updates)
    for _ in range(epochs):
        order = rng.permutation(len(lessons))
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            values, likely = lessons.judged(policy, rows)
            loss = -likely.mean()
            if critic:
                loss = loss + weight * ((values - lessons.returns[rows]) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), LARGEST_GRADIENT)
            optimiser.step()
            falling.step()
    policy.set_training_mode(False)


def _centre(policy: Any, lessons: Lessons) -> None:
    """Shift the critic to the mean of the returns: steps of a set size would take long for that."""
    apart = lessons.demonstrations.returns - lessons.values(policy)
    with torch.no_grad():
        policy.value_net.bias += float(apart.mean())


def explained_variance(values: Floats, returns: Floats) -> float:
    """1 - var(error) / var(returns); NaN if the returns do not differ."""
    spread = float(returns.var()) if len(returns) else 0.0
    return 1.0 - float((returns - values).var()) / spread if spread > 0.0 else math.nan


def _mean(truths: npt.NDArray[np.bool_]) -> float:
    return float(truths.mean()) if len(truths) else math.nan
