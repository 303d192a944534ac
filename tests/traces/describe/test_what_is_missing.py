"""Traces without jobs, tasks, users, usage ...: described without error, and saying what lacks."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.describe import Description, describe
from failgym.traces.schema import LATEST, MOST_TOTAL, SCHEMAS, TABLES
from tests.traces.describe.random_traces import random_trace
from tests.traces.traces import make

JOB: dict[str, Any] = {"original_id": ["a"], "submit": 5, "width": 1, "outcome": Outcome.CENSORED}
TASK: dict[str, Any] = {"job": [0], "index": [0], "width": 1}
MACHINE: dict[str, Any] = {"original_id": ["m"], "speed": 1.0}
TRACES: dict[str, dict[str, dict[str, Any]]] = {
    "nothing": {},
    "machines": {"machines": MACHINE},
    "outages": {"machines": MACHINE, "outages": {"machine": [0, 0], "down": [7, 7], "up": [7, 8]}},
    "a job without tasks": {"jobs": JOB},
    "a task that never ran": {
        "jobs": JOB,
        "tasks": TASK,
        "attempts": {"task": [0], "end": 9, "outcome": Outcome.CENSORED},
    },
    "a run that took no time": {
        "jobs": JOB | {"walltime": 0, "exit_category": "odd"},
        "tasks": TASK,
        "attempts": {"task": [0], "start": 5, "end": 5, "outcome": Outcome.LOST},
        "windows": {"attempt": [0], "offset": 0},
    },
    "stages without edges": {"jobs": JOB, "stages": {"job": [0], "stage": 0}},
    "edges without tasks": {
        "jobs": JOB,
        "stages": {"job": [0, 0], "stage": [0, 1]},
        "stage_edges": {"parent": [0], "child": 1, "bytes": 0, "wide": True},
    },
}

SMALL = {"workflows", "stage_widths", "usage_correlation"}
"""What the random traces lack: stages, and bins of a hundred attempts."""


def missing(description: Description) -> dict[str, str]:
    return {str(row[0]): str(row[2]) for row in description.table("not_made").rows}


@pytest.mark.parametrize("name", TRACES)
def test_every_sort_of_trace_can_be_described(name: str) -> None:
    description = describe(Trace.of(Meta(name), **TRACES[name]))
    names = [table.name for table in description.tables]
    assert len(names) == len(set(names))
    assert not missing(description).keys() & set(names)
    for table in description.tables:
        assert all(len(row) == len(table.columns) for row in table.rows), table.name
        assert len({row[0] for row in table.rows}) == len(table.rows), table.name
    json.dumps(description.to_json(), allow_nan=False)


def test_all_tables_are_made_or_missing() -> None:
    """A table is one or the other in every trace; the full one is small, and has no workflows."""

    def known(description: Description) -> set[str]:
        made = {table.name for table in description.tables}
        return made | missing(description).keys()

    full = describe(random_trace(0))
    assert missing(full).keys() == SMALL
    for columns in TRACES.values():
        assert known(describe(Trace.of(Meta("x"), **columns))) == known(full)
    assert known(describe(make())) == known(full)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table, field.name)
        for table in TABLES
        if table not in ("stages", "stage_edges", "costs")
        for field in SCHEMAS[table]
        if field.nullable and field.name not in ("start", "cause", "end")
    ],
)
def test_a_trace_without_one_column(table: str, column: str) -> None:
    trace = random_trace(1, jobs=30)
    tables = {name: trace.table(name).to_pydict() for name in TABLES}
    tables[table].pop(column)
    bare = describe(Trace.of(trace.meta, **tables))
    needs = missing(bare)
    expected = {
        ("jobs", "speculation"): "speculation",
        ("jobs", "skip_mode"): "skip_mode",
        ("jobs", "attempt_limit"): "attempt_limit",
        ("jobs", "exit_category"): "exit_categories",
        ("jobs", "walltime"): "requested_over_run",
        ("windows", "memory"): "memory_growth",
        ("outages", "cause"): "outages_by_cause outages_by_detail",
        ("outages", "group"): "correlated_outages",
    }.get((table, column), "")
    assert needs.keys() - SMALL == set(expected.split())
    assert all(column in needs[name] for name in expected.split())


def test_usage_without_windows() -> None:
    """The means of the whole attempt stand in for windows."""
    trace = random_trace(2)
    tables = {name: trace.table(name).to_pydict() for name in TABLES}
    del tables["windows"]
    description = describe(Trace.of(trace.meta, **tables))
    assert missing(description).keys() - SMALL == {"memory_growth"}
    labels = {str(row[0]).partition(":")[0] for row in description.table("utilisation").rows}
    assert labels == {"cpu", "memory"}
    for column in ("mean_cpu", "mean_memory", "max_memory"):
        del tables["attempts"][column]
    lacking = missing(describe(Trace.of(trace.meta, **tables)))
    assert lacking.keys() - SMALL == {"memory_growth", "used_over_requested", "utilisation"}
    assert lacking["utilisation"] == "windows, or mean_cpu or mean_memory of attempts"


SLOTS = MOST_TOTAL // LATEST // 2
"""So many may be kept for the longest time, and others beside them."""


def extreme_trace() -> Trace:
    """Times of 2,200 years, two thousand million slots, infinite usage, in the same trace as 0."""
    latest, widest = LATEST, 2**31 - 1
    return Trace.of(
        Meta("limits", end=latest),
        jobs={
            "original_id": ["a", "b"],
            "submit": [0, latest],
            "width": [widest, 1],
            "walltime": [latest, 0],
            "outcome": [Outcome.FAIL, Outcome.FINISH],
        },
        tasks={
            "job": [0, 0, 1],
            "index": [0, 1, 0],
            "width": [SLOTS, widest, widest],  # for 2,200 years, for no time, and for 1 ms
            "memory": [1e-300, 0, 1e300],
        },
        attempts={
            "task": [0, 0, 1, 2],
            "start": [0, 1, latest, latest - 1],
            "end": [latest, 1, latest, latest],
            "outcome": [Outcome.FAIL, Outcome.FAIL, Outcome.KILL, Outcome.FINISH],
            "cause": [Cause.INTRINSIC, Cause.MACHINE, Cause.USER, None],
            "mean_memory": [np.inf, 3e38, 0.0, 1e-45],
        },
        windows={"attempt": [0, 0, 3], "offset": [0, latest, 0]}
        | {"memory": [3e38, -np.inf, 1e-45], "local_io": [0.0, -1.0, np.inf]},
        machines={"original_id": ["m"], "speed": 1e-300},
        outages={"machine": [0, 0, 0], "down": [0, 0, latest], "up": [0, latest, None]},
    )


def test_values_at_their_limits() -> None:
    description = describe(extreme_trace())
    table = description.table("job_durations")
    assert table.cell("FAIL", "p50") == pytest.approx(LATEST * SLOTS / 60_000)
    json.dumps(description.to_json(), allow_nan=False)


def test_600_000_attempts_take_less_than_three_seconds() -> None:
    n = 600_000
    rng = np.random.default_rng(0)
    start = np.sort(rng.integers(0, 10**9, n))
    outcome = rng.choice([0, 1, 2, 5], n)
    trace = Trace.of(
        Meta("many", end=2 * 10**9),
        jobs={
            "original_id": [str(k) for k in range(n // 4)],
            "submit": start[::4],
            "width": 4,
            "outcome": outcome[::4],
        },
        tasks={"job": np.arange(n) // 4, "index": np.arange(n) % 4, "width": 1},
        attempts={
            "task": np.arange(n),
            "start": start,
            "end": start + rng.integers(0, 10**7, n),
            "outcome": outcome,
            "cause": np.ma.array(np.zeros(n, np.int64), mask=(outcome % 5) == 0),
            "mean_memory": rng.random(n),
        },
    )
    begin = time.process_time()
    describe(trace)
    assert time.process_time() - begin < 3
