"""Gymnasium's own checks of environments, and its vector environments as clients of single ones."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from tests.clients.transitions import (
    batched,
    drawn,
    legal_actions,
    make,
    recorded,
    rows,
    stream,
    sync,
)
from tests.envs.worlds import IDS

STEPS, SEED = 120, 5


@pytest.mark.parametrize("env_id", IDS)
def test_checker(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        missing = any(find_spec(name) is None for name in ("PIL", "pygame"))
        check_env(make(env_id).unwrapped, skip_render_check=missing)


@pytest.mark.parametrize("env_id", IDS)
def test_two_of_a_kind_match(env_id: str) -> None:
    check_environments_match(make(env_id), make(env_id), num_steps=STEPS, seed=SEED)


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
@pytest.mark.parametrize("env_id", IDS)
def test_batched_rows_are_those_of_sync_vector_env(
    env_id: str, mode: AutoresetMode, compare: Any
) -> None:
    actions = drawn(env_id, 3, mode, STEPS, SEED)
    found = recorded(batched(env_id, 3, mode), actions, SEED)
    compare(vars(found), rows(env_id, actions, seed=SEED, mode=mode))


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
@pytest.mark.parametrize("env_id", IDS)
def test_batched_infos_are_those_of_sync_vector_env(env_id: str, mode: AutoresetMode) -> None:
    ours, theirs = batched(env_id, 3, mode), sync(env_id, 3, mode)
    actions = drawn(env_id, 3, mode, STEPS, SEED)
    assert data_equivalence(ours.reset(seed=SEED)[1], theirs.reset(seed=SEED)[1], exact=True)
    for chosen in actions:
        assert data_equivalence(ours.step(chosen)[4], theirs.step(chosen)[4], exact=True)


@pytest.mark.parametrize("env_id", IDS)
def test_episodes_that_are_begun_by_hand(env_id: str) -> None:
    ours = batched(env_id, 3, AutoresetMode.DISABLED)
    theirs = sync(env_id, 3, AutoresetMode.DISABLED)
    choose, ends = legal_actions(SEED), 0
    obs, other = ours.reset(seed=SEED)[0], theirs.reset(seed=SEED)[0]
    for _ in range(STEPS):
        actions = choose(obs)
        found: Any = ours.step(actions)
        wanted: Any = theirs.step(actions)
        assert all(np.array_equal(found[k], wanted[k]) for k in range(4))
        obs, other, ended = found[0], wanted[0], wanted[2] | wanted[3]
        if ended.any():
            ends += ended.sum()
            obs = ours.reset(options={"reset_mask": ended})[0]
            other = theirs.reset(options={"reset_mask": ended})[0]
        assert np.array_equal(obs, other)
    assert ends


@pytest.mark.parametrize("env_id", IDS)
def test_observations_in_a_list_stay_what_they_were(env_id: str, compare: Any) -> None:
    envs = batched(env_id, 3, AutoresetMode.NEXT_STEP)
    actions = drawn(env_id, 3, AutoresetMode.NEXT_STEP, STEPS, SEED)
    steps = [envs.reset(seed=SEED), *map(envs.step, actions)]
    expected = rows(env_id, actions, seed=SEED, mode=AutoresetMode.NEXT_STEP)
    stored = {
        "obs": np.stack([step[0] for step in steps[:-1]]),
        "next_obs": np.stack([step[0] for step in steps[1:]]),
        "reward": np.stack([step[1] for step in steps[1:]]),
        "terminated": np.stack([step[2] for step in steps[1:]]),
        "truncated": np.stack([step[3] for step in steps[1:]]),
        "next_mask": np.stack([step[-1]["action_mask"] for step in steps[1:]]),
    }
    compare(stored, expected)


@pytest.mark.parametrize("env_id", IDS)
def test_single_environment(env_id: str, compare: Any) -> None:
    actions = drawn(env_id, 1, AutoresetMode.SAME_STEP, STEPS, SEED)[:, 0]
    env, kept = make(env_id), []
    obs, _ = env.reset(seed=SEED)
    for action in actions:
        after, reward, terminated, truncated, _ = env.step(int(action))
        kept.append((obs, action, reward, terminated, truncated, after))
        obs = env.reset()[0] if terminated else after
    names = ("obs", "action", "reward", "terminated", "truncated", "successor")
    stored = dict(zip(names, map(np.array, zip(*kept, strict=True)), strict=True))
    compare(stored, stream(env_id, actions, seed=SEED))


def test_async_vector_env(compare: Any) -> None:
    env_id, mode = IDS[0], AutoresetMode.NEXT_STEP
    actions = drawn(env_id, 2, mode, STEPS, SEED)
    envs = AsyncVectorEnv([lambda: make(env_id)] * 2, autoreset_mode=mode)
    try:
        compare(vars(recorded(envs, actions, SEED)), rows(env_id, actions, seed=SEED, mode=mode))
    finally:
        envs.close()


def test_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        gym.make(IDS[0], frameskip=4)
