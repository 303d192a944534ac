"""What a task, or a job, costs: the cost of an episode, by what its decisions are about."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from failgym.envs import TERMS, resolve
from failgym.traces import Outcome
from tests.envs.worlds import IDS, legal, make, small

OTHERS = TERMS.index("others")
SCHEDULED = [name for name in IDS if resolve(name).world == "scheduled"]


def recounted(env: Any) -> dict[int, float]:
    """Costs of the units of an episode that is over, from the table of outcomes, by trace row."""
    world, rows = env.unwrapped.batch.world, env.unwrapped.outcomes()
    prices, by_job = world.parameters[0], bool(world.parameters["by_job"][0])
    record = world.tasks[rows["task"]]
    job, forfeited = record["job"], rows["outcome"] != Outcome.FINISH
    work = prices["wasted"] * (rows["lost"] + rows["redundant"] + rows["ghost"])
    work += prices["overhead"] * (rows["checkpoint"] + rows["restore"])
    work += prices["forfeited_work"] * forfeited * record["forfeit_work"]
    work += prices["forfeited_time"] * forfeited * record["forfeit_time"]
    costs: dict[int, float] = {}
    for unit in np.unique(job if by_job else rows["task"]):
        mine = (job if by_job else rows["task"]) == unit
        time = max(0, rows["end"][mine].max() - rows["submit"][mine].min())
        costs[int(unit)] = float(work[mine].sum() + prices["completion"] * time)
    return costs


@pytest.mark.parametrize("env_id", SCHEDULED)
def test_costs_of_units_are_those_of_the_outcomes_and_sum_to_the_cost(env_id: str) -> None:
    """To what the tasks that are asked about cost: others are no unit's."""
    env, rng = make(env_id), np.random.default_rng(3)
    for seed in range(2):
        _, info = env.reset(seed=seed)
        total, ended = np.zeros(len(TERMS)), False
        while not ended:
            _, _, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
            total -= info["reward_terms"]
        charged = resolve(env_id).charge == "episode"
        assert (total[OTHERS] > 0.0) == charged
        costs = info["unit_costs"]
        assert costs.sum() == pytest.approx(np.delete(total, OTHERS).sum(), rel=1e-9)
        wanted = sorted(cost for cost in recounted(env).values() if cost > 0.0)
        assert sorted(costs[costs > 0.0]) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("env_id", SCHEDULED)
def test_a_unit_is_always_the_same_and_only_gets_dearer(env_id: str) -> None:
    env, rng = make(env_id), np.random.default_rng(4)
    _, info = env.reset(seed=5)
    world = env.unwrapped.batch.world  # pyright: ignore[reportAttributeAccessIssue]
    by_job, ended = bool(world.parameters["by_job"][0]), False
    costs: dict[int, float] = {}
    named: dict[int, int] = {}
    while not ended:
        unit = info["unit"]
        row = int(world.tasks["job"][info["task"]]) if by_job else info["task"]
        assert named.setdefault(unit, row) == row
        assert info["unit_cost"] >= costs.get(unit, 0.0)
        costs[unit] = info["unit_cost"]
        _, _, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
    assert (info["unit"], info["unit_cost"]) == (-1, 0.0)
    assert len(set(named.values())) == len(named)
    assert all(info["unit_costs"][unit] >= cost for unit, cost in costs.items())


@pytest.mark.parametrize("env_id", SCHEDULED)
def test_batched_units_equal_single_ones(env_id: str) -> None:
    batched = gym.make_vec(env_id, 3, autoreset_mode="SameStep", **small(env_id))
    single, rng = make(env_id), np.random.default_rng(6)
    _, info = batched.reset(seed=1)
    _, one = single.reset(seed=3)
    ends = 0
    while ends < 2:
        actions = legal(info["action_mask"], rng)
        _, _, over, _, info = batched.step(actions)
        _, _, ended, _, one = single.step(int(actions[2]))
        assert [ended] == np.asarray(over)[2:].tolist()
        if ended:
            final, ends = info["final_info"], ends + 1
            assert (final["unit"][2], final["unit_cost"][2]) == (-1, 0.0)
            assert final["unit_costs"][2].tobytes() == one["unit_costs"].tobytes()
            one = single.reset()[1]
        assert (info["unit"][2], info["unit_cost"][2]) == (one["unit"], one["unit_cost"])
