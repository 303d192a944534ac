"""A trace in the canonical order, from rows in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.traces import Meta, Trace, TraceError
from failgym.traces.order import in_order
from failgym.traces.schema import FOREIGN_KEYS, SCHEMAS, TABLES
from failgym.traces.synthetic import generate, toy

TRACES = {
    "toy": toy,
    "google-2011": lambda: generate("google-2011", jobs=150, seed=3),
    "system-a": lambda: generate("system-a", jobs=150, seed=3),
}


def columns_of(trace: Trace) -> dict[str, dict[str, Any]]:
    return {
        name: {key: trace.table(name).column(key).to_pylist() for key in SCHEMAS[name].names}
        for name in TABLES
    }


def shuffled(trace: Trace, seed: int) -> dict[str, dict[str, Any]]:
    """The rows of every table in random order."""
    rng = np.random.default_rng(seed)
    tables = columns_of(trace)
    row: dict[str, list[int]] = {}
    for name, columns in tables.items():
        order = rng.permutation(trace.rows(name)).tolist()
        row[name] = np.argsort(order).tolist()
        tables[name] = {key: [values[i] for i in order] for key, values in columns.items()}
    for (name, key), target in FOREIGN_KEYS.items():
        old = tables[name][key]
        tables[name][key] = [None if value is None else row[target][value] for value in old]
    return tables


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows_makes_the_same_trace(name: str, seed: int) -> None:
    trace = TRACES[name]()
    expected = in_order(trace.meta, **columns_of(trace))
    made = in_order(trace.meta, **shuffled(expected, seed))
    assert made.content_hash == expected.content_hash


@pytest.mark.parametrize("name", TRACES)
def test_our_traces_are_in_that_order(name: str) -> None:
    trace = TRACES[name]()
    submit, job = trace.column("jobs", "submit"), trace.column("tasks", "job")
    assert (np.diff(submit) >= 0).all()
    made = in_order(trace.meta, **columns_of(trace))
    assert (np.diff(made.task_submit) >= 0).all()
    assert sorted(made.task_submit.tolist()) == sorted(trace.task_submit.tolist())
    assert sorted(made.column("tasks", "job").tolist()) == sorted(job.tolist())


def test_short_ids_come_before_long_ones_and_null_keys_stay_null() -> None:
    jobs = {"original_id": ["10", "9", "8"], "submit": [0, 0, 5], "width": 1, "outcome": 5}
    tasks = {"job": [0, 1, 2], "index": 0, "width": 1, "stage": [None, 0, None]}
    attempts = {"task": [2, 0, 1], "end": 9, "outcome": 5}
    made = in_order(
        Meta("hand"), jobs=jobs, tasks=tasks, attempts=attempts, stages={"job": [1], "stage": [4]}
    )
    assert made.column("jobs", "original_id").tolist() == ["9", "10", "8"]
    assert made.column("tasks", "job").tolist() == [0, 1, 2]
    assert made.present("tasks", "stage").tolist() == [True, False, False]
    assert made.column("stages", "job").tolist() == [0]


def test_columns_that_make_no_trace_are_refused() -> None:
    with pytest.raises(TraceError, match="a task with attempts"):
        in_order(
            Meta("hand"),
            jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": 5},
            tasks={"job": [0], "index": [0], "width": 1},
        )
