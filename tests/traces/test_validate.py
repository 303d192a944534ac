"""Tables checked in pieces are checked as if they were whole."""

from __future__ import annotations

from typing import Any

import pytest

from failgym.traces import Cause, TraceError
from failgym.traces.schema import TABLES, make_table
from failgym.traces.validate import Validator
from tests.traces import traces

FREE: dict[str, Any] = {"queued": None, "length": None}
"""Columns of the attempts that would restrict their starts."""


def check_in_pieces(changes: dict[str, dict[str, Any]], size: int) -> None:
    tables = {
        name: make_table(name, {**traces.TABLES.get(name, {}), **changes.get(name, {})})
        for name in TABLES
    }
    validator = Validator({name: table.num_rows for name, table in tables.items()})
    for name, table in tables.items():
        for begin in range(0, table.num_rows, size):
            validator.check(name, table.slice(begin, size))
    validator.finish()


@pytest.mark.parametrize("size", [1, 2, 4, 100])
@pytest.mark.parametrize(
    ("table", "cells", "message"),
    [
        ("attempts", {}, ""),
        ("attempts", {"task": [0, 0, 1, 0, 2, 3]}, "row 3: column 'task' is 0, expected attempts"),
        (
            "attempts",
            {"task": [0, 0, 0, 0, 2, 3], "start": [10, 70, 70, 310, 110, None], **FREE},
            "table tasks, row 1: expected a task with",
        ),
        ("attempts", {"task": [0, 0, 1, 1, 2, 2]}, "table tasks, row 3: expected a task with"),
        ("attempts", {"task": [1, 1, 1, 1, 2, 3]}, "table tasks, row 0: expected a task with"),
        ("attempts", {"task": [0, 0, 1, 1, 2, 4]}, "row 5: column 'task' is 4, expected a row of"),
        ("attempts", {"start": [10, 70, 6, 5, 110, None], "queued": None}, "row 3: column 'start'"),
        ("attempts", {"cause": [0, None, 2, None, Cause.USER, 1]}, "row 5: column 'cause' is 1"),
        ("jobs", {"submit": [0, 1, 2**60]}, "table jobs, row 2: column 'submit' is"),
        ("windows", {"attempt": [0, 3, 6]}, "table windows, row 2: column 'attempt' is 6"),
        ("outages", {"up": [600, 49]}, "table outages, row 1: column 'up' is 49"),
        ("machines", {"speed": [1.0, 0.0]}, "table machines, row 1: column 'speed' is 0"),
    ],
)
def test_pieces_are_checked_as_the_whole(
    table: str, cells: dict[str, Any], message: str, size: int
) -> None:
    if not message:
        check_in_pieces({table: cells}, size)
        return
    with pytest.raises(TraceError, match=message):
        check_in_pieces({table: cells}, size)


def test_all_rows_that_others_refer_to_must_come() -> None:
    validator = Validator({"jobs": 2})
    validator.check("jobs", make_table("jobs", traces.TABLES["jobs"]).slice(0, 1))
    with pytest.raises(TraceError, match="table jobs: 1 rows, expected 2"):
        validator.finish()
