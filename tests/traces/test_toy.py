"""The toy trace: what is best by hand is what the clairvoyant and brute force find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.baselines import (
    REGISTRY,
    Algorithm1,
    BlindKill,
    GiveUp,
    GracePeriod,
    Heuristic,
    ImmediateKill,
    RetryCap,
)
from failgym.envs import Scenario
from failgym.evaluation import run_policy
from failgym.sim.pinned.batch import Batch
from failgym.sim.pinned.clairvoyant import clairvoyant
from failgym.sim.pinned.compile import with_slices
from failgym.traces import Outcome, toy
from failgym.vocabulary import MINUTE, Action
from failgym.worlds.build import build_world

EASY, RESCUED, DOOMED, HUNG, LONG, EVICTED, STRUCK, UNKNOWN = range(8)
CLONE, SAVE, KILL, RETRY = (
    int(action) for action in (Action.CLONE, Action.CHECKPOINT, Action.KILL, Action.RETRY)
)

Plan = dict[int, int]
"""Number of a decision of the task -> answer; CONTINUE elsewhere."""


def scenario(**rules: Any) -> Scenario:
    """The toy trace with a perfect forecast; only work and forfeited tasks are charged for."""
    fields: dict[str, Any] = {"restart_limit": 0, "weight_completion": 0.0, **rules}
    return Scenario(trace=toy(), split="all", forecast="perfect", slice_tasks=1, **fields)


def best(rules: Scenario) -> dict[int, Plan]:
    """The clairvoyant's plan of each task that is ever asked about."""
    world = build_world(rules).tables
    bound = clairvoyant(world, rules, world.order)
    assert bound.exact.all()
    return {
        int(task): {at: action for at, action in enumerate(bound.actions(i)) if action}
        for i, task in enumerate(world.order)
    }


def cost(rules: Scenario, task: int, plan: Plan) -> float:
    """What a task costs under a plan."""
    world = with_slices(build_world(rules).tables, np.array([task]), 1)
    batch, at = Batch(world, rules, 1), 0
    out = batch.reset(np.zeros(1, dtype=np.int64))
    while not batch.state.episodes["done"][0]:
        action = plan.get(at, int(Action.CONTINUE))
        assert out.mask[0, action]
        out, at = batch.step(np.array([action])), at + 1
    return float(batch.state.episodes["cost"][0].sum())


def table(rules: Scenario, policy: Heuristic) -> dict[str, Any]:
    """Outcomes by task; tasks that are never asked about are missing."""
    return run_policy(build_world(rules), rules, policy).outcomes


CLONING = {"clone": True, "give_up": True, "retry": True}
CHECKPOINTS = {"checkpoint": True, "checkpoint_cost": MINUTE}


def test_cloning_rescues_one_task_and_giving_up_saves_another() -> None:
    plans = best(scenario(**CLONING))
    assert plans.pop(RESCUED) == {0: CLONE}
    assert plans.pop(DOOMED) == {12: KILL}  # 12 windows, then the failure at 60 min
    assert set(plans) == {EASY, HUNG, LONG, EVICTED, STRUCK}
    assert not any(plans.values())


def test_if_completion_counts_cloning_helps_after_evictions_too() -> None:
    """A clone need not wait for the eviction."""
    plans = best(scenario(**CLONING, weight_completion=1.0))
    assert plans[RESCUED] == plans[EVICTED] == {0: CLONE}
    assert plans[STRUCK] == {8: CLONE}
    assert not any(plans[task] for task in (EASY, HUNG, LONG))


def test_without_cloning_the_rescued_task_is_retried_at_once() -> None:
    rules = scenario(retry=True, give_up=True, weight_completion=1.0)
    plans = best(rules)
    assert plans[RESCUED][0] == RETRY
    assert plans[DOOMED] == {0: KILL}
    assert set(plans) == {RESCUED, DOOMED}


def test_what_will_not_finish_is_killed_at_once() -> None:
    plans = best(scenario(kill=True))
    assert plans.pop(DOOMED) == plans.pop(HUNG) == {0: KILL, 1: KILL}
    assert set(plans) == {EASY, RESCUED, LONG, EVICTED, STRUCK}
    assert not any(plans.values())


@pytest.mark.parametrize("restore", [0, 1, 4])
def test_one_checkpoint_just_before_the_failure(restore: int) -> None:
    plans = best(scenario(**CHECKPOINTS, restore_cost=restore * MINUTE))
    assert plans[EVICTED] == {8: SAVE}  # at 45 min, the first decision being at 5
    assert plans[STRUCK] == {6: SAVE}  # at 35 min
    assert not any(plans[task] for task in (EASY, HUNG, LONG))


def test_a_restore_that_takes_too_long_lets_the_second_failure_strike() -> None:
    """35 minutes are held and 65 to do, in the 70 before the failure."""
    plans = best(scenario(**CHECKPOINTS, restore_cost=5 * MINUTE))
    assert len(plans[STRUCK]) == 2


@pytest.mark.parametrize(("task", "windows", "when"), [(EVICTED, 9, 8), (STRUCK, 7, 6)])
def test_by_hand_no_other_single_checkpoint_is_as_good(task: int, windows: int, when: int) -> None:
    rules = scenario(**CHECKPOINTS, restore_cost=MINUTE)
    costs = [cost(rules, task, {at: SAVE}) for at in range(windows)]
    assert np.argmin(costs) == when
    assert sorted(costs, reverse=True) == costs
    assert min(costs) < cost(rules, task, {})


def all_plans(rules: Scenario, task: int, most: int) -> list[tuple[float, Plan]]:
    """Costs of all sequences of legal answers with at most so many other than CONTINUE."""
    world = with_slices(build_world(rules).tables, np.array([task]), 1)
    batch = Batch(world, rules, 1)
    batch.reset(np.zeros(1, dtype=np.int64))
    found: list[tuple[float, Plan]] = []
    stack: list[tuple[list[Any], int, Plan]] = []
    plan: Plan = {}
    at = 0
    while True:
        if batch.state.episodes["done"][0]:
            found.append((float(batch.state.episodes["cost"][0].sum()), plan))
        else:
            saved = [array.copy() for array in batch.state]
            legal = np.flatnonzero(batch.output.mask[0, 1:]) + 1 if len(plan) < most else []
            stack += [(saved, at + 1, {**plan, at: int(action)}) for action in legal]
            stack.append((saved, at + 1, plan))
        if not stack:
            return found
        saved, at, plan = stack.pop()
        for array, old in zip(batch.state, saved, strict=True):
            array[...] = old
        batch.step(np.array([plan.get(at - 1, 0)]))


@pytest.mark.parametrize("rules", [CLONING, {"kill": True}, CHECKPOINTS])
@pytest.mark.parametrize("task", [EASY, RESCUED, DOOMED, LONG, EVICTED, STRUCK])
def test_brute_force_finds_nothing_better(rules: dict[str, Any], task: int) -> None:
    """All plans of at most two answers other than CONTINUE."""
    toy_rules = scenario(**rules)
    plan = best(toy_rules).get(task)
    if plan is None:
        pytest.skip("never asked about")
    least = min(price for price, _ in all_plans(toy_rules, task, most=2))
    assert len(plan) <= 2
    assert cost(toy_rules, task, plan) == pytest.approx(least, abs=1e-12)


def test_simple_policies_do_as_the_table_says() -> None:
    cloning = scenario(**CLONING)
    algorithm = table(cloning, Algorithm1())
    minutes = (algorithm["end"] - algorithm["submit"]) // MINUTE
    assert dict(zip(algorithm["task"].tolist(), minutes.tolist(), strict=True))[RESCUED] == 5
    given_up = table(cloning, GiveUp())
    ended = given_up["task"][given_up["outcome"] != given_up["recorded_outcome"]].tolist()
    assert ended == [RESCUED]
    assert given_up["lost"][given_up["task"] == DOOMED].tolist() == [60 * MINUTE]
    capped = table(cloning, RetryCap())
    assert (capped["end"] - capped["submit"])[capped["task"] == RESCUED] == 15 * MINUTE


def test_killing_policies_do_as_the_table_says() -> None:
    rules = scenario(kill=True)
    for policy in (GracePeriod(), ImmediateKill()):
        done = table(rules, policy)
        assert done["task"][done["armed"]].tolist() == [DOOMED, HUNG]
    immediate = table(rules, ImmediateKill())
    assert immediate["lost"][immediate["armed"]].tolist() == [0, 0]
    graced = table(rules, GracePeriod())
    spent = graced["lost"][graced["armed"]] // MINUTE
    assert spent.tolist() == [56, 83]  # the grace periods of failed and of killed tasks
    blind = table(rules, BlindKill())
    forfeited = blind["task"][blind["killed"] & (blind["recorded_outcome"] == Outcome.FINISH)]
    assert forfeited.tolist() == [LONG, STRUCK]  # older than the mean of the periods, 154 min


def test_nothing_is_asked_about_a_task_of_unknown_fate() -> None:
    everything = scenario(**CLONING, **CHECKPOINTS, kill=True)
    assert UNKNOWN not in build_world(everything).own_tasks
    assert all(UNKNOWN not in table(everything, b())["task"] for b in REGISTRY.values())
