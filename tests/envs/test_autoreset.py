"""The batched environment is `SyncVectorEnv` of single ones, in every mode of beginning anew."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from failgym.envs import MitigationVectorEnv
from tests.envs.vectors import MODES, assert_same, batched, one_by_one
from tests.envs.worlds import IDS, legal, small

N = 5
STEPS = 300
every_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)


@every_mode
@pytest.mark.parametrize("env_id", IDS)
def test_step_by_step_as_gymnasiums_own(env_id: str, mode: AutoresetMode) -> None:
    ours, theirs = batched(env_id, N, mode), one_by_one(env_id, N, mode)
    rng, ends = np.random.default_rng(1), 0
    seen = ours.reset(seed=3)
    assert_same(seen, theirs.reset(seed=3))
    for _ in range(STEPS):
        actions = legal(ours.action_masks(), rng)
        step = ours.step(actions)
        assert_same(step, theirs.step(actions))
        over = step[2]
        ends += int(over.sum())
        if mode is AutoresetMode.DISABLED and over.any():
            again = over | (rng.random(N) < 0.3)  # some that are still running, too
            seeds: Any = [None, 7, None, 8, 9] if ends % 2 else None
            first = ours.reset(seed=seeds, options={"reset_mask": again.copy()})
            assert_same(first, theirs.reset(seed=seeds, options={"reset_mask": again.copy()}))
    assert ends > 1


@every_mode
def test_resets_of_any_kind_as_gymnasiums_own(mode: AutoresetMode) -> None:
    env_id = "failgym/Cloning-v1"
    ours: Any = batched(env_id, N, mode)
    theirs = one_by_one(env_id, N, mode)
    some = np.array([True, False, False, True, False])
    asked_for: list[dict[str, Any]] = [
        {"seed": 4},
        {},
        {"options": {"slice": 1}},
        {"seed": [5, None, 2, None, 9]},
        {"seed": 6, "options": {"reset_mask": some}},
        {"options": {"reset_mask": ~some, "slice": 2}},
        {"seed": [None, 1, None, None, 2], "options": {"reset_mask": some, "slice": 0}},
        {"options": {}},
    ]
    rng = np.random.default_rng(2)
    for asked in asked_for:
        given: dict[str, Any] = (
            {**asked, "options": dict(asked["options"])} if "options" in asked else asked
        )
        assert_same(ours.reset(**asked), theirs.reset(**given))  # theirs empties the options
        for _ in range(3):
            actions = legal(ours.action_masks(), rng)
            step = ours.step(actions)
            assert_same(step, theirs.step(actions))
            if mode is AutoresetMode.DISABLED and step[2].any():
                mask = {"reset_mask": step[2]}
                assert_same(ours.reset(options=mask), theirs.reset(options=dict(mask)))


def test_a_reset_of_an_episode_that_is_over_begins_it_once() -> None:
    made = "failgym/Cloning-v1", 2, AutoresetMode.NEXT_STEP
    ours, theirs = batched(*made, slice_tasks=1), one_by_one(*made, slice_tasks=1)
    rng = np.random.default_rng(3)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    resets = 0
    while resets < 5:
        actions = legal(ours.action_masks(), rng)
        step = ours.step(actions)
        assert_same(step, theirs.step(actions))
        if step[2][0]:
            mask, resets = {"reset_mask": np.array([True, False])}, resets + 1
            assert_same(ours.reset(options=mask), theirs.reset(options=dict(mask)))


def test_the_mode_is_chosen_and_declared_as_in_gymnasium() -> None:
    declared = MitigationVectorEnv.metadata["autoreset_mode"]
    fields = small("failgym/Cloning-v1")
    assert gym.make_vec("failgym/Cloning-v1", **fields).metadata["autoreset_mode"] == declared
    assert (
        declared
        is gym.make_vec("CartPole-v1", vectorization_mode="sync").metadata["autoreset_mode"]
    )
    for mode in MODES:
        for given in (mode, mode.value):
            env = MitigationVectorEnv("Cloning-v1", 2, autoreset_mode=given, **fields)
            assert env.metadata["autoreset_mode"] is mode
    assert MitigationVectorEnv.metadata["autoreset_mode"] is declared
    with pytest.raises(ValueError, match="autoreset_mode: expected one of NextStep, SameStep"):
        MitigationVectorEnv("Cloning-v1", 2, autoreset_mode="Sometimes", **fields)


def test_an_episode_that_only_a_reset_begins_anew_is_not_stepped() -> None:
    env = batched("failgym/Cloning-v1", 2, AutoresetMode.DISABLED, slice_tasks=1)
    env.reset(seed=0)
    ended = np.zeros(2, dtype=np.bool_)
    while not ended.any():
        ended = env.step(np.zeros(2, dtype=np.int64))[2]
    with pytest.raises(RuntimeError, match="reset_mask"):
        env.step(np.zeros(2, dtype=np.int64))
    env.reset(options={"reset_mask": ended})
    env.step(np.zeros(2, dtype=np.int64))


def test_an_action_for_an_episode_that_is_over_may_be_illegal() -> None:
    env = batched("failgym/Cloning-v1", 1, AutoresetMode.NEXT_STEP, strict=True, slice_tasks=1)
    env.reset(seed=0)
    still = np.zeros(1, dtype=np.int64)
    while not env.step(still)[2][0]:
        pass
    assert env.step(still + 3)[1].tolist() == [0.0]


def test_renders_what_single_environments_render() -> None:
    for mode in MODES:
        fields: dict[str, Any] = {"render_mode": "ansi", "slice_tasks": 1}
        ours = batched("failgym/Cloning-v1", 2, mode, **fields)
        theirs = one_by_one("failgym/Cloning-v1", 2, mode, **fields)
        ours.reset(seed=2)
        theirs.reset(seed=2)
        rng = np.random.default_rng(4)
        for _ in range(12):
            actions = legal(ours.action_masks(), rng)
            over = ours.step(actions)[2]
            theirs.step(actions)
            if mode is AutoresetMode.DISABLED and over.any():
                ours.reset(options={"reset_mask": over.copy()})
                theirs.reset(options={"reset_mask": over})
            assert ours.render() == theirs.render()
