"""Tasks in proportion to what is at stake: the same expected gradient, with less variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the agents extra")

from failgym.agents.environments.rewards import TrainingReward
from failgym.agents.environments.task_costs import TaskCosts
from failgym.agents.environments.task_sampling import Eager, draw_by_stakes, stakes
from failgym.agents.environments.vec_env import make_sb3_env
from failgym.baselines import Replay, RetryCap
from failgym.envs import resolve
from failgym.sim.shared.fields import FIELDS
from failgym.vocabulary import Action
from tests.agents.runs import FAILING

CLONING = resolve("failgym/Cloning-v1", {"trace": FAILING, "jobs": 300, "slice_tasks": 1})
KILL, CLONE, RETRY = (int(action) for action in (Action.KILL, Action.CLONE, Action.RETRY))
AGAINST = ((KILL,), (CLONE, RETRY))


@pytest.fixture(scope="module")
def costs() -> TaskCosts:
    return TaskCosts(CLONING)


def test_a_stake_is_the_most_that_a_task_costs(costs: TaskCosts) -> None:
    bare = stakes(costs, AGAINST, floor=1e-12)
    every = [costs.replay, *(costs.of(Eager(actions)) for actions in AGAINST)]
    np.testing.assert_allclose(bare, np.max(every, axis=0)[costs.tasks], atol=1e-9)
    assert (bare > costs.replay[costs.tasks] + 0.1).any()
    raised = stakes(costs, AGAINST, power=0.5, floor=0.5)
    np.testing.assert_allclose(raised, np.maximum(bare, 0.5 * bare.mean()) ** 0.5)


def test_a_policy_takes_the_first_legal_action() -> None:
    observation = np.zeros((3, len(FIELDS)), dtype=np.float32)
    observation[:, -5:] = [[1, 1, 0, 1, 0], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]]
    assert Eager((KILL, CLONE)).predict(observation)[0].tolist() == [KILL, CLONE, 0]
    assert Eager((CLONE, KILL)).predict(observation)[0].tolist() == [CLONE, CLONE, 0]


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_tasks_are_met_in_proportion(power: float, costs: TaskCosts) -> None:
    env: Any = make_sb3_env(CLONING, 4)
    weights = stakes(costs, AGAINST, power)
    divisors = draw_by_stakes(env, weights, seed=0)
    batch = env.env.unwrapped.batch
    share = np.bincount(batch.world.order, minlength=len(divisors)) / len(batch.world.order)
    np.testing.assert_allclose(
        share[costs.tasks], weights / weights.sum(), atol=1.0 / len(batch.world.order)
    )
    assert (share[costs.tasks] > 0.0).all()
    # What is expected to be seen of a task, times what its rewards are worth, is the same for all.
    np.testing.assert_allclose(divisors[costs.tasks], weights / weights.mean())
    assert costs.tasks.tolist() == TaskCosts(CLONING).tasks.tolist()  # the world is shared


def test_a_list_that_is_too_short_for_all_tasks_is_fair_to_them(
    costs: TaskCosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tasks cost on average, as it is met, is what they do: in the mean of many lists."""
    monkeypatch.setattr("failgym.agents.environments.task_sampling.MOST_DRAWS", 1)
    weights, seen, missing = stakes(costs, AGAINST), list[float](), 0
    for seed in range(40):
        env: Any = make_sb3_env(CLONING, 4)
        divisors = draw_by_stakes(env, weights, seed)
        order = env.env.unwrapped.batch.world.order
        seen.append(float((costs.replay / divisors)[order].mean()))
        missing += len(set(costs.tasks.tolist()) - set(order.tolist()))
    assert missing > 0
    error = np.std(seen) / np.sqrt(len(seen))
    assert np.mean(seen) == pytest.approx(costs.replay[costs.tasks].mean(), abs=4 * error + 1e-9)


def test_the_draw_follows_from_the_seed(costs: TaskCosts) -> None:
    weights = stakes(costs, AGAINST)
    orders: list[Any] = []
    for seed in (1, 1, 2):
        env: Any = make_sb3_env(CLONING, 4)
        draw_by_stakes(env, weights, seed)
        orders.append(env.env.unwrapped.batch.world.order)
    assert np.array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])


def test_rewards_are_paid_back_and_then_divided(costs: TaskCosts) -> None:
    env: Any = make_sb3_env(CLONING, 8, seed=0, fields="all")
    divisors = draw_by_stakes(env, stakes(costs, AGAINST), seed=0)
    wrapped: Any = TrainingReward(env, reference=Replay(), divisors=divisors)
    observation, total, policy = wrapped.reset(), np.zeros(8), RetryCap()
    seen: list[tuple[float, float]] = []
    for _ in range(300):
        tasks = env.tasks
        observation, reward, ended, infos = wrapped.step(policy.predict(observation)[0])
        total += reward
        for i in np.flatnonzero(ended):
            own, task = float(infos[i]["episode"]["r"]), tasks[i]
            seen.append((float(total[i]), float((own + costs.replay[task]) / divisors[task])))
            total[i] = 0.0
    assert len(seen) > 20
    np.testing.assert_allclose(*zip(*seen, strict=True), rtol=1e-4, atol=1e-5)
    assert np.abs([paid for paid, _ in seen]).max() > 0.01


def test_where_nothing_is_at_stake_all_are_alike(costs: TaskCosts) -> None:
    class Free(TaskCosts):
        def _of(self, policy: Any) -> Any:
            return np.zeros(len(self.world.tasks))

    assert (stakes(Free(CLONING), AGAINST) == 1.0).all()
