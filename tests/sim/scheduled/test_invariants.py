"""What holds in any cluster, recounted from its event log, and what holds of policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.sim.scheduled import ScheduledSimulator
from failgym.sim.shared.rules import Weights
from failgym.traces import Outcome
from failgym.vocabulary import TERMS, Action, Event
from tests.sim.random_worlds import random_policy
from tests.sim.scheduled.random_clusters import Cluster, random_cluster, runnable_tasks
from tests.sim.scheduled.recount import Recount

CHUNK = 25
MOST_DECISIONS = 20_000

STUBBORN: dict[str, Sequence[Action]] = {
    "passes every machine": (Action.RETRY,),
    "kills everything": (Action.KILL,),
    "clones everything": (Action.CLONE, Action.RETRY),
    "checkpoints always": (Action.CHECKPOINT,),
    "does what it can": (Action.CHECKPOINT, Action.CLONE, Action.RETRY, Action.KILL),
}
"""What a policy does whenever it may, best first."""


def play(cluster: Cluster) -> tuple[Any, np.ndarray[Any, Any] | None]:
    """An episode under a random policy, and its cost by term; none is told without a decision."""
    sim = cluster.simulator(ScheduledSimulator)
    policy = random_policy(np.random.default_rng(cluster.seed + 2))
    cluster.start(sim)
    cost, reward = np.zeros(len(TERMS)), 0.0
    if sim.decision is None:
        return sim, None
    while sim.decision is not None:
        reward += sim.step(policy(sim.mask))
        cost -= sim.terms
    assert -reward == pytest.approx(cost.sum(), rel=1e-9, abs=1e-9)
    return sim, cost


@pytest.mark.parametrize(
    "chunk",
    [*range(3), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(3, 12))],
)
def test_the_log_recounted(chunk: int) -> None:
    for seed in range(100_000 + chunk * CHUNK, 100_000 + (chunk + 1) * CHUNK):
        cluster = random_cluster(seed)
        sim, cost = play(cluster)
        count = Recount(
            cluster.trace,
            cluster.rules,
            tasks={x.task for x in sim.outcomes()} - {task for task, _ in cluster.standing},
            standing={task for task, _ in cluster.standing},
        )
        count.read(sim.log, begin=min(x.submit for x in sim.outcomes()))
        assert count.busy == sim.busy() == sum(sim.accounts()), seed
        check_outcomes(cluster, sim, count)
        if cost is not None:
            expected = final_cost(cluster, sim.outcomes())
            assert cost.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9), seed


def check_outcomes(cluster: Cluster, sim: Any, count: Recount) -> None:
    """Caps hold; the table of outcomes says what the log says; own tasks have settled."""
    for outcome in sim.outcomes():
        assert outcome.extra <= cluster.rules.max_extra
        assert outcome.clones <= min(cluster.rules.max_clones, outcome.extra)
        assert outcome.clones == count.actions[outcome.task, Action.CLONE]
        assert outcome.outcome == count.settled.get(outcome.task, outcome.outcome)
        assert (outcome.end >= 0) == (outcome.task in count.settled)
    for task in own_tasks(cluster):
        assert task in count.settled


def own_tasks(cluster: Cluster) -> list[int]:
    """Those that are asked and charged: the agent's that have an attempt to run and a fate."""
    own = cluster.tasks if cluster.own is None else cluster.own
    able = runnable_tasks(cluster.trace)
    return [task for task in own if task in able and not is_censored(cluster, task)]


def is_censored(cluster: Cluster, task: int) -> bool:
    """Cut by the end of the data: no FINISH, no run of known length."""
    trace = cluster.trace
    rows = slice(int(trace.task_first[task]), int(trace.task_first[task + 1]))
    outcome, start, length = (
        trace.column("attempts", name, missing=-1)[rows] for name in ("outcome", "start", "length")
    )
    finishes = (outcome == Outcome.FINISH) | ((start < 0) & (length >= 0))
    return bool((outcome == Outcome.CENSORED).any() and not finishes.any())


def final_cost(cluster: Cluster, outcomes: Sequence[Any]) -> list[float]:
    """The terms from the table of outcomes."""
    own, standing = set(own_tasks(cluster)), {task for task, _ in cluster.standing}
    terms = _terms(cluster, [x for x in outcomes if x.task in own])
    if cluster.rules.charge == "own":
        return [*terms, 0.0]
    begin = min(x.submit for x in outcomes if x.task not in standing)
    stood = [replace(x, submit=begin, recorded_outcome=-1) for x in outcomes if x.task in standing]
    others = [x for x in outcomes if x.task not in own | standing]
    return [*terms, sum(_terms(cluster, [*stood, *others]))]


def _terms(cluster: Cluster, charged: Sequence[Any]) -> list[float]:
    """What tasks cost: wasted, overhead, completion, forfeited."""
    wasted = sum(x.lost + x.redundant + x.ghost for x in charged)
    overhead = sum(x.checkpoint + x.restore for x in charged)
    forfeited = [
        x for x in charged if x.recorded_outcome == Outcome.FINISH and x.outcome != Outcome.FINISH
    ]
    work = sum(x.recorded_work for x in forfeited)
    time = sum(x.recorded_end - x.submit for x in forfeited)
    weights = cluster.weights
    return [
        weights.wasted * wasted / weights.work_scale,
        weights.overhead * overhead / weights.work_scale,
        weights.completion * completion(cluster, charged) / weights.time_scale,
        weights.forfeited * (work / weights.work_scale + time / weights.time_scale),
    ]


def completion(cluster: Cluster, outcomes: Sequence[Any]) -> int:
    """Time that the tasks, or their jobs, were not settled [ms].

    A task can settle before its submission, when one that it depends on has failed.
    """
    if cluster.rules.completion == "tasks":
        return sum(max(x.end - x.submit, 0) for x in outcomes)
    jobs: dict[int, list[Any]] = {}
    for x in outcomes:
        jobs.setdefault(int(cluster.trace.column("tasks", "job")[x.task]), []).append(x)
    last = [(max(x.end for x in job), min(x.submit for x in job)) for job in jobs.values()]
    return sum(max(end - submit, 0) for end, submit in last)


@pytest.mark.parametrize("name", STUBBORN)
@pytest.mark.parametrize("clusters", [40, pytest.param(120, marks=pytest.mark.campaign)])
def test_stubborn_policies_end_every_episode(name: str, clusters: int) -> None:
    for seed in range(200_000, 200_000 + clusters):
        cluster = random_cluster(seed)
        sim = cluster.simulator(ScheduledSimulator)
        cluster.start(sim)
        decisions = 0
        while sim.decision is not None:
            mask = sim.mask
            sim.step(next((a for a in STUBBORN[name] if mask[a]), Action.CONTINUE))
            decisions += 1
            assert decisions < MOST_DECISIONS, seed
        count = {entry.task for entry in sim.log if entry.kind == Event.SETTLED}
        assert set(own_tasks(cluster)) <= count, seed


def test_weights_of_zero_cost_nothing() -> None:
    cluster = random_cluster(7)
    free = Weights(0.0, 0.0, 0.0, 0.0)
    _, cost = play(replace(cluster, weights=free))
    assert cost is not None
    assert not cost.any()
