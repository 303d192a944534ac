"""What tests of batched environments share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from failgym.envs import MitigationVectorEnv
from tests.envs.worlds import small

MODES = list(AutoresetMode)


def batched(env_id: str, n: int, mode: AutoresetMode, **fields: Any) -> MitigationVectorEnv:
    """A small batched environment, as `gymnasium.make_vec` makes it."""
    env: Any = gym.make_vec(env_id, n, autoreset_mode=mode, **{**small(env_id), **fields})
    assert isinstance(env, MitigationVectorEnv)
    return env


def one_by_one(env_id: str, n: int, mode: AutoresetMode, **fields: Any) -> gym.vector.SyncVectorEnv:
    """The same environments in Gymnasium's own vector environment."""
    env: Any = gym.make_vec(
        env_id,
        n,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **{**small(env_id), **fields},
    )
    return env


def arrays_of(value: Any, path: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Every array in something returned, and where it is."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from arrays_of(inner, f"{path}/{name}")
    elif isinstance(value, tuple | list):
        for i, inner in enumerate(value):
            yield from arrays_of(inner, f"{path}/{i}")
    elif isinstance(value, np.ndarray):
        yield path, value
        if value.dtype == object:
            yield from arrays_of([one for one in value if one is not None], path)


def assert_same(one: Any, other: Any, path: str = "") -> None:
    """Both are alike to the bit: keys, types, shapes, values."""
    assert type(one) is type(other), path
    if isinstance(one, dict):
        assert set(one) == set(other), path
        for name in one:
            assert_same(one[name], other[name], f"{path}/{name}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), path
        for i, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{path}/{i}")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), path
        if one.dtype == object:
            assert_same(tuple(one), tuple(other), path)
        else:
            assert one.tobytes() == other.tobytes(), path
    else:
        assert one == other, path
