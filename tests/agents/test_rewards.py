"""Rewards for training: other numbers, the same best policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.agents.environments.rewards import LEAST_COST, TrainingReward
from failgym.agents.environments.task_costs import TaskCosts
from failgym.agents.environments.vec_env import BatchedVecEnv, make_sb3_env
from failgym.baselines import Replay, RetryCap, Young
from failgym.envs import FIELDS, resolve
from tests.agents.runs import FAILING

CLONING = resolve("failgym/Cloning-v1", {"trace": FAILING, "jobs": 300})
GANGS = resolve("failgym/Checkpoint-v1", {"jobs": 200})
WIDTH = [field.name for field in FIELDS].index("width")


def environment(scenario: Any = CLONING) -> BatchedVecEnv:
    return make_sb3_env(scenario, 8, seed=0, fields="all")


def returns(env: Any, policy: Any, steps: int = 300) -> list[tuple[float, float, float]]:
    """(return as changed, as the environment counts it, width) of the episodes that end."""
    observation, total, ended = env.reset(), np.zeros(env.num_envs), []
    for _ in range(steps):
        widths = np.exp2(observation[:, WIDTH]) - 1.0
        observation, reward, done, infos = env.step(policy.predict(observation)[0])
        total += reward
        for i in np.flatnonzero(done):
            ended.append((float(total[i]), float(infos[i]["episode"]["r"]), float(widths[i])))
            total[i] = 0.0
    assert len(ended) > 20
    return ended


def test_scale() -> None:
    for changed, own, _ in returns(TrainingReward(environment(), scale=0.1), RetryCap()):
        assert changed == pytest.approx(0.1 * own, rel=1e-5, abs=1e-6)


def test_by_width() -> None:
    episodes = returns(TrainingReward(environment(GANGS), by_width=True), Young(), 3_000)
    assert len({width for _, _, width in episodes}) > 2
    for changed, own, width in episodes:
        assert changed == pytest.approx(own / width, rel=1e-4, abs=1e-6)


def test_relative_to_a_policy_it_earns_nothing_itself() -> None:
    env = TrainingReward(environment(), reference=RetryCap())
    for changed, _, _ in returns(env, RetryCap()):
        assert changed == pytest.approx(0.0, abs=1e-4)


def test_relative_to_replay_what_is_saved_is_earned() -> None:
    saved = returns(TrainingReward(environment(), reference=Replay()), RetryCap())
    lost = returns(environment(), Replay())
    assert any(abs(changed) > 0.01 for changed, _, _ in saved)
    assert any(own < -0.01 for _, own, _ in lost)
    assert not all(changed == own for changed, own, _ in saved)


@pytest.mark.parametrize("reference", [None, RetryCap()])
def test_by_cost(reference: Any) -> None:
    """What is left of a task's return depends on its cost under the reference, or replay."""
    costs = TaskCosts(CLONING.override(slice_tasks=1))
    lost = costs.of(reference) if reference else costs.replay
    env = TrainingReward(environment(), reference=reference, by_cost=0.5)
    np.testing.assert_allclose(env.factors, np.maximum(lost, LEAST_COST) ** -0.5)
    assert lost.min() < LEAST_COST < lost.max()


def test_what_belongs_to_the_environment_is_passed_through() -> None:
    bare = environment()
    env = TrainingReward(bare, scale=2.0)
    env.reset()
    np.testing.assert_array_equal(env.env_method("action_masks"), bare.masks)
    np.testing.assert_array_equal(env.masks, bare.masks)


def test_an_episode_of_several_tasks_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the pinned world and slice_tasks=1"):
        TrainingReward(make_sb3_env(CLONING, 2, slice_tasks=8))
    with pytest.raises(ValueError, match="scale: expected a positive number, got 0"):
        TrainingReward(environment(), scale=0.0)
    with pytest.raises(ValueError, match="by_cost: expected at least 0, got -1"):
        TrainingReward(environment(), by_cost=-1.0)
