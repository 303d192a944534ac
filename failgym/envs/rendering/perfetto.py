"""Trace-event JSON, as Perfetto and chrome://tracing open it.

"Trace Event Format" (Google, 2016): times are in microseconds. A process is a machine or, without
machines, a task; its threads are lanes, since slices of a thread must not overlap. An attempt is a
slice, and what its time went to are slices within it, each with its account and machine-time.
Those of all tasks, each counted once, add up to the outcome table. Decisions, kills and settlements
are instants, outages are slices of a thread of their own, and the accounts are counters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from failgym.envs.rendering.palette import fate
from failgym.envs.rendering.phases import phases
from failgym.envs.rendering.timeline import (
    ACCOUNTS,
    Attempt,
    Kind,
    Mark,
    Timeline,
    outcome_name,
)
from failgym.vocabulary import HOUR

__all__ = ["trace_events"]

Json = dict[str, Any]
MICROSECONDS = 1_000
"""In a millisecond."""
DOWN, RUN = 0, 1
"""Threads of a machine or task: its outages and instants; from here on, its lanes."""
ACCOUNTS_PROCESS = 1
FIRST_PROCESS = 10
"""Number of the process of the first machine or task."""


def trace_events(timeline: Timeline, title: str, machines: int) -> Json:
    """The timeline as an object of the trace-event format.

    Args:
        timeline: what has happened.
        title: is shown with it.
        machines: of the cluster, 0 where there is none.
    """
    events = [*_names(timeline, machines)]
    for attempt in timeline.attempts:
        events += _attempt(attempt, timeline.now)
    for mark in timeline.marks:
        events.append(_mark(mark, timeline))
    for line in timeline.tasks.values():
        if line.settled is not None:
            place = line.attempts[-1] if line.attempts else None
            about = {"task": line.task, "outcome": outcome_name(line.outcome)}
            events.append(_instant("settled", line.settled, _place(line.task, place), about))
    for outage in timeline.outages:
        end = timeline.now if outage.up is None else outage.up
        where = (FIRST_PROCESS + outage.machine, DOWN)
        events.append(_slice("machine down", "outage", outage.down, end, where, {}))
    events += _counters(timeline)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"title": title, "unit of machine_time": "machine-milliseconds"},
    }


# --- Processes and threads ------------------------------------------------------------------------


def _names(timeline: Timeline, machines: int) -> Iterator[Json]:
    """Names of the processes and threads, in the order that they are shown in."""
    about = {"name": "machine-time by account [h]"}
    yield _meta("process_name", ACCOUNTS_PROCESS, 0, about)
    keys = list(range(machines)) if machines else list(timeline.tasks)
    what = "machine" if machines else "task"
    for order, key in enumerate(keys):
        process = FIRST_PROCESS + key
        yield _meta("process_name", process, 0, {"name": f"{what} {key}"})
        yield _meta("process_sort_index", process, 0, {"sort_index": order})
    for process, thread in sorted({place for a in timeline.attempts for place in _places(a)}):
        yield _meta("thread_name", process, thread, {"name": f"lane {thread - RUN}"})


def _meta(name: str, process: int, thread: int, args: Json) -> Json:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": args}


def _places(attempt: Attempt) -> list[tuple[int, int]]:
    """(process, thread) of an attempt, one for each of its machines."""
    if not attempt.machines:
        return [(FIRST_PROCESS + attempt.task, RUN + attempt.lane)]
    lanes = zip(attempt.machines, attempt.lanes, strict=True)
    return [(FIRST_PROCESS + machine, RUN + lane) for machine, lane in lanes]


def _place(task: int, attempt: Attempt | None) -> tuple[int, int]:
    """Where something is shown that happens to a task."""
    if attempt is None:
        return ACCOUNTS_PROCESS, 0
    return (_places(attempt)[0][0], DOWN) if attempt.machines else (FIRST_PROCESS + task, DOWN)


# --- Slices, instants, counters -------------------------------------------------------------------


def _slice(
    name: str, category: str, start: int, end: int, place: tuple[int, int], args: Json
) -> Json:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": start * MICROSECONDS,
        "dur": (end - start) * MICROSECONDS,
        "pid": place[0],
        "tid": place[1],
        "args": args,
    }


def _instant(name: str, time: int, place: tuple[int, int], args: Json) -> Json:
    where = {"pid": place[0], "tid": place[1], "s": "t"}
    return {"ph": "i", "name": name, "cat": "decision", "ts": time * MICROSECONDS, **where} | {
        "args": args
    }


def _attempt(attempt: Attempt, now: int) -> Iterator[Json]:
    """An attempt and its phases; on further machines of a gang the attempt alone."""
    until = attempt.until(now)
    if attempt.write is not None:
        until = now if attempt.write.end is None else attempt.write.end
    ghost = "ghost " if attempt.ghost and attempt.kind is not Kind.RECOMPUTATION else ""
    name = f"task {attempt.task}, {ghost}{attempt.kind.value} {attempt.number}"
    about: Json = {"task": attempt.task, "attempt": attempt.number, "fate": fate(attempt)}
    about |= {"width": attempt.width, "queued_ms": _queued(attempt), "own": attempt.own}
    places = _places(attempt)
    for place in places:
        yield _slice(name, "attempt", attempt.start, until, place, about)
    for phase in phases(attempt, now):
        time = (phase.end - phase.start) * attempt.width
        args = {"task": attempt.task, "account": phase.account, "machine_time": time}
        yield _slice(phase.name, phase.account, phase.start, phase.end, places[0], args)


def _queued(attempt: Attempt) -> int:
    """How long it waited in the queue [ms]."""
    return 0 if attempt.queued is None else attempt.start - attempt.queued


def _mark(mark: Mark, timeline: Timeline) -> Json:
    found = [a for a in timeline.tasks[mark.task].attempts if a.start <= mark.time]
    found = [a for a in found if mark.number in (a.number, -1)] or found
    place = _place(mark.task, found[-1] if found else None)
    if mark.machine >= 0:
        place = (FIRST_PROCESS + mark.machine, DOWN)
    about = {"task": mark.task, "attempt": mark.number}
    if mark.decision is None:
        return _instant("killed", mark.time, place, about)
    about |= {"decision": mark.decision.name}
    return _instant(mark.action.name, mark.time, place, about)


def _counters(timeline: Timeline) -> Iterable[Json]:
    """Machine-time of ended phases by account, where time is shared, up to each end."""
    changes = sorted(
        (phase.end, phase.account, (phase.end - phase.start) * attempt.width)
        for attempt in timeline.attempts
        for phase in phases(attempt, timeline.now)
    )
    total: Counter[str] = Counter()
    for k, (time, account, amount) in enumerate(changes):
        total[account] += amount
        if k + 1 == len(changes) or changes[k + 1][0] > time:
            args = {name: total[name] / HOUR for name in ACCOUNTS if total[name]}
            where = {"pid": ACCOUNTS_PROCESS, "tid": 0}
            yield {"ph": "C", "name": "accounts", "ts": time * MICROSECONDS, **where, "args": args}
