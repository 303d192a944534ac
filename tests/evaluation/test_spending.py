"""What the room is measured by, where an episode is charged for all that it holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from failgym import metrics
from failgym.baselines import Replay
from failgym.baselines.combined import AllMeasures
from failgym.envs import TERMS, resolve
from failgym.evaluation import Anchors
from failgym.evaluation.caller import Caller
from failgym.policy import Policy

CLUSTER: dict[str, Any] = {
    **{"jobs": 2_000, "trace": "google-2011-failing", "charge": "episode"},
    **{"slice_tasks": 64, "warmup": 16, "followers": 32},
}
COMPLETION, OTHERS = TERMS.index("completion"), TERMS.index("others")


class Recount(NamedTuple):
    """Sums over the outcomes of a slice, of its own tasks and of all that the episode holds."""

    own_work: int
    work: int
    own_time: int
    time: int


def recounted(anchors: Anchors, which: int) -> Recount:
    """Play a slice, answering CONTINUE, and add up what became of each task that it holds."""
    batch = anchors.world.batch(anchors.scenario, 1)
    batch.reset(np.array([which]))
    while not batch.state.episodes["done"][0]:
        batch.step(np.zeros(1, dtype=np.int64))
    outcomes, own = batch.outcomes(0), batch.states(0)["own"]
    work = metrics.task_work(outcomes)
    time = np.maximum(outcomes["end"] - outcomes["submit"], 0)
    return Recount(*(int(x) for x in (work[own].sum(), work.sum(), time[own].sum(), time.sum())))


def test_the_room_of_all_tasks_is_measured_by_the_machine_time_of_all() -> None:
    anchors = Anchors.of(resolve("Mitigation-v1", CLUSTER), episodes=4)
    price = anchors.world.work_price
    assert (anchors.replay.costs[:, OTHERS] > 0.0).all()
    for at, which in enumerate(anchors.replay.slices.tolist()):
        found = recounted(anchors, which)
        assert found.work > 1.2 * found.own_work > 0
        assert anchors.spent[at] == pytest.approx(found.work * price)
    assert anchors.room.share == pytest.approx(anchors.possible.sum() / anchors.spent.sum())


def test_where_machine_time_has_no_price_it_is_the_completion_time_of_all() -> None:
    free = {"weight_wasted": 0.0, "weight_forfeited": 0.0, "task_value": None}
    fields = {**CLUSTER, **free}
    anchors = Anchors.of(resolve("Mitigation-v1", fields), episodes=2)
    price = anchors.world.tables.parameters[0]["completion"]
    for at, which in enumerate(anchors.replay.slices.tolist()):
        found = recounted(anchors, which)
        assert anchors.replay.costs[at, COMPLETION] == pytest.approx(found.own_time * price)
        assert anchors.spent[at] == pytest.approx(found.time * price)
        assert found.time > 1.2 * found.own_time > 0


def test_its_own_tasks_alone_where_it_is_charged_for_them_alone() -> None:
    anchors = Anchors.of(resolve("Mitigation-v1", {**CLUSTER, "charge": "own"}), episodes=2)
    assert (anchors.replay.spent_on_others == 0.0).all()
    for at, which in enumerate(anchors.replay.slices.tolist()):
        found = recounted(anchors, which)
        assert anchors.spent[at] == pytest.approx(found.own_work * anchors.world.work_price)


def worked(anchors: Anchors, which: int, policy: Policy) -> tuple[list[int], list[int]]:
    """Wasted and checkpoint work of a slice, of its own tasks and of the others that it holds."""
    batch = anchors.world.batch(anchors.scenario, 1)
    batch.reset(np.array([which]))
    caller = Caller(policy, 1, True, "a policy")
    caller.begin(np.ones(1, dtype=np.bool_))
    while not (done := batch.state.episodes["done"])[0]:
        batch.step(caller.act(batch.output, ~done))
    outcomes, own = batch.outcomes(0), batch.states(0)["own"]
    accounts = (("lost", "redundant", "ghost"), ("checkpoint", "restore"))
    work = [metrics.task_work(outcomes, names) for names in accounts]
    return [int(x[own].sum()) for x in work], [int(x[~own].sum()) for x in work]


@pytest.mark.parametrize("charge", ["episode", "own"])
def test_work_in_tables_is_that_of_the_tasks_that_are_charged_for(charge: str) -> None:
    fields = {**CLUSTER, "charge": charge, "forecast": "perfect"}
    anchors = Anchors.of(resolve("Mitigation-v1", fields), episodes=3)
    policy = AllMeasures()
    wasted = overhead = before = others = 0
    for which in anchors.replay.slices.tolist():
        own, beside = worked(anchors, which, policy)
        (lost, _), (lost_beside, _) = worked(anchors, which, Replay())
        others += beside[0]
        if charge == "own":
            beside, lost_beside = [0, 0], 0
        wasted, overhead = wasted + own[0] + beside[0], overhead + own[1] + beside[1]
        before += lost + lost_beside
    found = anchors.measure(anchors.run(policy))
    assert found.wasted_work == pytest.approx(wasted / before)
    assert found.checkpoint_work == pytest.approx(overhead / before)
    assert overhead > 0
    assert others > 0
