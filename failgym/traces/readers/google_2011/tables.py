"""From the runs of Google's tasks and attempts to the tables of a trace, range by range.

Tasks are ordered by when they are first heard of; so a range of that time holds consecutive rows
of the tasks and of the attempts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2011.events import Tasks
from failgym.traces.readers.google_2011.jobs import Columns, Jobs, known
from failgym.traces.readers.google_2011.kernel import ATTEMPT, TASK
from failgym.traces.readers.google_2011.machines import Machines
from failgym.traces.readers.google_2011.records import Records, chosen_records
from failgym.traces.readers.google_2011.runs import Run, Spill, gather, ranges

Ints = npt.NDArray[np.int64]

STARTED = np.dtype(
    [
        ("start", np.int64),  # [ms]
        ("end", np.int64),  # [ms]
        ("job", np.int64),  # original id
        ("index", np.int64),
        ("attempt", np.int64),  # row
    ]
)
"""An attempt that ran, as usage records refer to it."""


def make_tables(
    tasks: Tasks, jobs: Jobs, machines: Machines, spill: Spill, started: list[Run] | None
) -> Iterator[tuple[str, Columns]]:
    """The columns of tasks, attempts and placements, piece by piece, rows in order.

    Runs of the attempts that ran (STARTED, keyed by start) are added to `started`, if it is given.
    """
    machine_ids = np.union1d(machines.ids, tasks.machines)
    first_task, first_attempt = 0, 0
    for low, high in _whole_milliseconds(tasks):
        rows = gather(tasks.tasks, TASK, "first", low, high)
        attempts = gather(tasks.attempts, ATTEMPT, "first", low, high)
        if not len(rows):
            continue
        rows["first"] //= 1000
        job = jobs.row[np.searchsorted(jobs.ids, rows["job"])]
        order = np.lexsort((rows["uid"], rows["index"], job, rows["first"]))
        rows, job = chosen_records(rows, order), job[order]
        by_uid = np.argsort(rows["uid"])
        task = by_uid[np.searchsorted(rows["uid"], attempts["uid"], sorter=by_uid)]
        order = np.argsort(task, kind="stable")
        attempts, task = chosen_records(attempts, order), task[order]
        for name in ("queued", "start", "end"):
            attempts[name] //= 1000  # floored; -1 stays -1
        if started is not None:
            run = _started(rows, attempts, task, first_attempt)
            started.append(spill.write(f"started-{len(started):05}", run, run["start"]))
        yield "tasks", _tasks(rows, job)
        yield "attempts", _attempts(attempts, first_task + task, machines.causes(attempts))
        yield "placements", _placements(attempts, machine_ids, first_attempt)
        first_task += len(rows)
        first_attempt += len(attempts)


def _whole_milliseconds(tasks: Tasks) -> Iterator[tuple[int, int]]:
    """Ranges of the time when tasks are first heard of [us]; no millisecond is parted."""
    for low, high in ranges([*tasks.tasks, *tasks.attempts]):
        yield low // 1000 * 1000, high // 1000 * 1000


def _tasks(rows: Records, job: Ints) -> Columns:
    restriction = rows["anti_affinity"]
    return {
        "job": job,
        "index": rows["index"],
        "width": np.ones(len(rows), dtype=np.int32),
        "cpu": rows["cpu"],
        "memory": rows["memory"],
        "disk": rows["disk"],
        "anti_affinity": np.ma.MaskedArray(restriction > 0, mask=restriction < 0),
    }


def _attempts(attempts: Records, task: Ints, cause: npt.NDArray[np.int8]) -> Columns:
    return {
        "task": task,
        "queued": known(attempts["queued"]),
        "start": known(attempts["start"]),
        "end": attempts["end"],
        "outcome": attempts["outcome"],
        "cause": known(cause),
    }


def _placements(attempts: Records, machine_ids: Ints, first_attempt: int) -> Columns:
    ran = np.flatnonzero((attempts["start"] >= 0) & (attempts["machine"] >= 0))
    return {
        "attempt": first_attempt + ran,
        "machine": np.searchsorted(machine_ids, attempts["machine"][ran]),
        "slots": np.ones(len(ran), dtype=np.int32),
    }


def _started(rows: Records, attempts: Records, task: Ints, first_attempt: int) -> Records:
    ran = np.flatnonzero(attempts["start"] >= 0)
    started: npt.NDArray[Any] = np.empty(len(ran), dtype=STARTED)
    started["start"], started["end"] = attempts["start"][ran], attempts["end"][ran]
    started["job"], started["index"] = rows["job"][task[ran]], rows["index"][task[ran]]
    started["attempt"] = first_attempt + ran
    return chosen_records(started, np.argsort(started["start"], kind="stable"))
