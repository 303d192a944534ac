"""Masks in a Dict observation: the same numbers as beside it, in every way of beginning anew."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from failgym.contrib.masks import MASK, OBSERVATIONS, DictObservation, VectorDictObservation
from failgym.envs import SelectFields, VectorSelectFields
from tests.envs.worlds import IDS, legal, make, small

pytestmark = pytest.mark.usefixtures("shared_worlds")
STEPS, SEED = 60, 3


@pytest.mark.parametrize("env_id", IDS)
def test_a_dict_holds_what_is_observed_and_what_is_legal(env_id: str) -> None:
    plain, wrapped, rng = make(env_id), DictObservation(make(env_id)), np.random.default_rng(SEED)
    observation, info = plain.reset(seed=SEED)
    seen, _ = wrapped.reset(seed=SEED)
    for _ in range(STEPS):
        assert wrapped.observation_space.contains(seen)
        assert seen[OBSERVATIONS].tobytes() == observation.tobytes()
        assert seen[MASK].tobytes() == info["action_mask"].tobytes()
        action = int(legal(seen[MASK], rng)[0])
        observation, reward, ended, _, info = plain.step(action)
        seen, other, over, _, _ = wrapped.step(action)
        assert (reward, ended) == (other, over)
        if ended:
            observation, info = plain.reset()
            seen, _ = wrapped.reset()


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_gymnasiums_checker_passes() -> None:
    check_env(DictObservation(make(IDS[0])), skip_render_check=True)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_is_what_single_environments_are(mode: AutoresetMode) -> None:
    fields: dict[str, Any] = {**small(IDS[0]), "slice_tasks": 1}

    def one() -> gym.Env[Any, Any]:
        return DictObservation(SelectFields(gym.make(IDS[0], **fields)))

    made: Any = gym.make_vec(
        IDS[0], 3, vectorization_mode="vector_entry_point", autoreset_mode=mode, **fields
    )
    ours, theirs = (
        VectorDictObservation(VectorSelectFields(made)),
        SyncVectorEnv([one] * 3, autoreset_mode=mode),
    )
    assert ours.single_observation_space == theirs.single_observation_space
    found, wanted = ours.reset(seed=SEED)[0], theirs.reset(seed=SEED)[0]
    rng, ends = np.random.default_rng(SEED), 0
    for _ in range(STEPS):
        for key in (OBSERVATIONS, MASK):
            assert np.array_equal(found[key], wanted[key])
        actions = legal(found[MASK], rng)
        found, *ours_more, info = ours.step(actions)
        wanted, *more, other = theirs.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(ours_more, more, strict=True))
        ends += int(more[1].sum())
        for last, expected in zip(
            info.get("final_obs", []), other.get("final_obs", []), strict=True
        ):
            assert (last is None) == (expected is None)
            if last is not None:
                assert last[OBSERVATIONS].tobytes() == expected[OBSERVATIONS].tobytes()
                assert last[MASK].tobytes() == expected[MASK].tobytes()
    assert ends


def test_other_batches_are_refused() -> None:
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")])
    with pytest.raises(
        ValueError, match=r"^env: expected a batched environment of failgym, got Sync"
    ):
        VectorDictObservation(envs)
