"""Episodes that were running at a checkpoint, kept as what was answered since each began.

An episode follows from its slice and the actions: to go on with it, it is played again. That is
exact, a few bytes for a decision where the state of a cluster takes megabytes, and safe, since the
memory of the engine never comes out of a file.
"""

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from failgym.agents.environments.vec_env import BatchedVecEnv
from failgym.envs import MitigationVectorEnv
from failgym.sim.shared.batch import EpisodeBatch
from failgym.vocabulary import ACTIONS

__all__ = ["ActionRecord", "continue_episodes", "unfinished_episodes"]

Ints = npt.NDArray[np.int64]

FIRST_STEPS = 64
"""Steps that a record has room for at first."""
KEPT = -2
"""In place of a slice: the episode is left as it is (`EpisodeBatch.reset`)."""


class ActionRecord:
    """What was answered in N running episodes since the beginning of each.

    Args:
        num_envs: N.
    """

    def __init__(self, num_envs: int) -> None:
        self._actions = np.zeros((FIRST_STEPS, num_envs), dtype=np.int8)
        self._length = 0
        self.begun = np.zeros(num_envs, dtype=np.int64)
        """the step in which each episode began, counted from the first that is kept"""

    @property
    def actions(self) -> npt.NDArray[np.int8]:
        """What was answered, int8 [steps, N]; of each episode the rows from ``begun`` on."""
        return self._actions[: self._length]

    def add(self, actions: npt.NDArray[Any], ended: npt.NDArray[np.bool_]) -> None:
        """Write down a step: the actions [N], and which episodes [N] it ended."""
        if self._length == len(self._actions):
            self._make_room()
        self._actions[self._length] = actions
        self._length += 1
        self.begun[ended] = self._length

    def drop(self) -> None:
        """Forget the steps before the first that is still needed."""
        first = int(self.begun.min())
        kept = self.actions[first:].copy()
        self._actions[: len(kept)] = kept
        self._length, self.begun = len(kept), self.begun - first

    def begin_with(self, actions: npt.NDArray[np.int8], begun: Ints) -> None:
        """Hold what another record held."""
        self._actions = np.concatenate([actions, np.zeros_like(self._actions[:FIRST_STEPS])])
        self._length, self.begun = len(actions), begun.copy()

    def _make_room(self) -> None:
        """Drop what is over; have twice the room if that was less than half."""
        self.drop()
        if 2 * self._length > len(self._actions):
            self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)])


def unfinished_episodes(env: BatchedVecEnv, record: ActionRecord) -> dict[str, torch.Tensor]:
    """What the running episodes are continued from."""
    record.drop()
    batch = _batch(env)
    episodes, out = batch.state.episodes, batch.output
    arrays: dict[str, npt.NDArray[Any]] = {
        "key": episodes["key"].view(np.int64),
        "count": episodes["count"],
        "slice": episodes["slice"],
        "begun": record.begun,
        "actions": record.actions,
        "elapsed": out.elapsed,
        "observations": out.obs,
    }
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}


def continue_episodes(
    env: BatchedVecEnv, kept: dict[str, torch.Tensor], record: ActionRecord
) -> npt.NDArray[np.float32]:
    """Play the episodes of an environment up to where they were.

    Args:
        env: an environment of the same scenario with as many episodes.
        kept: what `unfinished_episodes` returned.
        record: goes on with what was answered.

    Returns:
        The open decisions as the environment shows them, float32 [N, fields].

    Raises:
        ValueError: if what was kept is of other episodes, or of another scenario: they do not come
            to the same observations.
    """
    env.reset()
    batch = _batch(env)
    turn = batch.turn  # the set of arrays that the environment has handed out
    arrays = {name: tensor.numpy() for name, tensor in kept.items()}
    actions, begun, slices = arrays["actions"], arrays["begun"], arrays["slice"]
    _check(actions, begun, env.num_envs)
    _play(batch, actions.astype(np.int64), begun, slices)
    while batch.turn != turn:
        batch.reset(np.full(env.num_envs, KEPT))
    episodes = batch.state.episodes
    episodes["key"], episodes["count"] = arrays["key"].view(np.uint64), arrays["count"]
    batch.output.elapsed[:] = arrays["elapsed"]
    if not np.array_equal(batch.output.obs, arrays["observations"]):
        raise ValueError("episodes: they do not go on as they were: another scenario or version?")
    record.begin_with(actions, begun)
    shown: Any = getattr(env.env, "shown", None)
    return batch.output.obs if shown is None else shown(batch.output.obs)


def _batch(env: BatchedVecEnv) -> EpisodeBatch:
    inner: Any = env.env.unwrapped
    if not isinstance(inner, MitigationVectorEnv):
        raise TypeError("env: expected an environment of failgym")
    return inner.batch


def _check(actions: npt.NDArray[Any], begun: npt.NDArray[Any], num_envs: int) -> None:
    """Raise ValueError unless these are steps of so many episodes."""
    steps = len(actions)
    if actions.shape != (steps, num_envs) or begun.shape != (num_envs,):
        raise ValueError(f"episodes: expected {num_envs} of them, got shape {actions.shape}")
    if begun.min() < 0 or begun.max() > steps:
        raise ValueError(f"episodes: expected beginnings from 0 to {steps}")
    if steps and (actions.min() < 0 or actions.max() >= ACTIONS):
        raise ValueError(f"episodes: expected actions from 0 to {ACTIONS - 1}")


def _play(batch: EpisodeBatch, actions: Ints, begun: Ints, slices: Ints) -> None:
    """Play every episode from its beginning to the end of the record.

    All play from the first step on, so that the batch is whole; each begins again in the step in
    which it began, and what it did before that does not matter.
    """
    batch.reset(slices)
    for step in range(len(actions) + 1):
        beginning = begun == step
        if step and beginning.any():
            batch.reset(np.where(beginning, slices, KEPT))
        if step < len(actions):
            batch.step(actions[step])
