"""Construction, validation, accessors and the split of traces."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from failgym.traces import Cause, Meta, Outcome, Trace, TraceError, generate, toy
from failgym.traces.schema import LATEST, TABLES, make_table
from tests.traces.traces import CENSORED, FINISH, KILL, make


def values(trace: Trace, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in trace.table(table).to_pylist()]


def test_columns_come_as_arrays_with_a_stand_in_for_what_is_missing() -> None:
    trace = make()
    assert trace.column("attempts", "start").tolist() == [10, 70, 6, 310, 110, -1]
    assert trace.column("attempts", "start", missing=7)[-1] == 7
    assert trace.present("attempts", "start").tolist() == [True] * 5 + [False]
    assert np.isnan(trace.column("tasks", "cpu")[1])
    assert trace.column("tasks", "anti_affinity").tolist() == [True, False, False, False]
    assert trace.column("jobs", "user").tolist() == ["eve", "", ""]
    assert not trace.column("attempts", "task").flags.writeable
    assert trace.frame("jobs")["submit"].tolist() == [0, 100, 500]
    with pytest.raises(TraceError, match="unknown table 'runs'"):
        trace.column("runs", "start")


def test_task_accessors() -> None:
    trace = make()
    assert trace.task_first.tolist() == [0, 2, 4, 5, 6]
    assert trace.task_submit.tolist() == [0, 5, 100, 500]
    assert trace.task_outcome.tolist() == [FINISH, FINISH, KILL, CENSORED]


def test_a_task_is_submitted_no_later_than_it_starts() -> None:
    def submit(queued: int | None, job_submit: int) -> int:
        trace = Trace.of(
            Meta("late"),
            jobs={"original_id": ["a"], "submit": [job_submit], "width": 1, "outcome": KILL},
            tasks={"job": [0], "index": [0], "width": 1},
            attempts={
                **{"task": [0, 0], "queued": [queued, None], "start": [None, 20], "end": [40, 60]},
                **{"outcome": [KILL, FINISH], "cause": [Cause.REQUEUE, None]},
            },
        )
        [found] = trace.task_submit.tolist()
        return found

    assert submit(30, 0) == submit(None, 25) == 20
    assert submit(10, 25) == 10
    assert submit(None, 5) == 5


def test_task_outcome_is_that_of_the_attempt_that_ends_last() -> None:
    def outcome(ends: list[int], outcomes: list[Outcome]) -> int:
        causes = [None if o in (FINISH, CENSORED) else 0 for o in outcomes]
        trace = Trace.of(
            Meta("x"),
            jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": FINISH},
            tasks={"job": [0], "index": 0, "width": 1},
            attempts={
                "task": [0] * len(ends),
                "start": 0,
                "end": ends,
                "outcome": outcomes,
                "cause": causes,
            },
        )
        return int(trace.task_outcome[0])

    assert outcome([5, 3], [Outcome.FAIL, KILL]) == Outcome.FAIL
    assert outcome([5, 5], [Outcome.FAIL, KILL]) == KILL
    assert outcome([5, 9], [FINISH, KILL]) == FINISH
    assert outcome([5, 9], [CENSORED, KILL]) == CENSORED


def test_an_empty_trace_is_a_trace() -> None:
    trace = Trace(Meta("nothing"))
    assert all(trace.rows(name) == 0 for name in TABLES)
    assert len(trace.task_submit) == len(trace.task_outcome) == 0
    assert trace.split("train").rows("jobs") == trace.split("test").rows("jobs") == 0


@pytest.mark.parametrize(
    ("table", "column", "cells", "message"),
    [
        (
            "attempts",
            "outcome",
            [1, 0, 3, 0, 2, 6],
            "row 5: column 'outcome' is 6, expected one of",
        ),
        ("attempts", "cause", [0, None, 2, None, 9, None], "row 4: column 'cause' is 9"),
        ("attempts", "cause", [0, 0, 2, None, 7, None], "row 1: .* expected none for FINISH"),
        ("attempts", "cause", [None, None, 2, None, 7, None], "row 0: .* expected a cause"),
        ("attempts", "task", [0, 0, 1, 1, 2, 4], "row 5: column 'task' is 4, expected a row of"),
        ("attempts", "task", [0, 1, 0, 1, 2, 3], "row 2: .* expected attempts in order"),
        ("attempts", "start", [10, 70, 6, 5, 110, None], "row 3: column 'queued' is 300, expected"),
        ("attempts", "start", [80, 70, 6, 310, 110, None], "row 0: column 'end' is 60, expected"),
        ("attempts", "start", [10, None, 6, 310, 110, None], "row 1: .* expected a start"),
        ("attempts", "queued", [0, 60, 5, 300, 460, 500], "row 4: column 'end' is 450, expected"),
        ("attempts", "end", [60, 200, 300, 700, -1, 2000], "row 4: .* expected at least 0"),
        ("jobs", "submit", [0, None, 500], "row 1: column 'submit' must not be missing"),
        ("jobs", "width", [2, 0, 1], "row 1: column 'width' is 0, expected at least 1"),
        ("machines", "speed", [1.0, 0.0], "row 1: column 'speed' is 0.0, expected more than 0"),
        ("outages", "up", [10, None], "row 0: column 'up' is 10, expected no earlier than down"),
        ("placements", "machine", [0, 1, 0, 1, 2], "row 4: .* a row of table machines"),
    ],
)
def test_unsound_tables_are_refused(
    table: str, column: str, cells: list[Any], message: str
) -> None:
    with pytest.raises(TraceError, match=f"^table {table}, {message}"):
        make(**{table: {column: cells}})


@pytest.mark.parametrize(
    ("table", "column", "row"),
    [
        ("jobs", "submit", 2),
        ("jobs", "walltime", 0),
        ("attempts", "end", 5),
        ("attempts", "length", 0),
        ("windows", "offset", 2),
        ("outages", "up", 0),
        ("costs", "time", 1),
    ],
)
def test_times_are_bounded(table: str, column: str, row: int) -> None:
    def cells(time: int) -> dict[str, Any]:
        found = make().table(table)[column].to_pylist()
        return {table: {column: [*found[:row], time, *found[row + 1 :]]}}

    make(**cells(LATEST))
    with pytest.raises(TraceError, match=f"^table {table}, row {row}: column '{column}' is .* ms"):
        make(**cells(LATEST + 1))


@pytest.mark.parametrize("end", [-1, LATEST + 1])
def test_the_end_of_the_data_is_bounded(end: int) -> None:
    with pytest.raises(TraceError, match=f"meta: end is {end}, expected"):
        Trace(Meta("x", end=end))


def ordered(trace: Trace) -> bool:
    jobs = list(
        zip(*(trace.column("jobs", name) for name in ("submit", "original_id")), strict=True)
    )
    keys = (trace.task_submit, trace.column("tasks", "job"), trace.column("tasks", "index"))
    tasks = list(zip(*(key.tolist() for key in keys), strict=True))
    return jobs == sorted(jobs) and tasks == sorted(tasks)


@pytest.mark.parametrize("profile", ["google-2011", "system-a", "toy"])
def test_generators_order_jobs_and_tasks_and_splits_keep_the_order(profile: str) -> None:
    trace = toy() if profile == "toy" else generate(profile, jobs=200, seed=3)
    assert ordered(trace)
    assert ordered(trace.split("train"))
    assert ordered(trace.split("test"))


def test_starts_of_a_task_do_not_go_back() -> None:
    later = {"queued": [None] * 6, "start": [10, 9, 6, 310, 110, None]}
    with pytest.raises(TraceError, match="row 1: column 'start' is 9, expected no earlier than"):
        make(attempts=later)


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TraceError, match="unknown table 'runs'"):
        make_table("runs")
    with pytest.raises(TraceError, match="table jobs: unknown column 'colour'"):
        make_table("jobs", {"colour": [1]})
    with pytest.raises(TraceError, match="table jobs: column 'width' is required"):
        make_table("jobs", {"original_id": ["a"], "submit": [0], "outcome": [0]})
    with pytest.raises(TraceError, match="different lengths: task 1, outcome 2"):
        make_table("attempts", {"task": [0], "outcome": [0, 1]})
    with pytest.raises(TraceError, match="column 'index' expects int64"):
        make_table("tasks", {"job": [0], "index": ["one"], "width": 1})
    with pytest.raises(TraceError, match="table jobs: columns are"):
        Trace(Meta("x"), jobs=pa.table({"submit": [1]}))
    wrong = make_table("costs").set_column(2, "time", pa.array([], pa.float64()))
    with pytest.raises(TraceError, match="table costs: column 'time' is double, expected int64"):
        Trace(Meta("x"), costs=wrong)


def test_columns_may_be_lists_arrays_masked_arrays_or_arrow() -> None:
    base = {"task": [0, 0], "outcome": np.array([0, 5], dtype=np.int16)}
    for start in ([3, None], np.array([3, np.nan]), np.ma.MaskedArray([3, 9], [False, True])):
        assert make_table("attempts", {**base, "start": start})["start"].to_pylist() == [3, None]
    for start in (pa.array([3, None]), pa.chunked_array([[3], [None]], type=pa.int64())):
        assert make_table("attempts", {**base, "start": start})["start"].to_pylist() == [3, None]


def test_a_trace_pickles_and_copies() -> None:
    trace = make()
    assert pickle.loads(pickle.dumps(trace)).content_hash == trace.content_hash
    assert copy.deepcopy(trace) is trace


def test_test_split_holds_the_jobs_submitted_after_the_boundary() -> None:
    trace = make()
    assert trace.boundary(0.5) == 100
    test = trace.split("test", 0.5)
    assert values(test, "jobs", "original_id", "outcome") == [("ü", CENSORED)]
    assert values(test, "tasks", "job", "index", "stage") == [(0, 0, None)]
    assert values(test, "attempts", "task", "queued", "start", "end") == [(0, 500, None, 2000)]
    assert (test.rows("machines"), test.rows("outages"), test.rows("placements")) == (2, 2, 0)
    assert test.meta.end == 2000


def test_train_split_is_what_was_known_at_the_boundary() -> None:
    train = make().split("train", 0.5)
    assert train.meta.end == 100
    assert values(train, "jobs", "original_id", "outcome", "exit_category") == [
        ("a", CENSORED, None),
        ("b", CENSORED, None),
    ]
    columns = ("task", "queued", "start", "end", "outcome", "cause", "length")
    assert values(train, "attempts", *columns) == [
        (0, 0, 10, 60, Outcome.FAIL, 0, 90),
        (0, 60, 70, 100, CENSORED, None, None),
        (1, 5, 6, 100, CENSORED, None, None),
        (2, 100, None, 100, CENSORED, None, None),
    ]
    assert values(train, "placements", "attempt", "machine") == [(0, 0), (1, 1), (2, 0)]
    assert values(train, "windows", "attempt", "offset") == [(0, 0)]
    assert values(train, "outages", "machine", "up") == [(0, None), (1, None)]
    assert train.rows("stage_edges") == 1


def test_a_task_cut_between_two_attempts_is_censored() -> None:
    train = make(
        attempts={
            "queued": [0, 160, 5, 300, 100, 500],
            "start": [10, 170, 6, 310, 110, None],
            "length": None,
        }
    )
    columns = ("task", "queued", "start", "end", "outcome")
    rows = values(train.split("train", 0.5), "attempts", *columns)
    assert rows[:2] == [(0, 0, 10, 60, Outcome.FAIL), (0, None, None, 100, CENSORED)]


def test_split_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="part is 'both', expected 'train' or 'test'"):
        make().split("both")  # type: ignore[arg-type]
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="boundary_share"):
            make().split("train", share)


def test_nothing_after_the_boundary_shows_in_the_train_split() -> None:
    later = {
        "end": [60, 400, 900, 1500, 120, 1000],
        "start": [10, 70, 6, 1200, 119, 700],
        "outcome": [Outcome.FAIL, KILL, KILL, Outcome.FAIL, FINISH, FINISH],
        "cause": [0, 7, 4, 0, None, None],
        "length": [90, None, 900, None, 1, 300],
    }
    jobs = {"outcome": [KILL, FINISH, FINISH], "exit_category": None}
    outages = {"up": [None, 700]}
    edited = make(attempts=later, jobs=jobs, outages=outages).split("train", 0.5)
    assert edited.content_hash == make().split("train", 0.5).content_hash


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"end": [60, 200, None, 700, 450, 2000]}, "row 2: column 'end'"),
        ({"cause": [Cause.USER, None, 2, None, 7, None]}, "row 0: column 'cause' is 7, expected"),
        ({"length": [40, 130, None, 390, None, None]}, "row 0: column 'length' is 40"),
        ({"length": [90, 131, None, 390, None, None]}, "row 1: column 'length' is 131"),
        ({"task": [0, 0, 1, 1, 2, 2]}, "table tasks, row 3: .* a task with attempts"),
    ],
)
def test_attempts_that_no_engine_could_replay_are_refused(
    columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        make(attempts=columns)
