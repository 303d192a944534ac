"""What a picture shows of a timeline: which rows, and which stretch of time.

Tasks that are served one after the other each begin at the left, at their submission. Where tasks
share a clock, time is that of the cluster, and a row is a machine or, without machines or with too
many of them, a task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from failgym.envs.rendering.timeline import Attempt, Mark, Outage, TaskLine, Timeline
from failgym.vocabulary import DAY, HOUR, MINUTE, SECOND, Action, Decision

__all__ = ["Row", "View", "clock", "duration", "view_of"]

MOST_MACHINES = 96
"""More are not shown one by one."""
MOST_ATTEMPTS = 400
"""Attempts that a window of time on a shared clock begins with, about."""
_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"), (1, "ms"))
_STEPS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(n * SECOND for n in (1, 2, 5, 10, 20, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 20, 30)),
    *(n * HOUR for n in (1, 2, 4, 6, 12)),
    *(n * DAY for n in (1, 2, 4, 7, 14, 28, 56, 112, 364)),
)
"""Distances of the marks of a time axis [ms]."""
TICKS = 6
"""Distances that a window of time spans at least half of and at most all."""


@dataclass
class Row:
    """A row: what happened to a task, or on a machine."""

    label: str
    offset: int
    """The time that the left edge of the row's own clock stands for [ms]."""
    attempts: list[tuple[Attempt, int]] = field(default_factory=list[tuple[Attempt, int]])
    """with the lane of each"""
    marks: list[tuple[Mark, int]] = field(default_factory=list[tuple[Mark, int]])
    outages: list[Outage] = field(default_factory=list[Outage])
    lanes: int = 1
    task: TaskLine | None = None
    current: bool = False
    """Is the open decision about it?"""
    now: int = 0
    """Up to when it is known [ms]."""


@dataclass(frozen=True)
class View:
    """Rows, and the window of time that they are seen through."""

    rows: list[Row]
    begin: int
    """[ms], less the offset of the row"""
    end: int
    step: int
    """Distance of the marks of the time axis [ms]."""
    relative: bool
    """Does each row have a clock of its own, from its submission?"""

    @property
    def ticks(self) -> list[tuple[int, str]]:
        """Times to be marked on the axis, with what to write there."""
        times = range(self.begin, self.end + 1, self.step)
        return [(t, duration(t) if self.relative else clock(t, self.step)) for t in times]


def view_of(timeline: Timeline, *, relative: bool, machines: int, most_rows: int) -> View:
    """The present view of a timeline.

    Args:
        timeline: what has happened.
        relative: are its tasks served one after the other?
        machines: of the cluster, 0 where there is none.
        most_rows: rows that there is room for.
    """
    if relative:
        return _one_by_one(timeline, most_rows)
    begin, end, step = _window(timeline)
    if 0 < machines <= MOST_MACHINES:
        rows = _machines(timeline, machines, begin)
    else:
        rows = _tasks(timeline, begin, most_rows)
    return View(rows, begin, end, step, relative=False)


def duration(time: int) -> str:
    """A time in words: exact in two units if they suffice, else to three figures."""
    for k, (unit, name) in enumerate(_UNITS):
        if abs(time) >= unit:
            whole, rest = divmod(time, unit)
            smaller, its_name = _UNITS[min(k + 1, len(_UNITS) - 1)]
            if rest == 0:
                return f"{whole} {name}"
            if rest % smaller == 0:
                return f"{whole} {name} {rest // smaller} {its_name}"
            return f"{time / unit:.3g} {name}"
    return "0"


def clock(time: int, step: int) -> str:
    """A time of a shared clock, as exact as a distance of marks asks for."""
    day, rest = divmod(time, DAY)
    if step >= DAY:
        return f"day {day}"
    hour, rest = divmod(rest, HOUR)
    minute, rest = divmod(rest, MINUTE)
    text = f"day {day} {hour:02}:{minute:02}"
    if step < MINUTE:
        text += f":{rest // SECOND:02}"
    return text if step >= SECOND else f"{text}.{rest % SECOND:03}"


def _step(span: int) -> int:
    """A distance of marks for a window of time."""
    return next((step for step in _STEPS if step * TICKS >= span), math.ceil(span / TICKS))


# --- Rows of tasks --------------------------------------------------------------------------------


def _row_of(line: TaskLine, timeline: Timeline, offset: int) -> Row:
    row = Row(f"task {line.task}", offset, task=line, now=timeline.now)
    row.attempts = [(attempt, attempt.lane) for attempt in line.attempts]
    row.lanes = 1 + max((attempt.lane for attempt in line.attempts), default=0)
    row.current = line.task == timeline.serving
    return row


def _add_marks(rows: list[Row], timeline: Timeline, begin: int) -> None:
    """Put the decisions since a time, from the latest back, on the rows of their tasks."""
    of = {row.task.task: row for row in rows if row.task is not None}
    lanes = {(attempt.task, attempt.number): lane for row in rows for attempt, lane in row.attempts}
    for mark in reversed(timeline.marks):
        if mark.time < begin:
            return
        row = of.get(mark.task)
        if row is not None:
            row.marks.append((mark, lanes.get((mark.task, mark.number), 0)))


def _one_by_one(timeline: Timeline, most_rows: int) -> View:
    """The task that is served, and those before it, each from its submission."""
    lines = [line for line in timeline.tasks.values() if line.attempts]
    shown = lines[-most_rows:]
    rows = [_row_of(line, timeline, line.submit) for line in shown]
    spans = sorted(_span(row) for row in rows)
    current = spans[:0] if not rows else [_span(rows[-1])]
    usual = spans[3 * len(spans) // 4] if spans else 1
    step = _step(max([usual, 1, *current]))
    first = min((line.submit for line in shown), default=0)
    _add_marks(rows, timeline, first)
    return View(rows, 0, step * TICKS, step, relative=True)


def _span(row: Row) -> int:
    """From the submission of a task to the last that is known of it [ms]."""
    line = row.task
    ends = [attempt.until(row.now) for attempt, _ in row.attempts]
    if line is not None and line.settled is not None:
        ends.append(line.settled)
    elif row.current:
        ends.append(row.now)
    return max(ends, default=row.offset) - row.offset


def _window(timeline: Timeline) -> tuple[int, int, int]:
    """The window of time that the latest attempts lie in: begin, end, distance of marks."""
    recent = timeline.attempts[-MOST_ATTEMPTS:]
    earliest = min((attempt.start for attempt in recent), default=timeline.now)
    step = _step(max(timeline.now - earliest, 1) * (TICKS + 1) // TICKS)
    begin = earliest - earliest % step
    return begin, begin + step * TICKS, step


def _tasks(timeline: Timeline, begin: int, most_rows: int) -> list[Row]:
    """Tasks on a shared clock: those that something happened to last."""

    def latest(line: TaskLine) -> int:
        return max(attempt.until(timeline.now) for attempt in line.attempts)

    lines = [line for line in timeline.tasks.values() if line.attempts]
    lines = [line for line in lines if latest(line) >= begin]
    chosen = sorted(lines, key=lambda line: (line.own, latest(line)))[-most_rows:]
    kept = {line.task for line in chosen}
    rows = [_row_of(line, timeline, 0) for line in lines if line.task in kept]
    _add_marks(rows, timeline, begin)
    return rows


# --- Rows of machines -----------------------------------------------------------------------------


def _machines(timeline: Timeline, machines: int, begin: int) -> list[Row]:
    rows = [Row(f"machine {machine}", 0, now=timeline.now) for machine in range(machines)]
    places: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for attempt in timeline.attempts:
        vacated = attempt.vacated
        on = list(zip(attempt.machines, attempt.lanes, strict=True))
        places[attempt.task, attempt.number] = on
        for machine, lane in on:
            row = rows[machine]
            row.lanes = max(row.lanes, lane + 1)
            if vacated is None or vacated >= begin:
                row.attempts.append((attempt, lane))
    for outage in timeline.outages:
        if outage.up is None or outage.up >= begin:
            rows[outage.machine].outages.append(outage)
    for mark in timeline.marks:
        if mark.time >= begin and mark.action is not Action.CONTINUE:
            if mark.decision is Decision.DISPATCH:
                rows[mark.machine].marks.append((mark, 0))
            for machine, lane in places.get((mark.task, mark.number), [])[:1]:
                rows[machine].marks.append((mark, lane))
    lanes = max(row.lanes for row in rows)
    for row in rows:
        row.lanes = lanes
    return [row for row in rows if row.attempts or not _absent(row, begin)] or rows[:1]


def _absent(row: Row, begin: int) -> bool:
    """Has the machine been down all the time, as those are that a job does not have?"""
    return any(outage.up is None and outage.down < begin for outage in row.outages)
