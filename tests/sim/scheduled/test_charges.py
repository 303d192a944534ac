"""Who is charged: the tasks that an episode asks about, or all that it holds (rule 21); values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.scheduled.bounds import least_costs
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.continued import machine_time_of_work
from failgym.traces import Outcome
from failgym.vocabulary import TERMS
from tests.sim.random_worlds import random_policy, valued
from tests.sim.scheduled.random_clusters import Cluster, continued_cluster
from tests.sim.scheduled.test_invariants import is_censored, own_tasks

SEEDS = range(300_000, 300_075)


def charged(seed: int) -> Cluster:
    """A cluster whose records go on and whose episode is charged for all of its tasks."""
    cluster = continued_cluster(seed)
    rules = replace(cluster.rules, charge="episode", completion="tasks")
    weights = valued(np.random.default_rng([seed, 2]), cluster.weights)
    return replace(cluster, rules=rules, weights=weights)


def played(cluster: Cluster) -> tuple[Any, np.ndarray[Any, Any]] | None:
    """An episode under a random policy, and its cost by term; None if nothing is asked in it."""
    sim = cluster.simulator(ScheduledSimulator)
    cluster.start(sim)
    if sim.decision is None:
        return None
    policy = random_policy(np.random.default_rng(cluster.seed + 2))
    while sim.decision is not None:
        sim.step(policy(sim.mask))
    return sim, sim.batch.state.episodes["cost"][0].copy()


def forfeits(sim: Any, cluster: Cluster, x: Any) -> float:
    """What a task forfeits, by its outcome; nothing if it finished."""
    weights = cluster.weights
    if x.outcome == Outcome.FINISH:
        return 0.0
    world = sim.batch.world
    if weights.task_value is None:
        if x.recorded_outcome != Outcome.FINISH:
            return 0.0
        time = (x.recorded_end - x.submit) / weights.time_scale
        return weights.forfeited * (x.recorded_work / weights.work_scale + time)
    worth = int(machine_time_of_work(world.tasks, world.beyond)[x.task])
    return weights.forfeited * weights.task_value * weights.wasted * worth / weights.work_scale


def test_others_cost_what_their_outcomes_say() -> None:
    some = 0
    for seed in SEEDS:
        cluster = charged(seed)
        if (found := played(cluster)) is None:
            continue
        sim, cost = found
        own, standing = set(own_tasks(cluster)), {task for task, _ in cluster.standing}
        outcomes, w = sim.outcomes(), cluster.weights
        arriving = [x.submit for x in outcomes if x.task not in standing]
        assert all(x.end >= 0 for x in outcomes), "all settle"
        terms = {"own": 0.0, "others": 0.0}
        for x in outcomes:
            since = min(arriving) if x.task in standing else x.submit
            lost = forfeits(sim, cluster, x) if x.task not in standing else 0.0
            terms["own" if x.task in own else "others"] += (
                w.wasted * (x.lost + x.redundant + x.ghost) / w.work_scale
                + w.overhead * (x.checkpoint + x.restore) / w.work_scale
                + w.completion * max(x.end - since, 0) / w.time_scale
                + lost
            )
        at = TERMS.index("others")
        assert cost[at] == pytest.approx(terms["others"], rel=1e-9, abs=1e-9), seed
        assert np.delete(cost, at).sum() == pytest.approx(terms["own"], rel=1e-9, abs=1e-9), seed
        some += terms["others"] > 0.0
    assert some > 25


def test_its_own_tasks_cost_the_same_whoever_is_charged() -> None:
    for seed in SEEDS:
        cluster = charged(seed)
        alone = replace(cluster, rules=replace(cluster.rules, charge="own"))
        everything, just_own = played(cluster), played(alone)
        assert (everything is None) == (just_own is None)
        if everything is not None and just_own is not None:
            own = just_own[1]
            assert everything[1][:-1] == pytest.approx(own[:-1], rel=1e-9, abs=1e-9), seed
            assert own[-1] == 0.0


def test_no_policy_costs_less_than_the_bound() -> None:
    of_others = 0
    for seed in SEEDS:
        cluster = charged(seed)
        if (found := played(cluster)) is None:
            continue
        sim, cost = found
        least = least_costs(sim.batch.world)[0]
        assert least.sum() <= cost.sum() * (1 + 1e-9) + 1e-9, seed
        of_others += least[-1] > 0.0
    assert of_others > 5


def test_jobs_are_not_charged_for_with_the_episode() -> None:
    with pytest.raises(ValueError, match=r"^charge: expected 'own' where the completion of jobs"):
        ScheduledRules(charge="episode", completion="jobs")


def test_a_task_that_the_data_cut_is_worth_nothing() -> None:
    seen = 0
    for seed in SEEDS:
        cluster = charged(seed)
        world = cluster.simulator(ScheduledSimulator)._compiled
        if cluster.weights.task_value is None:
            continue
        for task in cluster.tasks:
            if is_censored(cluster, task):
                assert not world.tasks["forfeits"][task]
                seen += 1
    assert seen > 5
