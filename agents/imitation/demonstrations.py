"""What a teacher would do, in the decisions that it, or a pupil, comes to, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize

from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.envs import MitigationVectorEnv
from failgym.envs.spaces import columns_read, observation_space
from failgym.evaluation.caller import Predicts
from failgym.sim.shared.fields import MASK
from failgym.vocabulary import ACTIONS

__all__ = ["Demonstrations", "Notes", "demonstrate"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Demonstrations:
    """Decisions, one a row."""

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
        """The demonstrations of these rows, given by number or by truth value."""
        return Demonstrations(
            observations=self.observations[rows],
            masks=self.masks[rows],
            actions=self.actions[rows],
            returns=self.returns[rows],
            episodes=self.episodes[rows],
        )

    @classmethod
    def none(cls, fields: int) -> Demonstrations:
        """No decisions, of so many fields."""
        return cls(
            observations=np.zeros((0, fields), dtype=np.float32),
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

    The teacher is shown whole observations, and reads from them which actions are legal, as
    `failgym.policy.Policy` says; the pupil is shown what its environment shows.
    Whole episodes are collected, in the order in which they begin: their ends are not rarer than
    their beginnings, and long ones are not left out.

    Args:
        teacher: is asked in every decision; it sees observations before they are normalised.
            A trained agent answers as in its environment as registered (`TrainedPolicy.playing_by`
            for another).
        env: the pupil's environment, begun anew: one of `make_sb3_env`, or one whose observations
            are whole.
        steps: decisions to collect; the episode that they end in is collected too.
        pupil: carries out its own action, in some decisions.
        masked: is the pupil told which actions are legal?
        mixture: in how many the teacher's is carried out instead, a share.
        gamma: discount of rewards, per decision.
        seed: of the environment, and of who decides.

    Raises:
        ValueError: for an environment that does not tell what its whole observations are.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    env.seed(seed)
    whole, columns = _whole_observations(env), columns_read(teacher)
    stepped: Any = env
    shown: Any = stepped.reset()
    notes = Notes(env.num_envs, steps)
    state: Any = None
    begun = np.ones(env.num_envs, dtype=np.bool_)
    while not notes.complete:
        raw = whole(shown)
        masks = raw[:, MASK] > 0
        seen = raw if columns is None else raw.take(columns, axis=1)
        wanted, state = teacher.predict(seen, state=state, episode_start=begun)
        chosen = np.asarray(wanted, dtype=np.int64)
        row = (shown[notes.needed], masks[notes.needed], chosen[notes.needed])
        if pupil is not None:
            legal = {"action_masks": masks} if masked else {}
            own = pupil.predict(shown, deterministic=True, **legal)[0]
            chosen = np.where(rng.random(len(own)) < mixture, chosen, own)
        shown, reward, begun, _ = stepped.step(chosen)
        notes.add(*row, np.asarray(reward)[notes.needed], begun)
    return notes.demonstrations(gamma)


class Notes:
    """What is collected of the episodes of N slots, in the order in which they begin.

    Collected is the shortest run of episodes, from the first on, that has so many decisions. Which
    is its last is known once the episodes so far have enough; from then on it only moves forward,
    as those before it grow.

    Args:
        slots: N.
        steps: decisions to collect.
    """

    def __init__(self, slots: int, steps: int) -> None:
        self._steps = steps
        self._episode = np.arange(slots)  # that runs in each slot
        self._begun = slots  # episodes
        self._lengths = np.zeros(2 * slots, dtype=np.int64)
        self._last = slots - 1
        self._collected = 0  # decisions up to the end of the last episode
        self._columns: list[tuple[npt.NDArray[Any], ...]] = []
        self.needed = self._episode.copy()
        """slots whose episodes are collected"""

    @property
    def complete(self) -> bool:
        """Have all episodes ended that are collected?"""
        return self._collected >= self._steps and not len(self.needed)

    def add(
        self,
        observations: Floats,
        masks: Bools,
        actions: Ints,
        rewards: Floats,
        ended: Bools,
    ) -> None:
        """Write down a step: rows for the needed slots, and which of all slots ended."""
        episodes = self._episode[self.needed]
        self._columns.append((observations.copy(), masks, actions, rewards.copy(), episodes))
        self._lengths[episodes] += 1
        self._collected += len(episodes)
        self._begin(np.flatnonzero(ended))
        while self._collected - self._lengths[self._last] >= self._steps:
            self._collected -= int(self._lengths[self._last])
            self._last -= 1
        self.needed = np.flatnonzero(self._episode <= self._last)

    def _begin(self, slots: Ints) -> None:
        """Number the episodes that begin; they are collected as long as there are too few."""
        self._episode[slots] = self._begun + np.arange(len(slots))
        self._begun += len(slots)
        if self._collected < self._steps:
            self._last = self._begun - 1
            if self._begun > len(self._lengths):
                more = np.zeros(self._begun, dtype=np.int64)
                self._lengths = np.concatenate([self._lengths, more])

    def demonstrations(self, gamma: float) -> Demonstrations:
        """The episodes that were to be collected, decision by decision."""
        shown, masks, actions, rewards, episodes = map(
            np.concatenate, zip(*self._columns, strict=True)
        )
        order = np.argsort(episodes, kind="stable")
        order = order[: np.searchsorted(episodes[order], self._last, side="right")]
        return Demonstrations(
            observations=shown[order],
            masks=masks[order],
            actions=actions[order],
            returns=_returns(rewards[order], episodes[order], gamma),
            episodes=episodes[order],
        )


def _returns(rewards: Floats, episodes: Ints, gamma: float) -> npt.NDArray[np.float64]:
    """Discounted rewards to the ends of episodes, whose decisions follow each other."""
    returns = rewards.astype(np.float64)
    following, episode = 0.0, -1
    for i in range(len(returns) - 1, -1, -1):
        if episodes[i] != episode:
            following, episode = 0.0, int(episodes[i])
        following = returns[i] = returns[i] + gamma * following
    return returns


def _whole_observations(env: VecEnv) -> Callable[[Any], Floats]:
    """What makes of observations those with all fields, not normalised. Raises ValueError."""
    bare: Any = env.unwrapped
    normalising = unwrap_vec_normalize(env)
    inner: Any = bare.env.unwrapped if isinstance(env.unwrapped, BatchedVecEnv) else None
    if isinstance(inner, MitigationVectorEnv):
        return lambda shown: bare.whole_observations.copy()
    if bare.observation_space != observation_space():
        raise ValueError("env: expected whole observations, or an environment of make_sb3_env")
    if normalising is None:
        return lambda shown: np.asarray(shown, dtype=np.float32)
    return lambda shown: np.asarray(normalising.get_original_obs(), dtype=np.float32)
