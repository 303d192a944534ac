"""The worst slice, job and trace are those that a plain loop finds."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.worst_cases import worst_of
from failgym.baselines import REGISTRY
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.vocabulary import Outcome
from tests.envs.worlds import small

GRACE = "failgym/GracePeriod-v1"
LINEAGE = "failgym/Lineage-v1"


def anchors_of(env: str) -> list[Anchors]:
    scenario = resolve(env, small(env))
    return [Anchors.of(scenario.override(trace_seed=seed), split="test") for seed in (5, 6)]


def test_jobs_and_slices_are_those_of_a_plain_loop() -> None:
    traces = anchors_of(GRACE)
    policy = REGISTRY["blind_kill"]()
    possible = sum(float(a.replay.costs.sum() - a.bound.sum()) for a in traces)
    of_slices, of_jobs, kills, tasks = list[float](), list[float](), list[int](), 0
    for anchors in traces:
        run = anchors.run(policy)
        of_slices += ((anchors.replay.costs - run.costs).sum(axis=1)).tolist()
        before = anchors.world.task_costs(anchors.replay.outcomes)
        after = anchors.world.task_costs(run.outcomes)
        assert before is not None
        assert after is not None
        jobs = dict[int, float]()
        killed = dict[int, int]()
        for row, job in enumerate(anchors.evidence.units.member.tolist()):
            jobs[job] = jobs.get(job, 0.0) + float(before[row].sum() - after[row].sum())
            finishes = run.outcomes["recorded_outcome"][row] == Outcome.FINISH
            wrong = finishes and run.outcomes["outcome"][row] != Outcome.FINISH
            killed[job] = killed.get(job, 0) + int(wrong and bool(run.outcomes["killed"][row]))
            tasks += 1
        of_jobs += jobs.values()
        kills += killed.values()
    found = worst_of("blind_kill", policy, traces)
    assert found.score == pytest.approx(100.0 * sum(of_slices) / possible)
    assert found.slice == pytest.approx(100.0 * min(of_slices) / possible)
    assert found.job == pytest.approx(100.0 * min(of_jobs) / possible)
    assert found.losing == pytest.approx(100.0 * np.mean(np.array(of_jobs) < -1e-9))
    assert found.false_kills == pytest.approx(1000.0 * sum(kills) / tasks)
    assert found.in_a_job == max(kills) > 0
    assert found.job is not None
    assert found.job < 0.0


def test_replay_loses_nothing_anywhere() -> None:
    found = worst_of("replay", REGISTRY["replay"](), anchors_of(GRACE))
    assert (found.score, found.slice, found.job, found.losing, found.trace) == (0, 0, 0, 0, 0)
    assert (found.false_kills, found.in_a_job) == (0, 0)


def test_where_tasks_share_machines_jobs_are_not_told_apart() -> None:
    found = worst_of("checkpoint_all", REGISTRY["checkpoint_all"](), anchors_of(LINEAGE)[:1])
    assert (found.job, found.losing, found.in_a_job) == (None, None, None)
    assert found.slice <= found.score
