"""The shape of workflows, against a walk over every path."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from failgym.traces import Meta, Outcome, Trace
from failgym.traces.describe import describe
from failgym.traces.describe.facts import Facts
from failgym.traces.describe.workflows import levels, measure, task_times


def diamond(**attempts: object) -> Trace:
    """T0 -> T1, T2 -> T3, and a job without edges."""
    return Trace.of(
        Meta("diamond", end=0),
        jobs={
            "original_id": ["d", "e"],
            "submit": [0, 0],
            "width": [4, 1],
            "outcome": [Outcome.CENSORED, Outcome.CENSORED],
        },
        stages={"job": [0, 0, 0, 0, 1], "stage": [0, 1, 2, 3, 0]},
        stage_edges={
            "parent": [0, 0, 1, 2],
            "child": [1, 2, 3, 3],
            "bytes": [10, 20, 30, 40],
            "wide": False,
        },
        tasks={"job": [0, 0, 0, 0, 1], "index": [0, 1, 2, 3, 0], "width": [1, 1, 2, 1, 1]}
        | {"stage": [0, 1, 2, 3, 4]},
        attempts={"task": [0, 1, 2, 3, 4], "end": 0, "outcome": Outcome.CENSORED, **attempts},
    )


def test_a_diamond() -> None:
    trace = diamond(length=[1000, 2000, 3000, 4000, 5000])
    found = {label: values.tolist() for label, values in measure(Facts(trace)).items()}
    assert found == {
        "tasks": [4],
        "stages": [4],
        "edges": [4],
        "depth [stages]": [3],
        "width [tasks of a level]": [2],
        "work [s]": [1 + 2 + 2 * 3 + 4],
        "critical path [s]": [1 + 3 + 4],
        "parallelism (work / critical path)": [13 / 8],
        "data [bytes]": [100],
        "communication to computation [bytes/s]": [100 / 13],
    }
    table = describe(trace).table("workflows")
    assert table.cell("depth [stages]", "workflows") == 1
    assert table.cell("work [s]", "median") == 13.0


def test_a_diamond_of_unknown_times() -> None:
    table = describe(diamond()).table("workflows")
    assert table.cell("depth [stages]", "most") == 3
    assert table.cell("work [s]", "workflows") == 0
    assert table.cell("critical path [s]", "median") is None


def test_a_run_time_before_a_length_before_a_cost() -> None:
    trace = Trace.of(
        Meta("times"),
        jobs={"original_id": ["a"], "submit": 0, "width": 3, "outcome": Outcome.CENSORED},
        tasks={"job": [0, 0, 0, 0], "index": [0, 1, 2, 3], "width": 1},
        attempts={
            "task": [0, 0, 1, 2, 3],
            "start": [0, 5, None, None, None],
            "end": [3, 9, 9, 9, 9],
            "outcome": [Outcome.LOST, Outcome.FINISH, *[Outcome.CENSORED] * 3],
            "length": [8, 4, 7, None, None],
        },
        machines={"original_id": ["m", "n"], "speed": 1.0},
        costs={"task": [0, 1, 2, 2], "machine": [0, 0, 0, 1], "time": [50, 50, 10, 20]},
    )
    assert task_times(Facts(trace)).tolist()[:3] == [4, 7, 15]
    assert np.isnan(task_times(Facts(trace))[3])


@pytest.mark.parametrize("seed", range(8))
def test_levels_of_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 30
    time = rng.integers(0, 50, n).astype(np.float64)
    names = rng.permutation(n)
    edges = {
        (int(names[a]), int(names[b])) for a in range(n) for b in range(a) if rng.random() < 0.1
    }
    parents = {k: [a for a, b in edges if b == k] for k in range(n)}

    @lru_cache(None)
    def depth(stage: int) -> int:
        return 1 + max((depth(p) for p in parents[stage]), default=0)

    @lru_cache(None)
    def finish(stage: int) -> float:
        return float(time[stage]) + max((finish(p) for p in parents[stage]), default=0.0)

    listed = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    listed = listed[rng.permutation(len(listed))]
    shape = levels(listed[:, 0], listed[:, 1], time)
    assert shape.level.tolist() == [depth(k) for k in range(n)]
    assert shape.finish.tolist() == [finish(k) for k in range(n)]


def test_a_cycle_ends() -> None:
    shape = levels(np.array([0, 1, 2, 1]), np.array([1, 2, 1, 3]), np.ones(5))
    assert shape.level.tolist() == [1, 0, 0, 0, 1]
