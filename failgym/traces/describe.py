"""The tables that characterise a trace: what happened, how long it took, how it went on.

The choice follows El-Sayed et al. (ICDCS 2017: success by past failures, their Fig. 6) and Rosà
et al. (IWQoS 2015: outcomes and the machine-time they cost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import TABLES
from failgym.traces.trace import Outcome, Trace

Cell: TypeAlias = str | int | float | None
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

QUANTILES = (10, 25, 50, 75, 90, 99)
"""Per cent."""

PAST_FAILURES = 3
"""Attempts with this many past failures, or more, share a row."""

_QUANTILE_COLUMNS = tuple(f"p{percent}" for percent in QUANTILES)


@dataclass(frozen=True)
class DescriptionTable:
    """A table to print: its key, its title, the headings, and the rows (a cell per heading).

    Cells in columns whose heading begins with "share" or "P(" are fractions of one.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def cell(self, row: str, column: str) -> Cell:
        """The cell in the row whose first cell is `row`. Raises KeyError if there is none."""
        for cells in self.rows:
            if cells[0] == row and column in self.columns:
                return cells[self.columns.index(column)]
        raise KeyError(f"table {self.name} has no cell {row!r}, {column!r}")


@dataclass(frozen=True)
class Description:
    """What `describe` says of a trace."""

    source: str
    content_hash: str
    tables: tuple[DescriptionTable, ...]

    def table(self, name: str) -> DescriptionTable:
        """The table of that name. Raises KeyError if there is none."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"no table {name!r}: there are {[table.name for table in self.tables]}")

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and strings: each table by name, its rows as objects."""
        return {
            "source": self.source,
            "content_hash": self.content_hash,
            "tables": {
                table.name: {
                    "title": table.title,
                    "columns": list(table.columns),
                    "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
                }
                for table in self.tables
            },
        }


def describe(trace: Trace) -> Description:
    """The tables that characterise `trace`; the trace itself is not changed.

    Run times, gaps and machine-time are of attempts that ran and whose end is known; those of
    CENSORED attempts are what was seen of them.
    """
    facts = _Facts(trace)
    tables = (
        _rows(trace),
        _counts("rows_read", "Rows read", "rows of", trace.meta.rows_read),
        _counts("dropped", "Rows dropped, by reason", "reason", trace.meta.dropped),
        _counts("noted", "Kept, and worth knowing", "what", trace.meta.noted),
        _outcomes("job_outcomes", "Jobs by outcome", "jobs", trace.column("jobs", "outcome")),
        _outcomes("task_outcomes", "Tasks by outcome", "tasks", trace.task_outcome),
        _attempt_outcomes(facts),
        _run_times(facts),
        _requeue_gaps(facts),
        _success_by_failures(facts),
        _tasks_per_job(facts),
        _machine_time(facts),
    )
    return Description(trace.meta.source, trace.content_hash, tables)


@dataclass(frozen=True)
class _Facts:
    """The columns that several tables need."""

    trace: Trace

    @cached_property
    def task(self) -> Ints:
        return self.trace.column("attempts", "task")

    @cached_property
    def outcome(self) -> npt.NDArray[np.int8]:
        return self.trace.column("attempts", "outcome")

    @cached_property
    def start(self) -> Ints:
        return self.trace.column("attempts", "start")

    @cached_property
    def end(self) -> Ints:
        return self.trace.column("attempts", "end")

    @cached_property
    def ran(self) -> Flags:
        return self.trace.present("attempts", "start")

    @cached_property
    def timed(self) -> Flags:
        return self.ran & self.trace.present("attempts", "end")

    @cached_property
    def past_failures(self) -> Ints:
        """FAILs among the earlier attempts of the same task, per attempt."""
        failed = (self.outcome == Outcome.FAIL).astype(np.int64)
        before = np.cumsum(failed) - failed
        first = self.trace.task_first[:-1]
        return before - before[first[self.task]] if len(failed) else failed


def _rows(trace: Trace) -> DescriptionTable:
    rows = tuple((name, trace.rows(name)) for name in TABLES)
    return DescriptionTable("rows", "Rows of the trace", ("table", "rows"), rows)


def _counts(name: str, title: str, heading: str, counts: Any) -> DescriptionTable:
    rows = tuple((reason, n) for reason, n in counts.items())
    return DescriptionTable(name, title, (heading, "count"), rows)


def _outcomes(name: str, title: str, what: str, outcome: npt.NDArray[Any]) -> DescriptionTable:
    counts = np.bincount(outcome, minlength=len(Outcome)).tolist()
    rows = tuple((o.name, counts[o], _ratio(counts[o], len(outcome))) for o in Outcome)
    return DescriptionTable(name, title, ("outcome", what, "share"), rows)


def _attempt_outcomes(facts: _Facts) -> DescriptionTable:
    every = np.bincount(facts.outcome, minlength=len(Outcome)).tolist()
    ran = np.bincount(facts.outcome[facts.ran], minlength=len(Outcome)).tolist()
    total = sum(ran)
    rows = tuple((o.name, every[o], ran[o], _ratio(ran[o], total)) for o in Outcome)
    columns = ("outcome", "attempts", "started", "share of started")
    return DescriptionTable("attempt_outcomes", "Attempts by outcome", columns, rows)


def _run_times(facts: _Facts) -> DescriptionTable:
    seconds = (facts.end - facts.start) / 1000
    rows = tuple(
        (outcome.name, *_quantiles(seconds[facts.timed & (facts.outcome == outcome)]))
        for outcome in Outcome
    )
    columns = ("outcome", "attempts", *_QUANTILE_COLUMNS)
    return DescriptionTable("run_times", "Run time of attempts, by outcome [s]", columns, rows)


def _requeue_gaps(facts: _Facts) -> DescriptionTable:
    """From the end of an attempt to the start of the next attempt of its task, if that started."""
    ended = facts.trace.present("attempts", "end")[:-1]
    same = facts.task[:-1] == facts.task[1:]
    before = np.flatnonzero(same & ended & facts.ran[1:])
    gap = np.maximum(facts.start[before + 1] - facts.end[before], 0) / 1000
    listed: list[tuple[Cell, ...]] = [("all", *_quantiles(gap))]
    for outcome in (Outcome.EVICT, Outcome.FAIL, Outcome.KILL, Outcome.LOST, Outcome.FINISH):
        listed.append((outcome.name, *_quantiles(gap[facts.outcome[before] == outcome])))
    columns = ("after", "restarts", *_QUANTILE_COLUMNS)
    title = "From an attempt's end to the start of the next [s]"
    return DescriptionTable("requeue_gaps", title, columns, tuple(listed))


def _success_by_failures(facts: _Facts) -> DescriptionTable:
    """El-Sayed et al., Fig. 6: attempts that end FINISH or FAIL, by past FAILs of their task."""
    decided = (facts.outcome == Outcome.FINISH) | (facts.outcome == Outcome.FAIL)
    finished = facts.outcome == Outcome.FINISH
    failures = np.minimum(facts.past_failures, PAST_FAILURES)
    width = facts.trace.column("jobs", "width")[facts.trace.column("tasks", "job")[facts.task]]
    groups = {"all": decided, "single": decided & (width == 1), "multi": decided & (width > 1)}
    rows: list[tuple[Cell, ...]] = []
    for k in range(PAST_FAILURES + 1):
        cells: list[Cell] = [f"{k}+" if k == PAST_FAILURES else f"{k}"]
        for group in groups.values():
            among = group & (failures == k)
            tried, won = int(among.sum()), int((among & finished).sum())
            cells += [tried, won, _ratio(won, tried)]
        rows.append(tuple(cells))
    columns = ["past failures"]
    for name in groups:
        columns += [f"{name}: attempts", f"{name}: FINISH", f"P(FINISH) {name}"]
    title = "Success by number of past failures (all, single-task and multi-task jobs)"
    return DescriptionTable("success_by_failures", title, tuple(columns), tuple(rows))


def _tasks_per_job(facts: _Facts) -> DescriptionTable:
    width = facts.trace.column("jobs", "width")
    single = int((width == 1).sum())
    quantiles = _quantiles(width)[1:]
    row = (len(width), single, _ratio(single, len(width)), *quantiles, int(width.max(initial=0)))
    columns = ("jobs", "single-task", "share single-task", *_QUANTILE_COLUMNS, "max")
    return DescriptionTable("tasks_per_job", "Tasks per job", columns, (row,))


def _machine_time(facts: _Facts) -> DescriptionTable:
    """Machine-time of all attempts of a task, by the task's outcome; a gang counts its slots."""
    trace = facts.trace
    slots = trace.column("tasks", "width")[facts.task].astype(np.int64)
    spent = np.where(facts.timed, facts.end - facts.start, 0) * slots
    by_task = trace.task_outcome[facts.task]
    times = [int(spent[by_task == outcome].sum()) for outcome in Outcome]
    total = sum(times)
    rows = [(o.name, times[o], times[o] / 3_600_000, _ratio(times[o], total)) for o in Outcome]
    rows.append(("all", total, total / 3_600_000, 1.0 if total else None))
    columns = ("task outcome", "machine-time [ms]", "machine-time [h]", "share")
    title = "Machine-time by the task's outcome"
    return DescriptionTable("machine_time", title, columns, tuple(rows))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _quantiles(values: npt.NDArray[Any]) -> Sequence[Cell]:
    """How many values there are, and their quantiles."""
    if not len(values):
        return (0, *(None for _ in QUANTILES))
    return (len(values), *np.percentile(values, QUANTILES).tolist())
