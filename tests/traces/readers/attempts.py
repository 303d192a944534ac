"""The attempts of a job as plain rows, for tests that say what each must be."""

from __future__ import annotations

from typing import Any

from failgym.traces import Cause, Outcome, Trace


def attempts_of(trace: Trace, job: str, index: int | None = None) -> list[tuple[Any, ...]]:
    """(queued, start, end, outcome, cause) of each attempt of a job, or a task; -1 if missing."""
    rows: list[tuple[Any, ...]] = []
    ids = trace.column("jobs", "original_id")[trace.column("tasks", "job")]
    numbers = trace.column("tasks", "index")
    times = [trace.column("attempts", name).tolist() for name in ("queued", "start", "end")]
    for row, task in enumerate(trace.column("attempts", "task").tolist()):
        if ids[task] == job and index in (None, numbers[task]):
            outcome = Outcome(trace.column("attempts", "outcome")[row]).name
            cause = int(trace.column("attempts", "cause")[row])
            name = Cause(cause).name if cause >= 0 else None
            rows.append((*(time[row] for time in times), outcome, name))
    return rows
