"""What a teacher would do, in the decisions that it, or a pupil, comes to, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv, VecNormalize, unwrap_vec_normalize

from failgym.evaluation.caller import Predicts
from failgym.sim.fields import FIELDS
from failgym.sim.records import ACTIONS

__all__ = ["Demonstrations", "demonstrate"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Demonstrations:
    """Decisions, one a row, in no order that matters."""

    observations: Floats
    """[rows, fields] as the pupil is shown them"""
    masks: Bools
    """[rows, actions]"""
    actions: Ints
    """[rows] the teacher's"""
    returns: npt.NDArray[np.float64]
    """[rows] discounted reward from the decision to the end of its episode"""
    episodes: Ints
    """[rows] number of the episode"""

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, rows: npt.NDArray[Any]) -> Demonstrations:
        """Some rows, by number or by truth value."""
        return Demonstrations(
            observations=self.observations[rows],
            masks=self.masks[rows],
            actions=self.actions[rows],
            returns=self.returns[rows],
            episodes=self.episodes[rows],
        )

    @classmethod
    def none(cls) -> Demonstrations:
        """No decisions."""
        return cls(
            observations=np.zeros((0, len(FIELDS)), dtype=np.float32),
            masks=np.zeros((0, ACTIONS), dtype=np.bool_),
            actions=np.zeros(0, dtype=np.int64),
            returns=np.zeros(0),
            episodes=np.zeros(0, dtype=np.int64),
        )

    def parted(
        self, share: float, rng: np.random.Generator
    ) -> tuple[Demonstrations, Demonstrations]:
        """All but a share of the episodes, and that share, drawn; one episode at least is left."""
        numbers, position = np.unique(self.episodes, return_inverse=True)
        drawn = rng.permutation(len(numbers)) < min(round(share * len(numbers)), len(numbers) - 1)
        return self.take(~drawn[position]), self.take(drawn[position])

    def joined(self, more: Demonstrations) -> Demonstrations:
        """These and more, whose episodes number on."""
        first = int(self.episodes.max(initial=-1)) + 1
        return Demonstrations(
            observations=np.concatenate([self.observations, more.observations]),
            masks=np.concatenate([self.masks, more.masks]),
            actions=np.concatenate([self.actions, more.actions]),
            returns=np.concatenate([self.returns, more.returns]),
            episodes=np.concatenate([self.episodes, more.episodes + first]),
        )


def demonstrate(
    teacher: Predicts,
    env: VecEnv,
    steps: int,
    *,
    pupil: Predicts | None = None,
    masked: bool = False,
    mixture: float = 1.0,
    gamma: float = 1.0,
    seed: int = 0,
) -> Demonstrations:
    """Let a teacher decide, or a pupil while the teacher says what it would do.

    The teacher reads from the observation which actions are legal, as `failgym.policy.Policy` says.
    The episodes that have begun when ``steps`` decisions are collected are run to their ends, so
    that every return is known and long episodes are not left out; what follows them is not kept.

    Args:
        teacher: is asked in every decision; it sees observations as the environment makes them.
        env: the pupil's environment, begun anew; observations hold the masks.
        steps: decisions to collect, rounded up to whole steps of all slots.
        pupil: carries out its own action, in some decisions.
        masked: is the pupil told which actions are legal?
        mixture: in how many the teacher's is carried out instead, a share.
        gamma: discount of rewards, per decision.
        seed: of the environment, and of who decides.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    env.seed(seed)
    normalising = unwrap_vec_normalize(env)
    stepped: Any = env
    shown: Any = stepped.reset()
    kept = -(-steps // env.num_envs)
    columns: dict[str, list[npt.NDArray[Any]]] = {"shown": [], "masks": [], "actions": []}
    rewards: list[Floats] = []
    ends: list[Bools] = []
    state: Any = None
    begun = np.ones(env.num_envs, dtype=np.bool_)
    running = np.ones(env.num_envs, dtype=np.bool_)  # begun among the decisions that are kept
    while len(rewards) < kept or running.any():
        raw = _original(normalising, shown)
        masks = raw[:, -ACTIONS:] > 0
        wanted, state = teacher.predict(raw, state=state, episode_start=begun)
        if len(rewards) < kept:
            columns["shown"].append(shown.copy())
            columns["masks"].append(masks)
            columns["actions"].append(np.array(wanted, dtype=np.int64))
        chosen = np.asarray(wanted, dtype=np.int64)
        if pupil is not None:
            legal = {"action_masks": masks} if masked else {}
            own = pupil.predict(shown, deterministic=True, **legal)[0]
            chosen = np.where(rng.random(len(own)) < mixture, chosen, own)
        shown, reward, begun, _ = stepped.step(chosen)
        rewards.append(np.asarray(reward).copy())
        ends.append(begun.copy())
        if len(rewards) >= kept:
            running &= ~begun
    return _rows(columns, np.array(rewards), np.array(ends), kept, gamma)


def _rows(
    columns: dict[str, list[npt.NDArray[Any]]],
    rewards: Floats,
    ends: Bools,
    kept: int,
    gamma: float,
) -> Demonstrations:
    """What was collected, [steps, slots], one decision a row."""
    returns = np.zeros(rewards.shape)
    following = np.zeros(rewards.shape[1])
    for i in reversed(range(len(rewards))):
        following = rewards[i] + gamma * np.where(ends[i], 0.0, following)
        returns[i] = following
    before = np.cumsum(ends, axis=0) - ends  # episodes of the slot that had ended
    episodes = before * rewards.shape[1] + np.arange(rewards.shape[1])
    return Demonstrations(
        observations=np.concatenate(columns["shown"]),
        masks=np.concatenate(columns["masks"]),
        actions=np.concatenate(columns["actions"]),
        returns=returns[:kept].reshape(-1),
        episodes=episodes[:kept].reshape(-1).astype(np.int64),
    )


def _original(normalising: VecNormalize | None, shown: Any) -> Floats:
    """Observations before their normalisation, if there is one."""
    raw: Any = shown if normalising is None else normalising.get_original_obs()
    return np.asarray(raw, dtype=np.float32)
