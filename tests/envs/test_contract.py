"""What Gymnasium and its users expect of every registered environment."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from failgym.envs import FIELDS, SCENARIOS, TOTALS, resolve
from failgym.sim.shared.fields import HIGH, INDEX, LOW
from tests.envs.worlds import IDS, legal, make, play, small

SPAWNED = ("failgym/Cloning-v1", "failgym/Mitigation-v1")
"""An environment of each world: a process that is spawned shares nothing with its parent."""

pytestmark = pytest.mark.parametrize("env_id", IDS)


def test_gymnasium_checker(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(env_id).unwrapped)


def test_registered_scenario_has_the_name(env_id: str) -> None:
    assert SCENARIOS[env_id.removeprefix("failgym/")].name == env_id.removeprefix("failgym/")


def test_observations_stay_in_bounds_and_rewards_are_costs(env_id: str) -> None:
    env, rng = make(env_id), np.random.default_rng(1)
    obs, info = env.reset(seed=1)
    for _ in range(2_000):
        assert np.isfinite(obs).all()
        assert (obs >= LOW).all()
        assert (obs <= HIGH).all()
        obs, charge, ended, truncated, info = env.step(int(legal(info["action_mask"], rng)[0]))
        reward = float(charge)
        assert reward <= 0.0
        assert not truncated
        assert np.isfinite(reward)
        assert reward == pytest.approx(info["reward_terms"].sum(), abs=1e-9)
        if ended:
            obs, info = env.reset()


def test_masks_agree_in_all_three_places(env_id: str) -> None:
    env, rng = make(env_id), np.random.default_rng(2)
    obs, info = env.reset(seed=2)
    for _ in range(500):
        mask = env.unwrapped.action_masks()  # type: ignore[attr-defined]
        assert mask.dtype == np.bool_
        assert info["action_mask"].dtype == np.int8
        assert mask.tolist() == (info["action_mask"] == 1).tolist() == (obs[-5:] == 1.0).tolist()
        assert mask[0]
        assert mask.sum() > 1 or info["task"] == -1  # nothing of this slice ever ran
        obs, _, ended, _, info = env.step(int(legal(mask, rng)[0]))
        if ended:
            assert info["action_mask"].tolist() == [1, 0, 0, 0, 0]
            obs, info = env.reset()


def test_same_seed_same_bits(env_id: str) -> None:
    assert play(make(env_id), 3, 800) == play(make(env_id), 3, 800)
    assert play(make(env_id), 3, 200) != play(make(env_id), 4, 200)


def test_environments_stepped_in_turn_do_not_disturb_each_other(env_id: str) -> None:
    alone = play(make(env_id), 5, 300)
    one, other, rng = make(env_id), make(env_id), np.random.default_rng(5)
    obs, info = one.reset(seed=5)
    _, noise_info = other.reset(seed=77)
    seen = [(obs.tobytes(), 0.0, False, info["action_mask"].tobytes(), info["task"])]
    chaos = np.random.default_rng(6)
    for _ in range(300):
        noise_action = int(legal(noise_info["action_mask"], chaos)[0])
        _, _, noise_ended, _, noise_info = other.step(noise_action)
        if noise_ended:
            _noise, noise_info = other.reset()
        obs, reward, ended, _, info = one.step(int(legal(info["action_mask"], rng)[0]))
        seen.append(
            (obs.tobytes(), float(reward), ended, info["action_mask"].tobytes(), info["task"])
        )
        if ended:
            obs, info = one.reset()
            seen.append((obs.tobytes(), 0.0, False, info["action_mask"].tobytes(), info["task"]))
    assert seen == alone


def through_pickle(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("clone", [copy.deepcopy, through_pickle])
def test_copies_continue_as_the_original(env_id: str, clone: Any) -> None:
    env, rng = make(env_id), np.random.default_rng(7)
    _, info = env.reset(seed=7)
    for _ in range(20):
        _, _, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        if ended:
            _, info = env.reset()
    twin = clone(env)
    for _ in range(200):
        action = int(legal(info["action_mask"], rng)[0])
        a, b = env.step(action), twin.step(action)
        assert a[0].tobytes() == b[0].tobytes()
        assert a[1:4] == b[1:4]
        info = a[4]
        if a[2]:
            first, second = env.reset(), twin.reset()
            assert first[0].tobytes() == second[0].tobytes()
            info = first[1]


@pytest.mark.parametrize("order", ["task", "time"])
@pytest.mark.parametrize(("n", "threads"), [(1, 1), (7, 1), (64, 2), (600, 2)])
def test_batched_trajectories_equal_single_ones(
    env_id: str, order: str, n: int, threads: int
) -> None:
    if order == "task" and resolve(env_id).world == "scheduled":
        pytest.skip("the decisions of a scheduled world are served in order of time")
    fields: dict[str, Any] = {**small(env_id), "order": order}
    batched = gym.make_vec(env_id, n, autoreset_mode="SameStep", threads=threads, **fields)
    watched = sorted({0, n // 2, n - 1})
    singles = {i: make(env_id, order=order) for i in watched}
    rng = np.random.default_rng(8)
    obs, info = batched.reset(seed=11)
    for i, env in singles.items():
        first, _ = env.reset(seed=11 + i)
        assert first.tobytes() == obs[i].tobytes()
    for _ in range(60):
        actions = legal(info["action_mask"], rng)
        obs, reward, ended, truncated, info = batched.step(actions)
        for i, env in singles.items():
            single, one_reward, one_ended, _, one_info = env.step(int(actions[i]))
            assert one_reward == reward[i]
            assert one_ended == ended[i]
            assert not truncated[i]
            final = info["final_info"] if one_ended else info
            assert final["reward_terms"][i].tobytes() == one_info["reward_terms"].tobytes()
            assert final["elapsed"][i] == one_info["elapsed"]
            if one_ended:
                assert info["final_obs"][i].tobytes() == single.tobytes()
                assert info["_final_info"][i]
                assert final["totals"][i].tobytes() == one_info["totals"].tobytes()
                single, one_info = env.reset()
            assert info["elapsed"][i] == one_info["elapsed"]
            assert single.tobytes() == obs[i].tobytes()
            assert one_info["task"] == info["task"][i]
            assert one_info["action_mask"].tobytes() == info["action_mask"][i].tobytes()


def test_async_vector_env(env_id: str) -> None:
    make(env_id).reset(seed=0)  # kernels and threads of the parent must not hurt the children
    for context in ("fork", "spawn") if env_id in SPAWNED else ("fork",):
        assert_plays_in_processes(env_id, context)


def assert_plays_in_processes(env_id: str, context: str) -> None:
    envs = gym.vector.AsyncVectorEnv([lambda: make(env_id)] * 2, context=context)
    try:
        obs, info = envs.reset(seed=3)
        single, _ = make(env_id).reset(seed=4)
        assert obs[1].tobytes() == single.tobytes()
        for _ in range(5):
            obs, _, _, _, info = envs.step(np.zeros(2, dtype=np.int64))
        assert info["action_mask"].shape == (2, 5)
    finally:
        envs.close()


def test_two_python_threads(env_id: str) -> None:
    expected = {seed: play(make(env_id), seed, 200) for seed in (1, 2)}
    found: dict[int, Any] = {}

    def run(seed: int) -> None:
        found[seed] = play(make(env_id), seed, 200)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_return_is_minus_the_final_cost(env_id: str) -> None:
    env, rng = make(env_id), np.random.default_rng(9)
    _, info = env.reset(seed=9)
    for _ in range(5):
        total, ended = 0.0, False
        while not ended:
            _, reward, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
            total += float(reward)
        cost = env.unwrapped.batch.state.episodes["cost"][0].sum()  # type: ignore[attr-defined]
        assert total == pytest.approx(-cost, rel=1e-9)
        outcomes = env.unwrapped.outcomes()  # type: ignore[attr-defined]
        for account in ("useful", "lost", "redundant", "ghost", "checkpoint", "restore"):
            assert outcomes[account].sum() == info["totals"][TOTALS.index(account)]
        _, info = env.reset()


def test_slices_by_index_and_by_seed(env_id: str) -> None:
    env = make(env_id)
    first, info = env.reset(options={"slice": 1})
    again, _ = env.reset(seed=5, options={"slice": 1})
    assert info["slice"] == 1
    assert first.tobytes() == again.tobytes()
    drawn = {env.reset(seed=seed)[1]["slice"] for seed in range(40)}
    assert len(drawn) > 1


def test_train_and_test_splits_share_no_task(env_id: str) -> None:
    train, test = (make(env_id, split=split).unwrapped for split in ("train", "test"))
    worlds = [env.world for env in (train, test)]  # type: ignore[attr-defined]
    first, last = (world.tasks["submit"][world.own_tasks] for world in worlds)
    assert first.max() <= last.min()


def test_illegal_actions_are_counted_or_refused(env_id: str) -> None:
    env, strict = make(env_id), make(env_id, strict=True)
    _, info = env.reset(seed=1)
    strict.reset(seed=1)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    after, _, _, _, info = env.step(illegal)
    assert info["illegal"] == 1
    with pytest.raises(ValueError, match="illegal"):
        strict.step(illegal)
    plain, *_ = strict.step(0)
    assert plain.tobytes() == after.tobytes()


@pytest.mark.parametrize("action", [-1, 5, 1.5])
def test_actions_out_of_range_raise(env_id: str, action: Any) -> None:
    env = make(env_id).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)


def test_bad_use_raises_one_clear_line(env_id: str) -> None:
    env = make(env_id).unwrapped
    env.reset(options={"minari_autoseed": False})  # Minari's collector hands its own option on
    env = make(env_id).unwrapped
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)
    with pytest.raises(ValueError, match="unknown option 'slize'"):
        env.reset(options={"slize": 1})
    with pytest.raises(ValueError, match="slice expected 0 to"):
        env.reset(options={"slice": 10**9})
    with pytest.raises(TypeError, match="Did you mean 'slice_tasks'"):
        make(env_id, slice_task=3)
    with pytest.raises(ValueError, match="jobs: expected int"):
        make(env_id, jobs="many")
    env.reset(seed=0)
    ended = False
    while not ended:
        ended = env.step(0)[2]
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_fields_are_documented(env_id: str) -> None:
    assert env_id in IDS
    assert len({field.name for field in FIELDS}) == len(FIELDS) == len(INDEX)
    assert all(field.meaning and field.unit and field.low < field.high for field in FIELDS)


def test_bad_use_of_the_batched_environment(env_id: str) -> None:
    envs: Any = gym.make_vec(env_id, 3, vectorization_mode="vector_entry_point", **small(env_id))
    some = np.array([True, False, False])
    with pytest.raises(RuntimeError, match="reset"):
        envs.step(np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="first reset"):
        envs.reset(options={"reset_mask": some})
    envs.reset(seed=[4, None, np.int64(5)])
    for mask in (np.array([True]), some.astype(int), ~np.ones(3, dtype=np.bool_), None):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    for seed in ([1, 2], []):
        with pytest.raises(ValueError, match="seed"):
            envs.reset(seed=seed)
    for actions in (np.zeros(2, dtype=np.int64), np.zeros(3), np.array([0, 0, 5]), [-1, 0, 0]):
        with pytest.raises(ValueError, match="actions"):
            envs.step(actions)


def test_a_partial_reset_begins_only_the_wanted_episodes(env_id: str) -> None:
    envs = gym.make_vec(env_id, 3, vectorization_mode="vector_entry_point", **small(env_id))
    _, info = envs.reset(seed=1)
    obs, _, _, _, info = envs.step(legal(info["action_mask"], np.random.default_rng(0)))
    kept = obs[2].copy()
    obs, info = envs.reset(seed=9, options={"reset_mask": np.array([True, False, False])})
    first, _ = make(env_id).reset(seed=9)
    assert obs[0].tobytes() == first.tobytes()
    assert obs[2].tobytes() == kept.tobytes()


def test_in_gymnasiums_own_vector_environments(env_id: str) -> None:
    """Episodes that end in the same step must not disturb the infos.

    Of unequal size in the pinned world; elsewhere infos have room for the largest slice.
    """
    other = 3 if resolve(env_id).world == "pinned" else 1
    envs = gym.vector.SyncVectorEnv(
        [lambda: make(env_id, slice_tasks=1), lambda: make(env_id, slice_tasks=other)],
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )
    _, info = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(100):
        _, _, _, _, info = envs.step(legal(info["action_mask"], rng))
