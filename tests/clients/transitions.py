"""What a client should have stored: what Gymnasium's own vector environment gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from failgym.vocabulary import ACTIONS
from tests.envs.worlds import legal, small

__all__ = [
    "IDS",
    "Transitions",
    "assert_same",
    "batched",
    "drawn",
    "legal_actions",
    "make",
    "recorded",
    "rows",
    "same_infos",
    "small_fields",
    "stream",
    "sync",
]

IDS = ["failgym/Cloning-v1", "failgym/Mitigation-v1"]
"""An environment of each world: what clients do does not depend on more."""
SHORT: dict[str, dict[str, Any]] = {
    "failgym/Cloning-v1": {"jobs": 200, "slice_tasks": 3},
    "failgym/Checkpoint-v1": {"slice_tasks": 1},
}
"""Fields that make episodes shorter still."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Transitions:
    """Transitions of E environments over S steps, arrays [S, E, ...]; of one [S, ...]."""

    obs: Array
    action: Array
    reward: Array
    terminated: Array
    truncated: Array
    next_obs: Array
    """What the step returned: at an end the first observation of the next episode, in SAME_STEP."""
    successor: Array
    """What the action led to: at an end the last observation of the episode."""

    @property
    def mask(self) -> Array:
        """The legal actions, bool [..., 5]."""
        return self.obs[..., -ACTIONS:] == 1.0

    @property
    def next_mask(self) -> Array:
        """The legal actions after the step, bool [..., 5]."""
        return self.next_obs[..., -ACTIONS:] == 1.0


def small_fields(env_id: str) -> dict[str, Any]:
    """Fields that make episodes of a few decisions, so that many end within a test."""
    return {**small(env_id), **SHORT.get(env_id, {})}


def make(env_id: str, **more: Any) -> gym.Env[Any, Any]:
    """A single environment."""
    return gym.make(env_id, **{**small_fields(env_id), **more})


def batched(env_id: str, count: int, mode: AutoresetMode, **more: Any) -> Any:
    """The batched environment, as a user makes it."""
    given: dict[str, Any] = {**small_fields(env_id), **more, "autoreset_mode": mode}
    return gym.make_vec(env_id, count, vectorization_mode="vector_entry_point", **given)


def sync(env_id: str, count: int, mode: AutoresetMode, **more: Any) -> SyncVectorEnv:
    """Gymnasium's own vector environment of single ones."""
    return SyncVectorEnv([lambda: make(env_id, **more)] * count, autoreset_mode=mode)


def legal_actions(seed: int) -> Callable[[Array], Array]:
    """A rule that draws legal actions from observations [E, fields]."""
    rng = np.random.default_rng(seed)
    return lambda obs: legal(obs[:, -ACTIONS:] == 1.0, rng)


def drawn(env_id: str, count: int, mode: AutoresetMode, steps: int, seed: int) -> Array:
    """Actions [S, E], legal in what `SyncVectorEnv` shows of environments begun with the seed."""
    envs, choose = sync(env_id, count, mode), legal_actions(seed)
    obs, _ = envs.reset(seed=seed)
    actions: list[Array] = []
    for _ in range(steps):
        actions.append(choose(obs))
        obs = envs.step(actions[-1])[0]
    return np.stack(actions)


def recorded(envs: Any, actions: Array, seed: int) -> Transitions:
    """What a vector environment returns under actions [S, E], copied at once."""
    obs = np.array(envs.reset(seed=seed)[0])
    found: list[tuple[Array, ...]] = []
    for chosen in actions:
        after, reward, terminated, truncated, info = envs.step(chosen)
        successor = np.array(after)
        for i in np.flatnonzero(info.get("_final_obs", [])):
            successor[i] = info["final_obs"][i]
        ends = np.array(terminated), np.array(truncated)
        found.append((obs, chosen, np.array(reward), *ends, np.array(after), successor))
        obs = np.array(after)
    return Transitions(*(np.stack(column) for column in zip(*found, strict=True)))


def rows(
    env_id: str, actions: Array, *, seed: int, mode: AutoresetMode, **more: Any
) -> Transitions:
    """The steps of `SyncVectorEnv` under actions [S, E], row by row as it returned them."""
    return recorded(sync(env_id, actions.shape[1], mode, **more), actions, seed)


def stream(env_id: str, actions: Array, *, seed: int, **more: Any) -> Transitions:
    """The transitions of one environment under actions [S], without the resets between episodes."""
    found = rows(env_id, actions[:, None], seed=seed, mode=AutoresetMode.SAME_STEP, **more)
    return Transitions(*(getattr(found, field.name)[:, 0] for field in fields(found)))


def assert_same(stored: dict[str, Any], expected: Transitions) -> int:
    """Every stored value is the expected one, bit for bit in the type that the client keeps.

    Returns:
        How many transitions were compared, over all environments.
    """
    assert expected.terminated.any(), "no episode ended: nothing is said of ends"
    for name, values in stored.items():
        wanted, found = np.asarray(getattr(expected, name)), np.asarray(values)
        found = found.reshape(wanted.shape)
        different = found != wanted.astype(found.dtype)
        wrong = different.reshape(*expected.reward.shape, -1).any(axis=-1)
        assert not wrong.any(), f"{name}: {wrong.mean():.0%} of {wrong.size} rows are wrong"
    return expected.reward.size


def same_infos(found: Any, wanted: Any, *, but: frozenset[str] = frozenset()) -> None:
    """Two infos have the same keys, types, shapes and values, in dicts, lists and arrays within."""
    assert type(found) is type(wanted)
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted)
        for name in wanted.keys() - but:
            same_infos(found[name], wanted[name], but=but)
    elif isinstance(wanted, list) or (isinstance(wanted, np.ndarray) and wanted.dtype.hasobject):
        for one, other in zip(found, wanted, strict=True):
            same_infos(one, other, but=but)
    else:
        one, other = np.asarray(found), np.asarray(wanted)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)
