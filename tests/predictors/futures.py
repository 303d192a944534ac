"""Other futures of a trace: what was known at a time stays, and the rest happens otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.forecast import Forecast
from failgym.traces import Cause, Outcome, Trace
from failgym.traces.schema import TABLES, make_table
from failgym.vocabulary import MINUTE

FATES = (
    (Outcome.FINISH, None),
    (Outcome.FAIL, Cause.INTRINSIC),
    (Outcome.FAIL, Cause.MACHINE),
    (Outcome.EVICT, Cause.PREEMPTION),
    (Outcome.KILL, Cause.REQUEUE),
    (Outcome.CENSORED, None),
)
LONGEST = 600 * MINUTE
"""Longest time that an attempt runs on, in another future [ms]."""
_KNOWN_AT_THE_END = ("length", "exit_code", "mean_cpu", "mean_memory", "max_memory")

Columns = dict[str, list[Any]]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Future:
    """A trace that is the same until a time, for its first jobs and tasks."""

    at: int
    trace: Trace
    jobs: int
    """Jobs submitted by then: the first rows."""
    tasks: int
    """Tasks submitted by then: the first rows."""
    attempts: npt.NDArray[np.int64]
    """Rows of the original of the attempts here."""


def another_future(trace: Trace, at: int, rng: np.random.Generator) -> Future:
    """What might have come after a time instead, nothing of it submitted after that time."""
    jobs = trace.column("jobs", "submit") <= at
    tasks = (trace.task_submit <= at) & jobs[trace.column("tasks", "job")]
    assert not np.any(np.diff(jobs.astype(int)) > 0), "jobs are not in order of submission"
    assert not np.any(np.diff(tasks.astype(int)) > 0), "tasks are not in order of submission"
    rows = _known_attempts(trace, tasks, at)
    place = np.full(trace.rows("attempts"), -1)
    place[rows] = np.arange(len(rows))
    attempts = _attempts(trace, rows, at, rng)
    task_count, job_count = int(tasks.sum()), int(jobs.sum())
    open_tasks = _open(trace, place, at, trace.column("attempts", "task"), trace.rows("tasks"))
    job_of = trace.column("tasks", "job")[trace.column("attempts", "task")]
    open_jobs = _open(trace, place, at, job_of, trace.rows("jobs"))
    made = {
        **_stages(trace, job_count),
        "jobs": _jobs(trace, job_count, open_jobs, _going_on(trace, rows, attempts, at), rng),
        "tasks": _tasks(trace, task_count, job_count, open_tasks, rng),
        "attempts": attempts,
        "windows": _windows(trace, place, attempts, at, rng),
        "placements": _placements(trace, place, at),
        "outages": _outages(trace, at),
    }
    kept = {name: trace.table(name) for name in ("machines",)}
    tables = {name: make_table(name, columns) for name, columns in made.items()}
    end = max([at + 1, *attempts["end"]])
    other = Trace(replace(trace.meta, end=end), **kept, **tables)
    assert {name for name in TABLES if trace.rows(name)} <= {*made, *kept}
    assert not len(rows) or other.sampling_window == trace.sampling_window
    return Future(at, other, job_count, task_count, rows)


def rested(trace: Trace, pause: int) -> Trace:
    """A trace in which each attempt after a task's first comes so much [ms] later than the last."""
    task = trace.column("attempts", "task")
    delay = pause * (np.arange(len(task)) - trace.task_first[task])
    tables = {name: trace.table(name) for name in TABLES if trace.rows(name)}
    columns = _lists(trace, "attempts", np.arange(len(task)))
    for name in ("queued", "start", "end"):
        columns[name] = [
            None if time is None else time + later
            for time, later in zip(columns[name], delay.tolist(), strict=True)
        ]
    tables["attempts"] = make_table("attempts", columns)
    return Trace(replace(trace.meta, end=max(columns["end"]) + 1), **tables)


def said_by(
    forecast: Forecast,
    trace: Trace,
    attempts: npt.NDArray[np.int64],
    tasks: int,
    jobs: int,
    at: int,
) -> tuple[npt.NDArray[Any], ...]:
    """What a forecast said until a time: risks of some attempts, of the first tasks and jobs."""
    start = trace.column("attempts", "start", missing=at + 1)
    risks: list[Any] = []
    for row in attempts.tolist():
        count = max((at - int(start[row])) // forecast.window + 1, 0)
        first, last = int(forecast.offset[row]), int(forecast.offset[row + 1])
        risks.append(forecast.risk[first : min(first + count, last)])
    lengths = np.array([len(risk) for risk in risks])
    return (
        lengths,
        np.concatenate([np.zeros(0, np.float32), *risks]),
        forecast.confidence[:tasks],
        forecast.job_confidence[:jobs],
    )


def _lists(trace: Trace, table: str, rows: Any) -> Columns:
    taken = trace.table(table).take(np.asarray(rows, dtype=np.int64))
    return {name: taken[name].to_pylist() for name in taken.schema.names}


def _known_attempts(trace: Trace, tasks: Flags, at: int) -> npt.NDArray[np.int64]:
    """Attempts of known tasks up to the last of each that was known, at least the first."""
    end = trace.column("attempts", "end")
    began = np.where(
        trace.present("attempts", "queued"),
        trace.column("attempts", "queued"),
        trace.column("attempts", "start", missing=-1),
    )
    began = np.where(began < 0, end, began)
    rows: list[int] = []
    for task in np.flatnonzero(tasks).tolist():
        first, last = int(trace.task_first[task]), int(trace.task_first[task + 1])
        known = np.flatnonzero(began[first:last] <= at)
        rows += range(first, first + 1 + int(known.max(initial=0)))
    return np.array(rows, dtype=np.int64)


def _attempts(trace: Trace, rows: Any, at: int, rng: np.random.Generator) -> Columns:
    columns = _lists(trace, "attempts", rows)
    for i, end in enumerate(columns["end"]):
        if end <= at:
            continue
        start = columns["start"][i]
        fates = FATES
        if start is None or start > at:  # it waits, perhaps for ever
            columns["start"][i], fates = None, FATES[3:]
        if columns["queued"][i] is not None and columns["queued"][i] > at:
            columns["queued"][i] = at + 1
        outcome, cause = fates[int(rng.integers(len(fates)))]
        columns["end"][i] = at + 1 + int(rng.integers(0, LONGEST))
        columns["outcome"][i] = int(outcome)
        columns["cause"][i] = None if cause is None else int(cause)
        for name in _KNOWN_AT_THE_END:
            columns[name][i] = None
    return columns


def _open(trace: Trace, place: Any, at: int, group: Any, groups: int) -> Flags:
    """Tasks or jobs of which something was still to come."""
    result = np.zeros(groups, dtype=np.bool_)
    result[group[(trace.column("attempts", "end") > at) | (place < 0)]] = True
    return result


def _going_on(trace: Trace, rows: Any, attempts: Columns, at: int) -> Flags:
    """Jobs of which an attempt ends after the time."""
    job = trace.column("tasks", "job")[trace.column("attempts", "task")[rows]]
    result = np.zeros(trace.rows("jobs"), dtype=np.bool_)
    result[job[np.array(attempts["end"], dtype=np.int64) > at]] = True
    return result


def _jobs(
    trace: Trace, count: int, still_open: Flags, going_on: Flags, rng: np.random.Generator
) -> Columns:
    """The first jobs; of those whose retries do not come any more, the end is never known."""
    columns = _lists(trace, "jobs", np.arange(count))
    for job in np.flatnonzero(still_open[:count]).tolist():
        drawn = Outcome(int(rng.integers(len(Outcome))))
        columns["outcome"][job] = int(drawn if going_on[job] else Outcome.CENSORED)
        columns["exit_category"][job] = None
    return columns


def _tasks(
    trace: Trace, count: int, jobs: int, still_open: Flags, rng: np.random.Generator
) -> Columns:
    columns = _lists(trace, "tasks", np.arange(count))
    _, place = _stage_rows(trace, jobs)
    columns["stage"] = [None if stage is None else int(place[stage]) for stage in columns["stage"]]
    for task in np.flatnonzero(still_open[:count]).tolist():
        if columns["output_bytes"][task] is not None:
            columns["output_bytes"][task] = int(rng.integers(0, 1 << 30))
    return columns


def _stage_rows(trace: Trace, jobs: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Stages of the first jobs, and the row that each stage has among them; -1 for the others."""
    rows = np.flatnonzero(trace.column("stages", "job") < jobs)
    place = np.full(trace.rows("stages"), -1)
    place[rows] = np.arange(len(rows))
    return rows, place


def _stages(trace: Trace, jobs: int) -> dict[str, Columns]:
    """The workflows of the first jobs, known when these are submitted."""
    rows, place = _stage_rows(trace, jobs)
    edges = np.flatnonzero(place[trace.column("stage_edges", "child")] >= 0)
    kept = _lists(trace, "stage_edges", edges)
    for name in ("parent", "child"):
        kept[name] = place[trace.column("stage_edges", name)[edges]].tolist()
    return {"stages": _lists(trace, "stages", rows), "stage_edges": kept}


def _windows(
    trace: Trace, place: Any, attempts: Columns, at: int, rng: np.random.Generator
) -> Columns:
    """What was measured by then; half of what was not is measured as something else."""
    holder, offset = trace.column("windows", "attempt"), trace.column("windows", "offset")
    start, end = trace.column("attempts", "start"), trace.column("attempts", "end")
    over = np.minimum(start[holder] + offset + (trace.sampling_window or 0), end[holder])
    known = over <= at
    other = ~known & (place[holder] >= 0) & (rng.random(len(holder)) < 0.5)
    other[other] &= start[holder[other]] <= at
    rows = np.flatnonzero((known & (place[holder] >= 0)) | other)
    columns = _lists(trace, "windows", rows)
    columns["attempt"] = place[holder[rows]].tolist()
    for name in ("cpu", "memory", "local_io", "remote_io", "network", "max_memory"):
        drawn = rng.random(len(rows)).tolist()
        was, changed = columns[name], other[rows].tolist()
        columns[name] = [
            d if c and w is not None else w for d, c, w in zip(drawn, changed, was, strict=True)
        ]
    return columns


def _placements(trace: Trace, place: Any, at: int) -> Columns:
    holder = trace.column("placements", "attempt")
    started = trace.column("attempts", "start", missing=at + 1)[holder] <= at
    rows = np.flatnonzero(started & (place[holder] >= 0))
    return {**_lists(trace, "placements", rows), "attempt": place[holder[rows]].tolist()}


def _outages(trace: Trace, at: int) -> Columns:
    columns = _lists(trace, "outages", np.flatnonzero(trace.column("outages", "down") <= at))
    columns["up"] = [up if up is not None and up <= at else None for up in columns["up"]]
    return columns
