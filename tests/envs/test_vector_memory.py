"""What the batched environment returns belongs to its caller."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.envs.vectors import MODES, arrays_of, assert_same, batched
from tests.envs.worlds import IDS, legal, make

N = 4
every_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)


def advance(env: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    """Everything that a random legal step returns, masks and the reset that is due included."""
    returned = env.step(legal(env.action_masks(), rng))
    if env.autoreset_mode is AutoresetMode.DISABLED and returned[2].any():
        returned += env.reset(options={"reset_mask": returned[2]})
    return (*returned, env.action_masks())


def internals(env: Any) -> list[Any]:
    """Arrays that an environment keeps."""
    state = [array for array in env.batch.state if isinstance(array, np.ndarray)]
    mine = [value for value in vars(env).values() if isinstance(value, np.ndarray)]
    return [*state, *mine, *(array for out in env.batch.outputs for array in out)]


@every_mode
@pytest.mark.parametrize("env_id", IDS)
def test_nothing_returned_is_ever_written_to_again(env_id: str, mode: AutoresetMode) -> None:
    env, rng = batched(env_id, N, mode), np.random.default_rng(1)
    returned: list[Any] = [env.reset(seed=1)]
    kept = [copy.deepcopy(returned[0])]
    ended = False
    while not ended or len(returned) < 40:
        returned.append(advance(env, rng))
        kept.append(copy.deepcopy(returned[-1]))
        ended = ended or bool(returned[-1][2].any())
    for step, before in zip(returned, kept, strict=True):
        assert_same(step, before)
    finals = any("final_info" in step[4] for step in returned[1:])
    assert finals == (mode is AutoresetMode.SAME_STEP)


@every_mode
@pytest.mark.parametrize("env_id", IDS)
def test_nothing_returned_shares_memory(env_id: str, mode: AutoresetMode) -> None:
    env, rng = batched(env_id, N, mode), np.random.default_rng(2)
    last = dict(arrays_of(env.reset(seed=2)))
    for _ in range(12):
        now = dict(arrays_of(advance(env, rng)))
        inner = internals(env)
        distinct = [array for array in now.values() if array.dtype != object]
        for path, array in now.items():
            assert not any(np.may_share_memory(array, one) for one in inner), path
            assert not any(np.shares_memory(array, one) for one in last.values()), path
            others = (one for one in distinct if one is not array)
            assert not any(np.shares_memory(array, one) for one in others), path
        last = now


@every_mode
@pytest.mark.parametrize("env_id", ["failgym/Cloning-v1", "failgym/Mitigation-v1"])
def test_who_writes_into_what_is_returned_changes_nothing(env_id: str, mode: AutoresetMode) -> None:
    fields: dict[str, Any] = {"strict": True}
    env, twin = (batched(env_id, N, mode, **fields) for _ in range(2))
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    assert_same(env.reset(seed=3), twin.reset(seed=3))
    for _ in range(40):
        mine, expected = advance(env, rng), advance(twin, same)
        assert_same(mine, expected)
        for _, array in arrays_of(mine):
            array[...] = None if array.dtype == object else 1


@pytest.mark.parametrize("env_id", IDS)
def test_a_single_environment_hands_out_arrays_of_their_own(env_id: str) -> None:
    env: Any = make(env_id).unwrapped
    returned: list[Any] = [(*env.reset(seed=4), env.action_masks())]
    kept = [copy.deepcopy(returned[0])]
    rng = np.random.default_rng(4)
    for _ in range(30):
        step = env.step(int(legal(env.action_masks(), rng)[0]))
        returned.append((*step, env.action_masks(), *(env.reset() if step[2] else ())))
        kept.append(copy.deepcopy(returned[-1]))
        inner = internals(env)
        for path, array in arrays_of(returned[-1]):
            assert not any(np.may_share_memory(array, one) for one in inner), path
    for step, before in zip(returned, kept, strict=True):
        assert_same(step, before)


def test_without_copies_observations_are_overwritten_by_the_step_after_next() -> None:
    fields: dict[str, Any] = {"copy": False}
    env = batched("failgym/Cloning-v1", N, AutoresetMode.SAME_STEP, **fields)
    rng = np.random.default_rng(5)
    first, _ = env.reset(seed=5)
    kept = first.copy()
    advance(env, rng)
    assert np.array_equal(first, kept)
    assert not any(np.array_equal(first, kept) for _ in range(5) if advance(env, rng))
