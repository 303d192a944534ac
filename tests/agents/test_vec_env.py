"""The batched environment is a `VecEnv` like any other: what it returns, and how it is used."""

from __future__ import annotations

import copy
import pickle
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest

from failgym.envs import SCENARIOS, MitigationVectorEnv
from failgym.envs.spaces import TERMS
from tests.envs.worlds import IDS, legal, make, small

sb3 = pytest.importorskip("stable_baselines3", reason="needs the agents extra")
contrib = pytest.importorskip("sb3_contrib", reason="needs the agents extra")

from gymnasium.wrappers import vector as wrappers  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

from failgym.agents.environments.masks import require_masks  # noqa: E402
from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env  # noqa: E402

N = 3
CLONING = "failgym/Cloning-v1"


def batch(env_id: str = CLONING, n_envs: int = N, **options: Any) -> BatchedVecEnv:
    """A small batch that shows all fields."""
    given: dict[str, Any] = {"fields": "all", **small(env_id), **options}
    return make_sb3_env(env_id, n_envs, **given)


def singles(env_id: str) -> Any:
    """As many single environments, as stable-baselines3 puts them together."""
    return DummyVecEnv([lambda: Monitor(make(env_id)) for _ in range(N)])


def trajectory(env: Any, steps: int, seed: int = 0) -> list[tuple[bytes, ...]]:
    """What a random legal policy sees."""
    rng = np.random.default_rng(seed)
    seen: list[tuple[bytes, ...]] = []
    for _ in range(steps):
        obs, rewards, dones, _ = env.step(legal(get_action_masks(env), rng))
        seen.append((obs.tobytes(), rewards.tobytes(), dones.tobytes(), env.masks.tobytes()))
    return seen


@pytest.mark.parametrize("env_id", IDS)
def test_same_as_single_environments_put_together(env_id: str) -> None:
    ours: Any = batch(env_id)
    theirs = singles(env_id)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.seed(7) == theirs.seed(7)
    assert np.array_equal(ours.reset(), theirs.reset())
    rng, ended = np.random.default_rng(0), 0
    for _ in range(150):
        masks = get_action_masks(ours)
        assert np.array_equal(masks, get_action_masks(theirs))
        actions = legal(masks, rng)
        obs, rewards, dones, infos = ours.step(actions)
        expected = theirs.step(actions)
        assert np.array_equal(obs, expected[0])
        assert rewards.dtype == np.float32
        assert np.array_equal(rewards, expected[1])
        assert np.array_equal(dones, expected[2])
        for i, (info, other) in enumerate(zip(infos, expected[3], strict=True)):
            assert (info["task"], info["elapsed"]) == (other["task"], other["elapsed"])
            assert ours.reset_infos[i]["task"] == theirs.reset_infos[i]["task"]
            assert ("terminal_observation" in info) == dones[i]
            if dones[i]:
                ended += 1
                assert np.array_equal(info["terminal_observation"], other["terminal_observation"])
                assert info["TimeLimit.truncated"] is other["TimeLimit.truncated"] is False
                assert info["episode"]["r"] == pytest.approx(other["episode"]["r"], abs=1e-5)
                assert info["episode"]["l"] == other["episode"]["l"]
    assert ended > 0


@pytest.mark.parametrize("env_id", [CLONING, "failgym/Mitigation-v1"])
def test_a_wrapper_of_gymnasium_changes_what_it_changes_and_nothing_else(env_id: str) -> None:
    fields = small(env_id)
    inner: Any = MitigationVectorEnv(env_id, N, autoreset_mode="SameStep", **fields)
    doubled = BatchedVecEnv(wrappers.TransformReward(inner, lambda reward: 2 * reward))
    plain = batch(env_id)
    rng = np.random.default_rng(0)
    for env in (doubled, plain):
        env.seed(2)
    assert np.array_equal(doubled.reset(), plain.reset())
    ended = 0
    for _ in range(100):
        actions = legal(plain.masks, rng)
        obs, rewards, dones, infos = doubled.step(actions)
        other: Any = plain.step(actions)
        assert np.array_equal(obs, other[0])  # pyright: ignore[reportArgumentType]
        assert np.array_equal(rewards, 2 * other[1])
        assert np.array_equal(dones, other[2])
        assert np.array_equal(doubled.masks, plain.masks)
        for info, expected in zip(infos, other[3], strict=True):
            assert info.keys() == expected.keys()
            assert (info["task"], info["elapsed"]) == (expected["task"], expected["elapsed"])
            if "episode" in info:
                ended += 1
                assert info["episode"]["r"] == pytest.approx(2 * expected["episode"]["r"])
                assert {n: info["episode"][n] for n in TERMS} == {
                    n: expected["episode"][n] for n in TERMS
                }
    assert ended > 0


@pytest.mark.parametrize("env_id", IDS)
def test_episodes_tell_their_cost_by_term(env_id: str) -> None:
    env, single = batch(env_id, 1), make(env_id)
    env.seed(3)
    env.reset()
    rng, costs = np.random.default_rng(0), np.zeros(len(TERMS))
    single.reset(seed=3)
    done, episode = False, {}
    while not done:
        actions = legal(get_action_masks(env), rng)
        _, _, dones, infos = env.step(actions)
        info = single.step(int(actions[0]))[-1]
        costs -= info["reward_terms"]
        done, episode = bool(dones[0]), infos[0].get("episode", {})
    assert set(episode) == {"r", "l", "t", *TERMS}
    assert [episode[name] for name in TERMS] == pytest.approx(costs)
    assert episode["r"] == pytest.approx(-costs.sum())
    assert episode["t"] >= 0.0


def test_what_a_step_returned_stays_until_the_step_after_next() -> None:
    env = batch()
    first = env.reset()
    before = first.copy()
    env.step(np.zeros(N, dtype=np.int64))
    assert np.array_equal(first, before)


@pytest.mark.parametrize("env_id", [CLONING, "failgym/Mitigation-v1"])
def test_arrays_say_what_the_dicts_say(env_id: str) -> None:
    env = batch(env_id)
    env.reset()
    for _ in range(40):
        assert np.array_equal(env.masks, np.stack(env.env_method("action_masks")))
        _, _, dones, infos = env.step(legal(env.masks, np.random.default_rng(0)))
        now = [env.reset_infos[i] if dones[i] else info for i, info in enumerate(infos)]
        assert env.tasks.tolist() == [info["task"] for info in now]
        assert env.elapsed.tolist() == [info["elapsed"] for info in now]
    kept = env.tasks
    tasks = kept.tolist()
    for _ in range(2):
        env.step(env.masks.argmax(axis=1))
    assert kept.tolist() == tasks  # a copy


def test_seeds() -> None:
    one, two, three = batch(), batch(seed=5), batch()
    one.seed(5)
    three.seed(6)
    starts = [env.reset().copy() for env in (one, two, three)]
    assert np.array_equal(starts[0], starts[1])
    assert np.array_equal(starts[0][1:], starts[2][:-1])  # seeds count up
    assert trajectory(one, 20) == trajectory(two, 20)
    again = one.reset()  # a seed is for one reset
    assert not np.array_equal(again, starts[0])
    one.seed(5)
    assert np.array_equal(one.reset(), starts[0])


def test_options() -> None:
    env = batch()
    env.set_options({"slice": 2})
    env.reset()
    assert set(env.get_attr("batch")[0].output.slice) == {2}
    env.set_options([{"slice": i} for i in range(N)])
    with pytest.raises(ValueError, match="options: expected the same for every environment"):
        env.reset()
    env.set_options({"slices": 1})
    with pytest.raises(ValueError, match="unknown option 'slices'"):
        env.reset()


@pytest.mark.parametrize("env_id", [CLONING, "failgym/Workflow-v1"])
@pytest.mark.parametrize("fields", ["all", "varying"])
def test_a_pickled_environment_goes_on_and_so_does_a_copy(env_id: str, fields: str) -> None:
    env = batch(env_id, fields=fields)
    env.seed(1)
    env.reset()
    trajectory(env, 10)
    restored, copied = pickle.loads(pickle.dumps(env)), copy.deepcopy(env)
    expected = trajectory(env, 30, seed=1)
    assert trajectory(restored, 30, seed=1) == expected
    assert trajectory(copied, 30, seed=1) == expected


def test_attributes_are_those_of_all_slots() -> None:
    env = batch()
    assert {scenario.name for scenario in env.get_attr("scenario")} == {"Cloning-v1"}
    assert env.get_attr("render_mode", indices=[0, -1]) == [None, None]
    assert env.render_mode is None
    assert not env.has_attr("nothing")
    with pytest.raises(AttributeError, match="nothing"):
        env.get_attr("nothing")
    env.set_attr("strict", True)
    assert env.get_attr("strict", indices=1) == [True]
    with pytest.raises(ValueError, match=r"indices: expected all.*share 'strict'"):
        env.set_attr("strict", False, indices=[0])
    with pytest.raises(IndexError):
        env.get_attr("strict", indices=N)


def test_methods_of_slots() -> None:
    env = batch()
    env.reset()
    assert np.array_equal(env.env_method("action_masks", indices=[1])[0], env.masks[1])
    assert np.array_equal(env.get_attr("action_masks")[2](), env.masks[2])
    assert env.env_method("get_wrapper_attr", "strict") == [False] * N
    assert env.env_method("set_wrapper_attr", "strict", True) == [True] * N
    assert env.get_attr("strict") == [True] * N
    assert env.env_method("has_wrapper_attr", "nothing", indices=0) == [False]
    with pytest.raises(AttributeError, match="outcomes: no method of a slot"):
        env.env_method("outcomes")


def test_is_as_good_as_wrapped_with_monitor() -> None:
    env = batch()
    assert env.env_is_wrapped(Monitor) == [True] * N
    assert env.env_is_wrapped(gym.wrappers.TimeLimit, indices=[0]) == [False]


def test_pinned_episodes_are_single_tasks_unless_told_otherwise() -> None:
    pinned = [s for s in SCENARIOS.values() if s.world == "pinned"]
    for scenario in pinned:
        for given in (scenario.name, f"failgym/{scenario.name}", scenario):
            env = make_sb3_env(given, jobs=600)
            assert env.get_attr("scenario")[0] == scenario.override(jobs=600, slice_tasks=1)
    kept = make_sb3_env(pinned[0], jobs=600, slice_tasks=4)
    assert kept.get_attr("scenario")[0].slice_tasks == 4
    fields = small("failgym/Lineage-v1")
    env = make_sb3_env("Lineage-v1", **fields)
    assert env.get_attr("scenario")[0] == SCENARIOS["Lineage-v1"].override(**fields)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"did you mean Cloning-v1\?"):
        make_sb3_env("Clonign-v0")
    with pytest.raises(TypeError, match=r"'slice_task'\. Did you mean 'slice_tasks'\?"):
        make_sb3_env("Cloning-v1", slice_task=1)
    for wrong in (0, "4", 4.0, True):
        with pytest.raises(ValueError, match="n_envs: expected a whole number, at least 1, got"):
            make_sb3_env("Cloning-v1", cast(Any, wrong), jobs=600)
    for seed in (-1, "a", 2**32):
        with pytest.raises(ValueError, match="seed: expected a whole number, 0 to 4294967295"):
            make_sb3_env("Cloning-v1", 4, seed=cast(Any, seed), jobs=600)
    with pytest.raises(ValueError, match="threads: expected a whole number, 0 to 1024, got -1"):
        make_sb3_env("Cloning-v1", 4, threads=-1, jobs=600)
    with pytest.raises(ValueError, match="environment: expected a name or a scenario, got 5"):
        make_sb3_env(cast(Any, 5), 4)
    cartpole = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    with pytest.raises(ValueError, match="autoreset mode SAME_STEP"):
        BatchedVecEnv(cartpole)


class ThreeActions(gym.vector.VectorActionWrapper[Any, Any, Any, Any]):
    """A wrapper that changes the actions and leaves the masks as they were."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.single_action_space = gym.spaces.Discrete(3)
        self.action_space = gym.spaces.MultiDiscrete([3] * env.num_envs)

    def actions(self, actions: Any) -> Any:
        return actions


class ThreeOfOne(gym.ActionWrapper[Any, Any, Any]):
    """The same for a single environment."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.action_space = gym.spaces.Discrete(3)

    def action(self, action: Any) -> Any:
        return action


def test_masks_are_there_through_wrappers_that_keep_the_actions() -> None:
    inner = MitigationVectorEnv(CLONING, N, autoreset_mode="SameStep", **small(CLONING))
    env = BatchedVecEnv(wrappers.TransformReward(inner, lambda reward: 2 * reward))
    for wrapped in (env, VecNormalize(env), make(CLONING), singles(CLONING)):
        require_masks(wrapped)
        wrapped.reset()
        assert get_action_masks(wrapped).any()


def test_masks_that_are_lost_are_told_in_one_line() -> None:
    inner = MitigationVectorEnv(CLONING, N, autoreset_mode="SameStep", **small(CLONING))
    env = BatchedVecEnv(ThreeActions(inner))
    with pytest.raises(AttributeError, match="a wrapper has lost them"):
        _ = env.masks
    described = r"VecNormalize\(BatchedVecEnv\(ThreeActions\(MitigationVectorEnv\)\)\)"
    with pytest.raises(ValueError, match=f"a masked algorithm needs action_masks.*{described}"):
        require_masks(VecNormalize(env))
    with pytest.raises(ValueError, match="does not support action masking"):
        contrib.MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, device="cpu").learn(8)
    with pytest.raises(ValueError, match=r"for each of 3 actions.*has them for 5"):
        require_masks(ThreeOfOne(make(CLONING)))
    with pytest.raises(ValueError, match="does not have or has lost"):
        require_masks(gym.make("CartPole-v1"))
