"""Credit per task: advantages along the decisions of each task, whatever lies between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.vec_env import VecNormalize

from failgym.agents.credit.advantages import Chains, chain_advantages
from failgym.agents.credit.rollout_buffers import MaskableTaskRolloutBuffer, TaskRolloutBuffer
from failgym.agents.environments.vec_env import make_sb3_env
from tests.envs.worlds import small

MITIGATION, WORKFLOW, LINEAGE = (
    "failgym/Mitigation-v1",
    "failgym/Workflow-v1",
    "failgym/Lineage-v1",
)


# --- By hand --------------------------------------------------------------------------------------


def column(values: Any, dtype: Any = np.float64) -> Any:
    """An array [T, 1]."""
    return np.array(values, dtype=dtype)[:, None]


BY_HAND = Chains(
    unit=column([7, 3, 7, 3, 5], np.int64),
    starts=column([1, 0, 0, 0, 0], np.bool_),
    time=column([0, 10, 20, 40, 50], np.int64),
    cost=column([1.0, 0.0, 3.0, 2.0, 0.5]),
    last_cost=column([7.0, 4.0, 7.0, 4.0, 0.5]),
    closed=column([1, 0, 1, 0, 0], np.bool_),
    value=column([-5.0, -2.0, -3.0, -1.0, -9.0], np.float32),
)
"""Task 7 is asked at 0 and 20 and settles; task 3 at 10 and 40, task 5 at 50, and both go on."""


def test_by_hand() -> None:
    # Task 7, last: 4 to come, -3 expected: -1. First: 2 paid, then -3 for -5: 0, and half of -1.
    # Task 3, last: not known. First: 2 paid, then -1 for -2: -1. Task 5: not known.
    advantages, complete = chain_advantages(BY_HAND, gamma=1.0, lambda_=0.5)
    assert advantages[:, 0].tolist() == [-0.5, -1.0, -1.0, 0.0, 0.0]
    assert complete[:, 0].tolist() == [True, True, True, False, False]


def test_by_hand_with_discounting_by_elapsed_time() -> None:
    # Halved every 10 ms. Task 7: a quarter over 20 ms: 2 paid, then -3/4 for -5: 2.25, and an
    # eighth of -1. Task 3: an eighth over 30 ms: 2 paid, then -1/8 for -2.
    advantages, _ = chain_advantages(BY_HAND, gamma=0.5, lambda_=0.5, time_unit=10.0)
    assert advantages[:, 0].tolist() == [2.125, -0.125, -1.0, 0.0, 0.0]


def test_an_episode_knows_nothing_of_the_one_before() -> None:
    starts = column([1, 0, 1, 0, 0], np.bool_)
    advantages, complete = chain_advantages(BY_HAND._replace(starts=starts), 1.0, 0.5)
    assert advantages[0, 0] == 1.0 - 7.0 + 5.0  # the same number, another task
    assert advantages[1, 0] == 0.0
    assert complete[:, 0].tolist() == [True, False, True, False, False]


# --- Against plain Python -------------------------------------------------------------------------


@st.composite
def rollouts(draw: st.DrawFn) -> Chains:
    """Any rollout: costs of a unit need not even grow."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    starts = rng.random(shape) < 0.2
    starts[0] = rng.random(shape[1]) < 0.5
    units, episode = int(rng.integers(1, 5)), np.cumsum(starts, axis=0)
    unit = rng.integers(0, units, shape)
    column = np.arange(shape[1])
    return Chains(
        unit=unit,
        starts=starts,
        time=np.cumsum(rng.integers(0, 50, shape), axis=0),
        cost=rng.random(shape) * 9,
        last_cost=(rng.random((units, shape[1], shape[0] + 1)) * 9)[unit, column, episode],
        closed=(rng.random((units, shape[1], shape[0] + 1)) < 0.6)[unit, column, episode],
        value=-rng.random(shape).astype(np.float32),
    )


def slow_advantages(
    x: Chains, gamma: float, lambda_: float, time_unit: float
) -> tuple[list[list[float]], list[list[bool]]]:
    """Each advantage by itself: the sum of all temporal differences behind it."""
    steps, episodes = x.unit.shape
    episode = np.cumsum(x.starts, axis=0)
    advantages = [[0.0] * episodes for _ in range(steps)]
    complete = [[False] * episodes for _ in range(steps)]
    for e in range(episodes):
        for t in range(steps):
            same = (x.unit[:, e] == x.unit[t, e]) & (episode[:, e] == episode[t, e])
            chain = [k for k in np.flatnonzero(same).tolist() if k >= t]
            weight = 1.0
            for now, then in zip(chain, [*chain[1:], None], strict=True):
                if then is None:
                    known = bool(x.closed[now, e])
                    delta = float(x.cost[now, e] - x.last_cost[now, e] - x.value[now, e])
                    delta, discount = (delta if known else 0.0), 0.0
                else:
                    known = True
                    passed = float(x.time[then, e] - x.time[now, e])
                    discount = gamma ** (passed / time_unit) if time_unit else gamma
                    paid = float(x.cost[then, e] - x.cost[now, e])
                    delta = -paid + discount * float(x.value[then, e]) - float(x.value[now, e])
                advantages[t][e] += weight * delta
                complete[t][e] |= known and now == t
                weight *= discount * lambda_
    return advantages, complete


@settings(max_examples=200, deadline=None)
@given(rollouts(), st.sampled_from([1.0, 0.9, 0.0]), st.sampled_from([1.0, 0.95, 0.0]))
@pytest.mark.parametrize("time_unit", [0.0, 7.5])
def test_as_in_plain_python(time_unit: float, x: Chains, gamma: float, lambda_: float) -> None:
    advantages, complete = chain_advantages(x, gamma, lambda_, time_unit)
    wanted, known = slow_advantages(x, gamma, lambda_, time_unit)
    np.testing.assert_allclose(advantages, wanted, rtol=1e-9, atol=1e-9)
    assert complete.tolist() == known


# --- In an environment ----------------------------------------------------------------------------


def rollout(
    env_id: str,
    steps: int,
    *,
    n: int = 3,
    algorithm: Any = PPO,
    gae_lambda: float = 0.95,
    **options: Any,
) -> Any:
    """An algorithm that has collected one rollout, and learned from it."""
    env = make_sb3_env(env_id, n, seed=4, **small(env_id))
    masked = algorithm is MaskablePPO
    model = algorithm(
        "MlpPolicy",
        env,
        n_steps=steps,
        gamma=1.0,
        gae_lambda=gae_lambda,
        seed=0,
        rollout_buffer_class=MaskableTaskRolloutBuffer if masked else TaskRolloutBuffer,
        rollout_buffer_kwargs={"env": env, **options},
        **({} if algorithm is A2C else {"batch_size": steps, "n_epochs": 1}),
    )
    torch.set_num_threads(1)
    return model.learn(steps * n)


def shaped(buffer: Any, name: str) -> Any:
    """An array of a buffer that has been drawn from, [T, N] again."""
    return getattr(buffer, name).reshape(buffer.n_envs, buffer.buffer_size).T


@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO])
@pytest.mark.parametrize("env_id", [MITIGATION, WORKFLOW, LINEAGE])
def test_algorithms_learn_with_it(env_id: str, algorithm: Any) -> None:
    model = rollout(env_id, 128, algorithm=algorithm)
    assert np.isfinite(model.rollout_buffer.advantages).all()
    assert 0.5 < model.rollout_buffer.complete.mean() <= 1.0


def test_at_lambda_1_the_return_is_what_the_task_still_costs() -> None:
    buffer = rollout(MITIGATION, 400, gae_lambda=1.0).rollout_buffer
    returns = shaped(buffer, "returns")
    ended = buffer.ended
    still = buffer.unit_costs - buffer.last_unit_costs
    assert ended.mean() > 0.5
    assert returns[ended] == pytest.approx(still[ended], rel=1e-5, abs=1e-4)


def test_where_one_job_is_the_episode_credit_is_that_of_any_buffer() -> None:
    steps, n = 300, 2
    buffer = rollout(LINEAGE, steps, n=n).rollout_buffer
    plain = RolloutBuffer(steps, buffer.observation_space, buffer.action_space, "cpu", 0.95, 1.0, n)
    plain.values = shaped(buffer, "values")
    # What an episode costs before its first decision is charged to that, and none of its doing.
    before = buffer.episode_starts * buffer.unit_costs
    plain.rewards, plain.episode_starts = buffer.rewards + before, buffer.episode_starts
    plain.compute_returns_and_advantage(torch.zeros(n), np.zeros(n))
    ended, wanted = buffer.ended, plain.advantages
    assert ended.mean() > 0.5
    assert shaped(buffer, "advantages")[ended] == pytest.approx(wanted[ended], rel=1e-3, abs=1e-3)


def test_with_the_whole_share_the_return_is_that_of_the_episode() -> None:
    buffer = rollout(WORKFLOW, 200, share=1.0, gae_lambda=1.0).rollout_buffer
    returns, rewards = shaped(buffer, "returns"), buffer.rewards
    ended = buffer.ended
    assert (shaped(buffer, "complete") >= ended).all()
    for e in range(buffer.n_envs):
        following = 0.0
        for t in reversed(np.flatnonzero(ended[:, e]).tolist()):
            last = t + 1 == buffer.buffer_size or bool(buffer.episode_starts[t + 1, e])
            following = float(rewards[t, e]) + (0.0 if last else following)
            assert returns[t, e] == pytest.approx(following, rel=1e-4, abs=1e-3)


def test_minibatches_hold_what_is_known_and_once() -> None:
    model = rollout(MITIGATION, 64, n=4)
    buffer = model.rollout_buffer
    known = int(buffer.complete.sum())
    assert 0 < known < 64 * 4
    drawn = np.concatenate([batch.advantages.numpy() for batch in buffer.get(37)])
    assert sorted(drawn) == sorted(buffer.advantages.flatten()[buffer.complete.flatten()])


def test_no_minibatch_holds_one_decision() -> None:
    """Its advantage less its mean over its standard deviation is not a number."""
    buffer = rollout(MITIGATION, 64, n=4).rollout_buffer
    known = int(buffer.complete.sum())
    for size in (known - 1, (known - 1) // 2, known, known + 1):
        sizes = [len(batch.advantages) for batch in buffer.get(size)]
        assert sum(sizes) == known
        assert min(sizes) > 1


def test_wrapped_environments_are_looked_through() -> None:
    env = VecNormalize(make_sb3_env(MITIGATION, 2, seed=1, **small(MITIGATION)))
    kwargs: dict[str, Any] = {"env": env}
    PPO(
        "MlpPolicy",
        env,
        n_steps=64,
        batch_size=64,
        rollout_buffer_class=TaskRolloutBuffer,
        rollout_buffer_kwargs=kwargs,
    ).learn(128)


def test_a_saved_model_goes_on_in_a_new_environment(tmp_path: Path) -> None:
    first = rollout(WORKFLOW, 32, n=2)
    first.save(tmp_path / "model", exclude=["rollout_buffer_kwargs"])
    env = make_sb3_env(WORKFLOW, 2, seed=9, **small(WORKFLOW))
    buffer = {"env": env, "scale": 2.0}
    again = PPO.load(tmp_path / "model", env=env, rollout_buffer_kwargs=buffer)
    assert isinstance(again.rollout_buffer, TaskRolloutBuffer)
    again.learn(64, reset_num_timesteps=False)
    assert again.num_timesteps == 128
    assert again.rollout_buffer.scale == 2.0


# --- What is refused ------------------------------------------------------------------------------


def make_buffer(env_id: str = MITIGATION, n: int = 2, **options: Any) -> TaskRolloutBuffer:
    env = make_sb3_env(env_id, n, **small(env_id))
    spaces = env.observation_space, env.action_space
    return TaskRolloutBuffer(8, *spaces, n_envs=2, env=env, **options)


def test_a_pinned_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="env: expected a scheduled world, got GracePeriod-v1"):
        make_buffer("failgym/GracePeriod-v1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 3}, "env: expected 2 slots, got 3"),
        ({"share": 1.5}, "share: expected 0 to 1, got 1.5"),
        ({"time_unit": 0.0}, "time_unit: expected more than 0 ms, or None, got 0.0"),
    ],
)
def test_what_is_out_of_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_buffer(**options)


def test_another_environment_than_the_one_that_is_learned_on_is_noticed() -> None:
    env, other = (make_sb3_env(MITIGATION, 2, seed=s, **small(MITIGATION)) for s in (1, 2))
    other.reset()
    model = PPO(
        "MlpPolicy",
        env,
        n_steps=8,
        batch_size=16,
        rollout_buffer_class=TaskRolloutBuffer,
        rollout_buffer_kwargs={"env": other},
    )
    with pytest.raises(RuntimeError, match="env: expected the environment that the algorithm"):
        model.learn(16)
