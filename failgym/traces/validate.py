"""What every trace must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import FOREIGN_KEYS, LATEST, SCHEMAS, Table, TraceError, column, present
from failgym.traces.totals import RunningTotals, check_totals
from failgym.vocabulary import Cause, Outcome

Flags = npt.NDArray[np.bool_]

AT_LEAST: dict[tuple[str, str], int] = {
    ("jobs", "submit"): 0,
    ("jobs", "width"): 1,
    ("jobs", "walltime"): 0,
    ("tasks", "index"): 0,
    ("tasks", "width"): 1,
    ("tasks", "output_bytes"): 0,
    ("tasks", "gpu"): 0,
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

MOST_GPUS = 2**20
"""More graphics processors than a task can request."""

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


def validate(tables: Mapping[str, Table], end: int | None = None) -> None:
    """Raise TraceError naming table, row, column and expectation unless all tables are sound.

    `end` is the end of the data [ms], where it is stated.
    """
    validator = Validator({name: table.num_rows for name, table in tables.items()})
    for name, table in tables.items():
        validator.check(name, table)
    validator.finish_rows()
    check_totals(tables, end)


class Validator:
    """Checks a trace whose tables come piece by piece, in any order among them.

    `rows` is how many rows the tables will have to which others refer (0 for one left out).
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self._expected = rows
        self._checked = dict.fromkeys(SCHEMAS, 0)
        self._last_task = -1  # of the attempts so far
        self._last_run = (-1, 0)  # task and start of the latest attempt that ran
        self._totals = RunningTotals()

    def check(self, name: str, table: Table) -> None:
        """Check the next rows of a table. Raises TraceError."""
        _check_columns(name, table, self._checked[name])
        rows = _Rows(name, table, self._checked[name])
        rows.check_numbers()
        for (holder, key), target in FOREIGN_KEYS.items():
            if holder == name:
                rows.check_reference(key, target, self._expected.get(target, 0))
        if name == "attempts":
            rows.check_attempt_times()
            self._check_order(rows)
            rows.check_attempt_ends()
        elif name == "outages":
            rows.check_outages()
        elif name == "machines":
            speed = rows.column("speed")
            rows.reject("speed", ~(speed > 0), speed, "more than 0")
        self._totals.add(name, table)
        self._checked[name] += table.num_rows

    def finish(self) -> None:
        """Check what shows only at the end. Raises TraceError."""
        self.finish_rows()
        self._totals.check()

    def finish_rows(self) -> None:
        """`finish`, but for the totals. Raises TraceError."""
        for name, rows in self._expected.items():
            if self._checked[name] != rows:
                raise TraceError(f"table {name}: {self._checked[name]} rows, expected {rows}")
        self._check_next_task(self._expected.get("tasks", 0))

    def _check_order(self, rows: _Rows) -> None:
        """Attempts come in order of their task, leave out none, and start one after another."""
        task, start = rows.column("task"), rows.column("start")
        if not len(task):
            return
        before = np.concatenate([[self._last_task], task[:-1]])
        rows.reject("task", task < before, task, "attempts in order of their task")
        skipped = np.flatnonzero(task > before + 1)
        if len(skipped):
            self._last_task = int(before[skipped[0]])
            self._check_next_task(int(task[skipped[0]]))
        self._last_task = int(task[-1])
        ran = np.flatnonzero(rows.present("start"))
        if not len(ran):
            return
        before_task = np.concatenate([[self._last_run[0]], task[ran[:-1]]])
        before_start = np.concatenate([[self._last_run[1]], start[ran[:-1]]])
        late = np.zeros(len(task), dtype=np.bool_)
        late[ran] = (task[ran] == before_task) & (start[ran] < before_start)
        rows.reject("start", late, start, "no earlier than the task's previous start")
        self._last_run = (int(task[ran[-1]]), int(start[ran[-1]]))

    def _check_next_task(self, task: int) -> None:
        if task > self._last_task + 1:
            raise TraceError(
                f"table tasks, row {self._last_task + 1}: expected a task with attempts"
            )


@dataclass(frozen=True)
class _Rows:
    """Consecutive rows of a table; `first` is the number of the first."""

    name: str
    table: Table
    first: int

    def column(self, key: str, missing: int | None = None) -> npt.NDArray[Any]:
        return column(self.table, key, missing=missing)

    def present(self, key: str) -> Flags:
        return present(self.table, key)

    def reject(self, key: str, bad: Flags, values: npt.NDArray[Any], expected: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            raise TraceError(
                f"table {self.name}, row {self.first + row}: column {key!r} is {values[row]},"
                f" expected {expected}"
            )

    def check_numbers(self) -> None:
        """Least and largest values, and codes."""
        for (name, key), least in AT_LEAST.items():
            if name == self.name:
                values = self.column(key, least)
                self.reject(key, values < least, values, f"at least {least}")
        if self.name == "tasks":
            gpus = self.column("gpu", 0)
            self.reject("gpu", gpus > MOST_GPUS, gpus, f"at most {MOST_GPUS}")
        for name, key in TIMES:
            if name == self.name:
                values = self.column(key, 0)
                self.reject(key, values > LATEST, values, f"at most {LATEST} ms")
        for (name, key), codes in CODES.items():
            if name == self.name:
                values = self.column(key, 0)
                expected = "one of " + ", ".join(f"{code.value} ({code.name})" for code in codes)
                self.reject(key, (values < 0) | (values >= len(codes)), values, expected)

    def check_reference(self, key: str, target: str, rows: int) -> None:
        """A foreign key holds rows of its target."""
        values, known = self.column(key), self.present(key)
        bad = known & ((values < 0) | (values >= rows))
        self.reject(key, bad, values, f"a row of table {target} (0 to {rows - 1})")

    def check_attempt_times(self) -> None:
        """Queued, start and end of an attempt come one after another."""
        queued, start, end = self.column("queued"), self.column("start"), self.column("end")
        ran, ended, waited = self.present("start"), self.present("end"), self.present("queued")
        self.reject("end", ran & ended & (end < start), end, "no earlier than the start")
        self.reject("end", waited & ended & (end < queued), end, "no earlier than queued")
        self.reject("queued", waited & ran & (queued > start), queued, "no later than the start")

    def check_attempt_ends(self) -> None:
        """How an attempt ended, why, and how long it would have been."""
        outcome, cause = self.column("outcome"), self.column("cause")
        start, end, ran = self.column("start"), self.column("end"), self.present("start")
        known = self.present("cause")
        causeless = (outcome == Outcome.FINISH) | (outcome == Outcome.CENSORED)
        self.reject("cause", causeless & known, cause, "none for FINISH and CENSORED")
        needed = ~causeless & (outcome != Outcome.LOST)
        self.reject("cause", needed & ~known, cause, "a cause for FAIL, KILL and EVICT")
        self.reject("start", (outcome == Outcome.FINISH) & ~ran, start, "a start for FINISH")
        self.reject(
            "end", ~self.present("end"), end, "a time: the end of the data if nothing else is known"
        )
        by_user = known & (cause == Cause.USER) & (outcome != Outcome.KILL)
        self.reject("cause", by_user, cause, "cause USER for KILL only")
        length, given = self.column("length"), self.present("length") & ran
        self.reject("length", given & (length < end - start), length, "at least end - start")
        off = given & (outcome == Outcome.FINISH) & (length != end - start)
        self.reject("length", off, length, "end - start for FINISH")

    def check_outages(self) -> None:
        """No outage ends before it begins."""
        down, up = self.column("down"), self.column("up")
        self.reject("up", self.present("up") & (up < down), up, "no earlier than down")


def _check_columns(name: str, table: Table, first: int) -> None:
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
            row = first + int(np.argmin(present(table, field.name)))
            raise TraceError(f"table {name}, row {row}: column {field.name!r} must not be missing")
