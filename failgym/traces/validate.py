"""What every trace must satisfy."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import (
    FOREIGN_KEYS,
    LATEST,
    SCHEMAS,
    Cause,
    Outcome,
    Table,
    TraceError,
    column,
    present,
)

Flags = npt.NDArray[np.bool_]

AT_LEAST: dict[tuple[str, str], int] = {
    ("jobs", "submit"): 0,
    ("jobs", "width"): 1,
    ("jobs", "walltime"): 0,
    ("tasks", "index"): 0,
    ("tasks", "width"): 1,
    ("tasks", "output_bytes"): 0,
    ("attempts", "queued"): 0,
    ("attempts", "start"): 0,
    ("attempts", "end"): 0,
    ("attempts", "length"): 0,
    ("placements", "slots"): 1,
    ("windows", "offset"): 0,
    ("machines", "slots"): 0,
    ("outages", "down"): 0,
    ("stage_edges", "bytes"): 0,
    ("costs", "time"): 0,
}
"""(table, column) -> the least value allowed."""

TIMES: tuple[tuple[str, str], ...] = (
    ("jobs", "submit"),
    ("jobs", "walltime"),
    ("attempts", "queued"),
    ("attempts", "start"),
    ("attempts", "end"),
    ("attempts", "length"),
    ("windows", "offset"),
    ("outages", "down"),
    ("outages", "up"),
    ("costs", "time"),
)
"""(table, column) of the times and durations [ms], which are at most `LATEST`."""

CODES: dict[tuple[str, str], type[IntEnum]] = {
    ("jobs", "outcome"): Outcome,
    ("attempts", "outcome"): Outcome,
    ("attempts", "cause"): Cause,
}
"""(table, column) -> the enumeration whose values it holds."""


def validate(tables: Mapping[str, Table]) -> None:
    """Raise TraceError naming table, row, column and expectation unless all tables are sound."""
    for name, table in tables.items():
        _check_columns(name, table)
    for (name, key), least in AT_LEAST.items():
        values = column(tables[name], key, missing=least)
        _reject(name, key, values < least, values, f"at least {least}")
    for name, key in TIMES:
        values = column(tables[name], key, missing=0)
        _reject(name, key, values > LATEST, values, f"at most {LATEST} ms")
    for (name, key), codes in CODES.items():
        values = column(tables[name], key, missing=0)
        expected = "one of " + ", ".join(f"{code.value} ({code.name})" for code in codes)
        _reject(name, key, (values < 0) | (values >= len(codes)), values, expected)
    for (name, key), target in FOREIGN_KEYS.items():
        _check_reference(name, key, tables[name], target, tables[target].num_rows)
    _check_attempts(tables["attempts"])
    _check_every_task_has_attempts(tables["tasks"], tables["attempts"])
    _check_outages(tables["outages"])
    speed = column(tables["machines"], "speed")
    _reject("machines", "speed", ~(speed > 0), speed, "more than 0")


def _check_columns(name: str, table: Table) -> None:
    expected = SCHEMAS[name]
    if table.schema.names != expected.names:
        raise TraceError(f"table {name}: columns are {table.schema.names}, not {expected.names}")
    for field in expected:
        found = table.schema.field(field.name)
        if found.type != field.type:
            raise TraceError(
                f"table {name}: column {field.name!r} is {found.type}, expected {field.type}"
            )
        if not field.nullable and table.column(field.name).null_count:
            row = int(np.argmin(present(table, field.name)))
            raise TraceError(f"table {name}, row {row}: column {field.name!r} must not be missing")


def _check_reference(name: str, key: str, table: Table, target: str, rows: int) -> None:
    values, known = column(table, key), present(table, key)
    bad = known & ((values < 0) | (values >= rows))
    _reject(name, key, bad, values, f"a row of table {target} (0 to {rows - 1})")


def _check_attempts(table: Table) -> None:
    task, outcome, cause = column(table, "task"), column(table, "outcome"), column(table, "cause")
    queued, start, end = column(table, "queued"), column(table, "start"), column(table, "end")
    ran, ended, waited = (
        present(table, "start"),
        present(table, "end"),
        present(table, "queued"),
    )
    _reject("attempts", "end", ran & ended & (end < start), end, "no earlier than the start")
    _reject("attempts", "end", waited & ended & (end < queued), end, "no earlier than queued")
    _reject(
        "attempts", "queued", waited & ran & (queued > start), queued, "no later than the start"
    )
    unsorted = np.zeros(len(task), dtype=np.bool_)
    unsorted[1:] = task[1:] < task[:-1]
    _reject("attempts", "task", unsorted, task, "attempts in order of their task")
    rows = np.flatnonzero(ran)
    late = np.zeros(len(task), dtype=np.bool_)
    late[rows[1:]] = (task[rows[1:]] == task[rows[:-1]]) & (start[rows[1:]] < start[rows[:-1]])
    _reject("attempts", "start", late, start, "no earlier than the task's previous start")
    known = present(table, "cause")
    causeless = (outcome == Outcome.FINISH) | (outcome == Outcome.CENSORED)
    _reject("attempts", "cause", causeless & known, cause, "none for FINISH and CENSORED")
    needed = ~causeless & (outcome != Outcome.LOST)
    _reject("attempts", "cause", needed & ~known, cause, "a cause for FAIL, KILL and EVICT")
    _reject("attempts", "start", (outcome == Outcome.FINISH) & ~ran, start, "a start for FINISH")
    _reject("attempts", "end", ~ended, end, "a time: the end of the data if nothing else is known")
    by_user = known & (cause == Cause.USER) & (outcome != Outcome.KILL)
    _reject("attempts", "cause", by_user, cause, "cause USER for KILL only")
    length, given = column(table, "length"), present(table, "length") & ran
    short = given & (length < end - start)
    _reject("attempts", "length", short, length, "at least end - start")
    off = given & (outcome == Outcome.FINISH) & (length != end - start)
    _reject("attempts", "length", off, length, "end - start for FINISH")


def _check_every_task_has_attempts(tasks: Table, attempts: Table) -> None:
    counts = np.bincount(column(attempts, "task"), minlength=tasks.num_rows)
    index = column(tasks, "index")
    _reject("tasks", "index", counts[: tasks.num_rows] == 0, index, "a task with attempts")


def _check_outages(table: Table) -> None:
    down, up = column(table, "down"), column(table, "up")
    early = present(table, "up") & (up < down)
    _reject("outages", "up", early, up, "no earlier than down")


def _reject(name: str, key: str, bad: Flags, values: npt.NDArray[Any], expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise TraceError(
            f"table {name}, row {row}: column {key!r} is {values[row]}, expected {expected}"
        )
