"""Other machines for a workload, and runs that nothing cut short."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.traces import Outcome, TraceError
from failgym.traces.clusters import uninterrupted, with_machines
from tests.traces.traces import make


def test_machines_take_the_place_of_the_traces_own() -> None:
    trace = with_machines(make(), 3, slots=4, speed=2.0)
    assert trace.column("machines", "slots").tolist() == [4, 4, 4]
    assert trace.column("machines", "speed").tolist() == [2.0, 2.0, 2.0]
    assert trace.column("machines", "original_id").tolist() == ["0", "1", "2"]
    assert [trace.rows(name) for name in ("placements", "outages", "costs")] == [0, 0, 0]
    for name in ("jobs", "tasks", "attempts", "windows", "stages", "stage_edges"):
        assert trace.table(name).equals(make().table(name))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"machines": 0}, "machines is 0, expected at least 1"),
        ({"machines": 1, "slots": 0}, "slots is 0, expected at least 1"),
        ({"machines": 1, "speed": 0.0}, "speed is 0.0, expected more than 0"),
        ({"machines": 1, "speed": float("nan")}, "speed is nan"),
        ({"machines": 1, "speed": float("inf")}, "speed is inf"),
    ],
)
def test_machines_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        with_machines(make(), **arguments)


def test_only_submissions_and_run_times_are_left() -> None:
    trace = uninterrupted(make())
    # tasks by hand: 50 + 130; 294 + 390; 340; never ran
    assert trace.rows("tasks") == 3
    columns = {name: trace.column("attempts", name).tolist() for name in ("task", "start", "end")}
    assert columns["task"] == [0, 1, 2]
    assert columns["start"] == make().task_submit[:3].tolist() == [0, 5, 100]
    assert columns["end"] == [0 + 180, 5 + 684, 100 + 340]
    assert np.all(trace.column("attempts", "outcome") == Outcome.FINISH)
    assert trace.column("jobs", "outcome").tolist() == [
        Outcome.FINISH,
        Outcome.FINISH,
        make().column("jobs", "outcome")[2],
    ]
    assert trace.meta.noted["task left out: it never ran"] == 1
    assert trace.rows("machines") == 2
    assert trace.rows("windows") == 0


def test_nothing_changes_twice() -> None:
    once = uninterrupted(make())
    assert uninterrupted(once).content_hash == once.content_hash
