"""Small traces of jobs, for tests of the laws that are counted from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from failgym.traces import Cause, Meta, Outcome, Trace

Row = tuple[int | None, int, str]
"""An attempt: start (None: it never ran), end, how it ended."""

ENDS: dict[str, tuple[Outcome, Cause | None]] = {
    "finish": (Outcome.FINISH, None),
    "fail": (Outcome.FAIL, Cause.INTRINSIC),
    "evict": (Outcome.EVICT, Cause.PREEMPTION),
    "kill": (Outcome.KILL, Cause.USER),
    "cut": (Outcome.CENSORED, None),
}


@dataclass(frozen=True)
class Job:
    """A job: of each task its attempts."""

    tasks: list[list[Row]]
    name: str = ""
    priority: int = 0
    submit: int = 1
    lengths: list[int] = field(default_factory=list[int])
    """of each task, of all its attempts; none is stated if left out"""


def trace_of(jobs: list[Job], end: int | None = None) -> Trace:
    """The trace of some jobs, in their order."""
    job = [number for number, one in enumerate(jobs) for _ in one.tasks]
    tasks = [task for one in jobs for task in one.tasks]
    lengths = [x for one in jobs for x in (one.lengths or [None] * len(one.tasks))]
    rows = [(number, *row) for number, task in enumerate(tasks) for row in task]
    return Trace.of(
        Meta("by hand", end=end),
        jobs={
            "original_id": [str(number) for number in range(len(jobs))],
            "submit": [one.submit for one in jobs],
            "width": [len(one.tasks) for one in jobs],
            "outcome": Outcome.FINISH,
            "name": [one.name or None for one in jobs],
            "priority": [one.priority for one in jobs],
        },
        tasks={
            "job": job,
            "index": [i for one in jobs for i in range(len(one.tasks))],
            "width": 1,
        },
        attempts={
            "task": [row[0] for row in rows],
            "start": [row[1] for row in rows],
            "end": [row[2] for row in rows],
            "outcome": [ENDS[row[3]][0] for row in rows],
            "cause": [ENDS[row[3]][1] for row in rows],
            "length": [lengths[row[0]] for row in rows],
        },
    )
