"""What a trace says about a task, as plain Python objects (rules 4, 6, 8, 9, 10 of the package)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.rules import Rules
from failgym.sim.shared.totals import LONGEST_LENGTH
from failgym.traces import Trace
from failgym.vocabulary import Cause, Ending, Outcome

__all__ = ["Row", "TaskRecord", "read_records", "round_half_up"]

SMALLEST_SHARE = 2.0**-20
"""Least share of its work after which an attempt may be struck: bounds L at about a million d."""


@dataclass(frozen=True)
class Row:
    """One started row of a task's record."""

    number: int
    """Position among all rows of the task, never-started ones included."""
    attempt: int
    """Row of the trace's table of attempts: where forecast and usage are kept."""
    start: int
    end: int
    outcome: Outcome
    ending: Ending
    length: int
    """L [ms]"""
    share: float
    """u: the share of L after which the end came; 1 for FINISH."""
    gap: int
    """From the end to the start of the next started row, at least 0 [ms]."""
    stated: int | None = None
    """The length that the trace states; None if it states none [ms]."""

    @property
    def duration(self) -> int:
        """Recorded duration d [ms]."""
        return self.end - self.start


@dataclass(frozen=True)
class Pending:
    """The never-started row of a record that ends last."""

    number: int
    end: int
    outcome: Outcome
    is_user_kill: bool
    """The user's kill at K is what ends it."""


@dataclass(frozen=True)
class TaskRecord:
    """One task as recorded."""

    task: int
    """Trace row."""
    job: int
    width: int
    """Slots; multiplies all machine-time."""
    submit: int
    rows: tuple[Row, ...]
    """The started rows, in row order."""
    row_count: int
    """All rows, never-started ones included: the number of the first ghost."""
    pending: Pending | None
    user_kill: int | None
    """K [ms]"""
    censored: bool
    end: int
    outcome: Outcome
    success: Row | None
    """The row that FINISHes first, by (end, number)."""
    fail_ends: tuple[int, ...]
    """Ends of all rows that FAILed."""
    grace: int
    """Grace period [ms]"""


@dataclass(frozen=True)
class _RawRow:
    """One row of the trace's table of attempts; None where it says nothing."""

    number: int
    attempt: int
    queued: int | None
    start: int | None
    end: int | None
    outcome: Outcome
    cause: Cause | None
    length: int | None


@dataclass
class _Columns:
    """The columns that are read, as Python lists."""

    trace: Trace
    values: dict[tuple[str, str], list[int | None]] = field(
        default_factory=dict[tuple[str, str], "list[int | None]"]
    )

    def get(self, table: str, column: str, row: int) -> int | None:
        """One value, None if it is missing."""
        key = (table, column)
        if key not in self.values:
            numbers = self.trace.column(table, column, missing=0)
            known = self.trace.present(table, column)
            self.values[key] = [
                int(x) if here else None for x, here in zip(numbers, known, strict=True)
            ]
        return self.values[key][row]

    def need(self, table: str, column: str, row: int) -> int:
        """One value that cannot be missing."""
        value = self.get(table, column, row)
        if value is None:
            raise ValueError(f"table {table}, row {row}: the simulation needs {column!r}")
        return value


def round_half_up(x: float) -> int:
    """The nearest integer, halves upwards."""
    return math.floor(x + 0.5)


def read_records(trace: Trace, rules: Rules, forecast: Forecast, seed: int) -> list[TaskRecord]:
    """Every task of the trace, in trace order.

    Raises ValueError if an attempt started and its end is unknown.
    """
    columns = _Columns(trace)
    rows: list[list[_RawRow]] = [[] for _ in range(trace.rows("tasks"))]
    for attempt in range(trace.rows("attempts")):
        task = columns.need("attempts", "task", attempt)
        rows[task].append(_raw_row(columns, attempt, len(rows[task])))
    return [_record(columns, task, rows[task], rules, forecast, seed) for task in range(len(rows))]


def _raw_row(columns: _Columns, attempt: int, number: int) -> _RawRow:
    cause = columns.get("attempts", "cause", attempt)
    start = columns.get("attempts", "start", attempt)
    if start is not None:
        columns.need("attempts", "end", attempt)
    return _RawRow(
        number=number,
        attempt=attempt,
        queued=columns.get("attempts", "queued", attempt),
        start=start,
        end=columns.get("attempts", "end", attempt),
        outcome=Outcome(columns.need("attempts", "outcome", attempt)),
        cause=None if cause is None else Cause(cause),
        length=columns.get("attempts", "length", attempt),
    )


def _record(
    columns: _Columns, task: int, raw: list[_RawRow], rules: Rules, forecast: Forecast, seed: int
) -> TaskRecord:
    job = columns.need("tasks", "job", task)
    submit = _submit(raw, columns.need("jobs", "submit", job))
    user_kill = _user_kill(raw)
    finishes = any(row.outcome == Outcome.FINISH for row in raw)
    censored = not finishes and any(row.outcome == Outcome.CENSORED for row in raw)
    rows = tuple(_started_rows(raw, task, user_kill, censored, seed))
    success = min(
        (row for row in rows if row.outcome == Outcome.FINISH),
        key=lambda row: (row.end, row.number),
        default=None,
    )
    end, outcome = _recorded_end(raw, success, censored, submit)
    return TaskRecord(
        task=task,
        job=job,
        width=columns.need("tasks", "width", task),
        submit=submit,
        rows=rows,
        row_count=len(raw),
        pending=_pending(raw, user_kill),
        user_kill=user_kill,
        censored=censored,
        end=end,
        outcome=outcome,
        success=success,
        fail_ends=tuple(
            row.end for row in raw if row.outcome == Outcome.FAIL and row.end is not None
        ),
        grace=_grace(rules, [float(x) for x in forecast.confidence[task]]),
    )


def _submit(raw: Sequence[_RawRow], job_submit: int) -> int:
    """When the first row was queued, else when it started, else when the job was submitted; but no
    later than any row started (rule 1).
    """
    heard = [time for row in raw[:1] for time in (row.queued, row.start) if time is not None]
    starts = [row.start for row in raw if row.start is not None]
    return min([heard[0] if heard else job_submit, *starts])


def _user_kill(raw: Sequence[_RawRow]) -> int | None:
    """K: the end of the row that ends last, if its cause is USER and none starts then (rule 9)."""
    ended = [(row.end, row.number) for row in raw if row.end is not None]
    if not ended:
        return None
    end, number = max(ended)
    last = raw[number]
    starts = any(row.start == end for row in raw)
    return end if last.cause == Cause.USER and not starts else None


def _pending(raw: Sequence[_RawRow], user_kill: int | None) -> Pending | None:
    """The never-started row that ends last, by (end, number)."""
    pending = [
        Pending(row.number, row.end, row.outcome, _is_user_kill(row, user_kill))
        for row in raw
        if row.start is None and row.end is not None
    ]
    return max(pending, key=lambda row: (row.end, row.number), default=None)


def _recorded_end(
    raw: Sequence[_RawRow], success: Row | None, censored: bool, submit: int
) -> tuple[int, Outcome]:
    """End and outcome of the task: its first success, else the row that ends last."""
    if success is not None:
        return success.end, Outcome.FINISH
    ended = [(row.end, row.number, row.outcome) for row in raw if row.end is not None]
    if not ended:
        return submit, Outcome.CENSORED
    end, _, outcome = max(ended)
    return end, Outcome.CENSORED if censored else outcome


def _started_rows(
    raw: Sequence[_RawRow], task: int, user_kill: int | None, censored: bool, seed: int
) -> Iterator[Row]:
    started = [row for row in raw if row.start is not None]
    for i, row in enumerate(started):
        assert row.start is not None
        assert row.end is not None
        following = started[i + 1].start if i + 1 < len(started) else None
        length, share = _length(row, task, row.end - row.start, seed)
        yield Row(
            number=row.number,
            attempt=row.attempt,
            start=row.start,
            end=row.end,
            outcome=row.outcome,
            ending=_ending(row, user_kill, censored),
            length=length,
            share=share,
            gap=0 if following is None else max(0, following - row.end),
            stated=row.length,
        )


def _is_user_kill(row: _RawRow, user_kill: int | None) -> bool:
    """Is it the user's kill that ends the row? A row that starts at K is not there to be killed."""
    return row.cause == Cause.USER and row.end == user_kill and row.start != user_kill


def _ending(row: _RawRow, user_kill: int | None, censored: bool) -> Ending:
    """What ends the row (rules 4, 5, 9, 10)."""
    if row.outcome == Outcome.FINISH:
        return Ending.FINISH
    if row.outcome == Outcome.CENSORED and censored:
        return Ending.CENSORED
    if _is_user_kill(row, user_kill):
        return Ending.USER
    intrinsic = (Cause.INTRINSIC, Cause.DEPENDENCY, None)
    if row.outcome == Outcome.FAIL and row.cause in intrinsic:
        return Ending.INTRINSIC
    return Ending.EXTERNAL


def _length(row: _RawRow, task: int, duration: int, seed: int) -> tuple[int, float]:
    """L and u (rule 6)."""
    if row.length is not None:
        share = 1.0 if row.length == 0 else min(1.0, duration / row.length)
        return row.length, 1.0 if row.outcome == Outcome.FINISH else share
    if row.outcome == Outcome.FINISH:
        return duration, 1.0
    drawn = float(uniform(seed, task, row.number, Purpose.LENGTH)[()])
    share = max(SMALLEST_SHARE + (1.0 - SMALLEST_SHARE) * drawn, duration / LONGEST_LENGTH)
    return round_half_up(duration / share), share


def _grace(rules: Rules, confidence: Sequence[float]) -> int:
    """Weighted mean of the class grace periods (Rosà et al. 2015); confidences as in `Forecast`."""
    if not rules.grace:
        return 0
    periods = (rules.grace_evict, rules.grace_fail, rules.grace_kill)
    weights = confidence[1:]
    total = sum(weights)
    if total == 0.0:
        weights, total = [1.0, 1.0, 1.0], 3.0
    weighted = sum(c * period for c, period in zip(weights, periods, strict=True))
    return round_half_up(weighted / total)
