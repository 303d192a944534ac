"""`SelectFields` and its batched twin show named fields, and change nothing else."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from failgym.envs import (
    FIELDS,
    FieldBox,
    MitigationVectorEnv,
    SelectFields,
    VectorSelectFields,
    varying_fields,
)
from failgym.envs.spaces import fields_of, observation_space
from failgym.sim.shared.fields import HIGH, INDEX, LOW
from tests.envs.worlds import IDS, legal, make, play, small

CLONING = "failgym/Cloning-v1"
SOME = ("risk", "age", "may_clone")


def columns(names: Any) -> list[int]:
    return [INDEX[name] for name in names]


@pytest.mark.parametrize("env_id", IDS)
def test_a_learner_sees_what_can_vary_of_the_same_episodes(env_id: str) -> None:
    env, whole = SelectFields(make(env_id)), make(env_id)
    bare: Any = whole.unwrapped
    assert env.fields == varying_fields(bare.scenario)
    at = columns(env.fields)
    for (obs, *rest), (seen, *other) in zip(play(env, 3, 80), play(whole, 3, 80), strict=True):
        expected = np.frombuffer(seen, dtype=np.float32)[at]
        assert np.array_equal(np.frombuffer(obs, dtype=np.float32), expected)
        assert rest == other


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_it_is_an_environment_of_gymnasium() -> None:
    env = SelectFields(make(CLONING), SOME)
    check_env(env, skip_render_check=True)
    space: Any = env.observation_space
    assert np.array_equal(space.low, LOW[columns(SOME)])
    assert np.array_equal(space.high, HIGH[columns(SOME)])
    assert env.spec is not None
    again = gym.make(pickle.loads(pickle.dumps(env.spec)))
    assert again.get_wrapper_attr("fields") == SOME


def test_it_is_put_around_itself() -> None:
    twice = SelectFields(SelectFields(make(CLONING), SOME), ["may_clone", "risk"])
    once = SelectFields(make(CLONING), ["may_clone", "risk"])
    assert np.array_equal(twice.reset(seed=1)[0], once.reset(seed=1)[0])
    assert SelectFields(SelectFields(make(CLONING), SOME), "all").fields == SOME
    assert SelectFields(SelectFields(make(CLONING), ["mtbf", "age"])).fields == ("age",)
    with pytest.raises(ValueError, match=r"^fields: the observation has no 'unsaved'$"):
        SelectFields(SelectFields(make(CLONING), SOME), ["unsaved"])


@pytest.mark.parametrize("wrapper", [SelectFields, VectorSelectFields])
@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (["age", "rsik"], "fields: the observation has no 'rsik', did you mean risk?"),
        (["age", "age"], "fields: 'age' is named twice"),
        ([], "fields: expected at least one"),
        ("some", "fields: expected 'varying', 'all' or names, got 'some'"),
        ([3], "fields: expected names of fields, got [3]"),
        (None, "fields: expected names of fields, got None"),
        (np.array([1.0]), "fields: expected names of fields, got array([1.])"),
    ],
)
def test_a_field_that_there_is_not_is_one_line(wrapper: Any, fields: Any, line: str) -> None:
    single = wrapper is SelectFields
    env: Any = make(CLONING) if single else MitigationVectorEnv(CLONING, 2, **small(CLONING))
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        wrapper(env, fields)


def test_environments_that_gymnasium_steps_one_by_one() -> None:
    envs: Any = gym.vector.SyncVectorEnv([lambda: make(CLONING)] * 2)
    assert VectorSelectFields(envs, SOME).fields == SOME
    assert VectorSelectFields(envs).fields == SelectFields(make(CLONING)).fields
    others = [lambda: make(CLONING), lambda: make("failgym/GracePeriod-v1")]
    mixed: Any = gym.vector.SyncVectorEnv(others)
    with pytest.raises(ValueError, match=r"^env: has no single scenario: name the fields"):
        VectorSelectFields(mixed)


def test_other_observations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^env: expected observations of failgym's fields, got"):
        SelectFields(gym.make("CartPole-v1"))


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_batch_shows_the_same_fields_of_the_same_episodes(mode: str, copied: bool) -> None:
    made: Any = [
        MitigationVectorEnv(CLONING, 4, copy=copied, autoreset_mode=mode, **small(CLONING))
        for _ in range(2)
    ]
    env, whole = VectorSelectFields(made[0], SOME), made[1]
    assert env.observation_space.shape == (4, 3)
    rng, at, kept, ended = np.random.default_rng(0), columns(SOME), list[Any](), 0
    first, second = env.reset(seed=5), whole.reset(seed=5)
    for _ in range(120):
        kept.append((first[0], first[0].copy()))
        assert np.array_equal(first[0], second[0][:, at])
        actions = legal(whole.action_masks(), rng)
        first, second = env.step(actions), whole.step(actions)
        for one, other in zip(first[1:4], second[1:4], strict=True):
            assert np.array_equal(one, other)
        assert first[4].keys() == second[4].keys()
        if mode == "SameStep" and first[2].any():
            for one, other in zip(first[4]["final_obs"], second[4]["final_obs"], strict=True):
                assert (one is None) == (other is None)
                assert one is None or np.array_equal(one, other[at])
        ended += int(first[2].sum())
        if mode == "Disabled" and first[2].any():
            options = {"reset_mask": first[2]}
            first, second = env.reset(options=options), whole.reset(options=dict(options))
    assert ended > 0
    assert all(np.array_equal(shown, then) for shown, then in kept)  # they belong to the caller


def test_a_space_of_fields_is_like_any_other() -> None:
    space = FieldBox(SOME)
    assert space == FieldBox(SOME) == pickle.loads(pickle.dumps(space))
    assert space == copy.deepcopy(space)
    assert space != FieldBox(reversed(SOME))
    assert FieldBox(["may_clone"]) != FieldBox(["may_kill"])  # of the same bounds
    assert space.contains(np.zeros(3, dtype=np.float32))
    assert fields_of(space) == SOME
    assert fields_of(observation_space()) == tuple(field.name for field in FIELDS)
    assert fields_of(gym.spaces.Box(0.0, 1.0, (88,))) is None
    assert FieldBox(INDEX) == observation_space()


def test_selected_fields_are_given_to_gymnasium_wrappers() -> None:
    inner = cast(Any, SelectFields(make(CLONING), SOME))
    env = gym.wrappers.FrameStackObservation(inner, 2)
    assert env.reset(seed=0)[0].shape == (2, 3)
