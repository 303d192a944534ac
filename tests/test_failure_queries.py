"""`failgym.evaluation.failure_queries`: what policies ask about machines, and what they hear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.baselines import Flaw, RankHybd
from failgym.envs import Scenario, resolve
from failgym.evaluation import failure_queries, run_policy
from failgym.metrics import COUNTS, Count, aaa, count_answers
from failgym.worlds.build import build_world
from tests.envs.worlds import small


def scenario(**fields: Any) -> Scenario:
    """Two slices of workflows."""
    return resolve("Workflow-v1", {**small("failgym/Workflow-v1"), "split": "all", **fields})


@pytest.mark.parametrize("count", COUNTS)
def test_who_looks_up_the_failures_is_always_right(count: Count) -> None:
    made = scenario(node_forecast="exact")
    for log in failure_queries(build_world(made), made, Flaw()):
        assert len(log["event"])
        assert aaa(log, count) == 1.0


def test_who_asks_nobody_hears_no() -> None:
    made = scenario(node_forecast="none")
    for log in failure_queries(build_world(made), made, RankHybd()):
        assert not log["answered"].any()
        assert count_answers(log, "asked").wrong == log["fails"][log["asked"]].sum()


def test_each_offer_is_a_query() -> None:
    made = scenario(node_forecast="calibrated")
    world = build_world(made)
    logs = failure_queries(world, made, Flaw())
    run = run_policy(world, made, Flaw(), order="time")
    placed = sum(int(np.sum(log["asked"] & ~log["answered"])) for log in logs)
    assert placed <= run.outcomes["attempts"].sum()
    assert {*np.concatenate([log["job"] for log in logs])} == {*run.outcomes["task"]}


def test_slices_are_those_asked_for() -> None:
    made = scenario()
    world = build_world(made)
    both = failure_queries(world, made, Flaw())
    (second,) = failure_queries(world, made, Flaw(), np.array([1]))
    assert {name: column.tolist() for name, column in second.items()} == {
        name: column.tolist() for name, column in both[1].items()
    }


def test_a_world_without_offers_has_no_queries() -> None:
    made = resolve("Lineage-v1", small("failgym/Lineage-v1"))
    with pytest.raises(ValueError, match="place: expected a scheduled world"):
        failure_queries(build_world(made), made, RankHybd())
