"""The reward as the vector of its terms, in every environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import failgym.contrib.mo_gymnasium  # registers environments
from failgym.contrib.mo_gymnasium import RewardTermsEnv
from failgym.counterfactual import branch
from failgym.envs import TERMS
from tests.envs.worlds import IDS, legal, make, small

pytestmark = pytest.mark.usefixtures("shared_worlds")
STEPS, SEED = 80, 4


def made(env_id: str) -> Any:
    """An environment with its terms."""
    return gym.make(env_id.replace("/", "/mo-"), **small(env_id))


@pytest.mark.parametrize("env_id", IDS)
def test_terms_add_up_to_the_reward_and_lie_in_their_space(env_id: str) -> None:
    plain, vector, rng = make(env_id), made(env_id), np.random.default_rng(SEED)
    bare = vector.unwrapped
    assert isinstance(bare, RewardTermsEnv)
    assert bare.reward_space.shape == (bare.reward_dim,) == (len(TERMS),)
    observation, info = plain.reset(seed=SEED)
    assert vector.reset(seed=SEED)[0].tobytes() == observation.tobytes()
    for _ in range(STEPS):
        action = int(legal(info["action_mask"], rng)[0])
        observation, reward, ended, _, info = plain.step(action)
        seen, terms, over, _, _ = vector.step(action)
        assert seen.tobytes() == observation.tobytes()
        assert ended == over
        assert terms.sum() == pytest.approx(reward)
        assert bare.reward_space.contains(terms)
        if ended:
            _, info = plain.reset()
            vector.reset()


def test_every_answer_can_still_be_tried() -> None:
    env = made(IDS[0])
    env.reset(seed=SEED)
    assert branch(env).costs.shape == (1, 5, len(TERMS))


def test_a_reward_is_the_callers() -> None:
    env = made(IDS[0])
    env.reset(seed=SEED)
    _, first, _, _, info = env.step(0)
    kept = info["reward_terms"].copy()
    first[:] = 7.0
    assert np.array_equal(info["reward_terms"], kept)


def test_registered_once_for_each_environment() -> None:
    failgym.contrib.mo_gymnasium.register_environments()
    assert all(gym.spec(env_id.replace("/", "/mo-")).disable_env_checker for env_id in IDS)
