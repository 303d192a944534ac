"""Large times, large clusters and long queues: nothing overflows, nothing grows out of hand."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled import ScheduledSimulator
from failgym.traces import Outcome
from failgym.traces.schema import LATEST
from tests.sim.scheduled.test_errors import Tables, simulator
from tests.sim.scheduled.test_reference_scheduled import machines

MANY = 20_000
REFERENCE = ReferenceScheduledSimulator
KINDS = pytest.mark.parametrize("kind", [ScheduledSimulator, REFERENCE])


def single_tasks(length: Any, submit: Any, **columns: Any) -> Tables:
    """Jobs of one task each."""
    submit = np.asarray(submit, dtype=np.int64)
    n = len(submit)
    names = [str(i) for i in range(n)]
    return {
        "jobs": {"original_id": names, "submit": submit, "width": [1] * n, "outcome": [0] * n},
        "tasks": {"job": np.arange(n), "index": [0] * n, "width": [1] * n} | columns,
        "attempts": {
            "task": np.arange(n),
            "queued": submit,
            "start": submit,
            "end": submit + length,
            "outcome": [0] * n,
        },
    }


def played(kind: Any, tables: Tables, action: int = 0, **rules: Any) -> Any:
    sim = simulator(kind, tables, **rules)
    sim.start(range(len(tables["tasks"]["job"])))
    while sim.decision is not None:
        sim.step(action)
    return sim


def ends(sim: Any) -> set[tuple[int, int]]:
    return {(outcome.end, int(outcome.outcome)) for outcome in sim.outcomes()}


def test_thousands_of_machines_are_down_when_an_episode_begins() -> None:
    outages = {"machine": np.arange(3000), "down": [0] * 3000, "up": [50] * 3000}
    tables = {
        **single_tasks(10, [10] * 3),
        "machines": machines(*[1] * 3000),
        "outages": outages,
    }
    assert ends(played(ScheduledSimulator, tables)) == {(60, Outcome.FINISH)}


@KINDS
def test_the_latest_times_of_a_trace(kind: Any) -> None:
    tables = {**single_tasks(10, [0, LATEST - 10]), "machines": machines(1)}
    assert ends(played(kind, tables)) == {(10, Outcome.FINISH), (LATEST, Outcome.FINISH)}


@pytest.mark.parametrize("streams", [1, 40])
def test_the_longest_writes_of_many_tasks(streams: int) -> None:
    tables = {**single_tasks(5000, [0] * 90), "machines": machines(90)}
    rules = {"checkpoint": True, "window": 3000, "decide": "geometric", "checkpoint_cost": 2**40}
    fast, slow = (
        played(kind, tables, 2, storage_streams=streams, **rules)
        for kind in (ScheduledSimulator, REFERENCE)
    )
    assert fast.outcomes() == slow.outcomes()
    assert tuple(fast.accounts()) == tuple(slow.accounts())
    assert max(outcome.end for outcome in fast.outcomes()) > 90 // streams * 2**40


DECIDE = pytest.mark.parametrize("decide", ["every", "geometric", "alarm"])


def saved(kind: Any, cost: int, decide: str) -> Any:
    """Three tasks save their progress whenever that is legal, with windows of 1 ms."""
    tables = {**single_tasks(20, [0, 3, 5]), "machines": machines(3)}
    rules = {"checkpoint": True, "window": 1, "every": 3, "alarm": 0.0, "storage_streams": 1}
    return played(kind, tables, 2, decide=decide, checkpoint_cost=cost, **rules)


@DECIDE
def test_windows_within_writes(decide: str) -> None:
    """The reference looks at each of them."""
    fast, slow = (saved(kind, 400, decide) for kind in (ScheduledSimulator, REFERENCE))
    assert [tuple(entry) for entry in fast.log] == [tuple(entry) for entry in slow.log]
    assert fast.outcomes() == slow.outcomes()


@DECIDE
def test_windows_within_the_longest_writes(decide: str) -> None:
    """As many writes as of a small cost (its remainder by 3 is the same), one after the other."""
    small, large = (saved(ScheduledSimulator, cost, decide) for cost in (400, 2**40))
    writes = [sum(x.checkpoints for x in sim.outcomes()) for sim in (small, large)]
    assert writes[0] == writes[1] >= 3
    assert max(x.end for x in large.outcomes()) >= writes[1] * 2**40


@KINDS
@pytest.mark.parametrize("scheduler", ["fifo", "easy_backfill"])
def test_machines_of_billions_of_slots(kind: Any, scheduler: str) -> None:
    most = 2**31 - 1
    tables = {**single_tasks(10, [0, 0, 0]), "machines": machines(most, most)}
    tables["tasks"]["width"] = [most, 3, 4]
    assert ends(played(kind, tables, scheduler=scheduler)) == {(10, Outcome.FINISH)}


@KINDS
def test_a_gang_of_billions_of_slots(kind: Any) -> None:
    tables = {**single_tasks(10, [0, 0]), "machines": machines(2**30, 2**30)}
    tables["tasks"]["width"] = [2**30 + 1, 1]
    sim = played(kind, tables)
    assert ends(sim) == {(10, Outcome.FINISH)}
    assert sim.busy() == 10 * (2**30 + 2)


LONG_QUEUES: dict[str, tuple[Tables, dict[str, Any], Outcome]] = {
    "what can never run": (
        {"machines": machines(1), "outages": {"machine": [0], "down": [5], "up": [None]}},
        {},
        Outcome.CENSORED,
    ),
    "one machine dies under all": (
        {"machines": machines(MANY), "outages": {"machine": [0], "down": [5], "up": [50]}},
        {},
        Outcome.FINISH,
    ),
    "as priorities have it": (
        {"machines": machines(MANY // 2)},
        {"scheduler": "priority", "preemption": True},
        Outcome.FINISH,
    ),
    "backfilled": (
        {"machines": machines(MANY // 4)},
        {"scheduler": "easy_backfill"},
        Outcome.FINISH,
    ),
    "by rank": ({"machines": machines(MANY // 4)}, {"scheduler": "rank_hybd"}, Outcome.FINISH),
}


@pytest.mark.parametrize("name", LONG_QUEUES)
def test_long_queues(name: str) -> None:
    """Within seconds, and in room that is in proportion to the tasks."""
    cluster, rules, outcome = LONG_QUEUES[name]
    tables = {**single_tasks(100, np.zeros(MANY)), **cluster}
    tables["jobs"]["priority"] = np.arange(MANY) % 3
    played(ScheduledSimulator, {**single_tasks(1, [0]), "machines": machines(1)}, **rules)
    began = time.process_time()
    sim = played(ScheduledSimulator, tables, **rules)
    assert time.process_time() - began < 20
    assert {int(x.outcome) for x in sim.outcomes()} == {outcome}
    for name in ("runs", "heap", "placements", "log", "queries"):
        assert len(sim.batch.array(name, 0)) < 40 * MANY
