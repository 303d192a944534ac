"""MO-Gymnasium: the reward by term, through its wrappers and its vector environment."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from failgym.contrib.mo_gymnasium import RewardTermsEnv  # registers environments
from failgym.envs.spaces import TERMS
from tests.clients.installed import client
from tests.clients.transitions import (
    IDS,
    drawn,
    legal_actions,
    recorded,
    rows,
    small_fields,
    stream,
)

mo_gymnasium = client("mo_gymnasium")
wrappers = client("mo_gymnasium.wrappers")

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "mo-gymnasium"
STEPS, COUNT, SEED = 60, 3, 2


def terms(env_id: str) -> Any:
    """An environment whose reward is the vector of its terms, as MO-Gymnasium makes it."""
    return mo_gymnasium.make(env_id.replace("/", "/mo-"), **small_fields(env_id))


def sum_of(reward: Any) -> float:
    """The terms, added up."""
    return float(reward.sum())


@pytest.mark.parametrize("env_id", IDS)
def test_what_mo_gymnasium_checks_of_its_own_environments(env_id: str) -> None:
    """Gymnasium's checker with the terms added up, and the reward in its space.

    Its own `LinearReward` does not pass since Gymnasium 1.4: all of its infos share the weights.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*different from the unwrapped version")
        added_up = gym.wrappers.TransformReward(terms(env_id), sum_of)
        check_env(added_up, skip_render_check=True)
    env, choose = terms(env_id).unwrapped, legal_actions(SEED)
    assert isinstance(env, RewardTermsEnv)
    obs, _ = env.reset(seed=SEED)
    for _ in range(STEPS):
        obs, reward, ended, _, _ = env.step(choose(obs[None])[0])
        assert env.reward_space.contains(reward)
        assert reward.shape == (env.reward_dim,)
        obs = env.reset()[0] if ended else obs


@pytest.mark.parametrize("env_id", IDS)
def test_vector_environment(env_id: str, compare: Any) -> None:
    mode = AutoresetMode.NEXT_STEP
    actions = drawn(env_id, COUNT, mode, STEPS, SEED)
    envs = wrappers.vector.MOSyncVectorEnv([lambda: terms(env_id)] * COUNT)
    found, expected = recorded(envs, actions, SEED), rows(env_id, actions, seed=SEED, mode=mode)
    assert found.reward.shape == (STEPS, COUNT, len(TERMS))
    assert np.allclose(found.reward.sum(axis=-1), expected.reward, rtol=1e-5)
    stored = {name: value for name, value in vars(found).items() if name != "reward"}
    compare(stored, expected)


@pytest.mark.parametrize("env_id", IDS)
def test_terms_weighted_by_one_are_the_reward(env_id: str, compare: Any) -> None:
    actions = drawn(env_id, 1, AutoresetMode.SAME_STEP, STEPS, SEED)[:, 0]
    env = wrappers.LinearReward(terms(env_id), weight=np.ones(len(TERMS)))
    expected = stream(env_id, actions, seed=SEED)
    obs, _ = env.reset(seed=SEED)
    kept: list[tuple[Any, ...]] = []
    for action in actions:
        after, reward, terminated, truncated, info = env.step(int(action))
        kept.append((obs, after, terminated, truncated))
        assert reward == pytest.approx(expected.reward[len(kept) - 1])
        assert info["vector_reward"].shape == (len(TERMS),)
        obs = env.reset()[0] if terminated else after
    names = ("obs", "successor", "terminated", "truncated")
    compare(dict(zip(names, map(np.stack, zip(*kept, strict=True)), strict=True)), expected)


def test_statistics_of_episodes_by_term() -> None:
    actions = drawn(IDS[0], 1, AutoresetMode.SAME_STEP, STEPS, SEED)[:, 0]
    expected = stream(IDS[0], actions, seed=SEED)
    env = wrappers.MORecordEpisodeStatistics(terms(IDS[0]), gamma=1.0)
    env.reset(seed=SEED)
    returns: list[float] = []
    for action in actions:
        _, _, terminated, _, info = env.step(int(action))
        if terminated:
            returns.append(float(np.sum(info["episode"]["r"])))
            env.reset()
    ends = np.flatnonzero(expected.terminated) + 1
    parts = np.split(expected.reward, ends)[:-1]
    assert returns == [pytest.approx(float(part.sum()), rel=1e-5) for part in parts]


@pytest.mark.parametrize("wrap", ["MONormalizeReward", "MOClipReward"])
def test_wrappers_of_one_term(wrap: str) -> None:
    inner = terms(IDS[0])
    more = {"min_r": -0.5, "max_r": 0.0} if wrap == "MOClipReward" else {}
    env = getattr(wrappers, wrap)(inner, idx=0, **more)
    env.reset(seed=SEED)
    _, reward, *_ = env.step(0)
    assert reward.shape == (len(TERMS),)
    assert np.isfinite(reward).all()
