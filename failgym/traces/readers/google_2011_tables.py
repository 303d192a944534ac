"""From what Google's events told of jobs, tasks and attempts to the tables of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2011_kernel import OUTCOMES, SUBMIT
from failgym.traces.readers.google_2011_machines import Machines
from failgym.traces.readers.google_2011_tasks import Finished
from failgym.traces.readers.parts import Counts
from failgym.traces.schema import Outcome

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]
Columns = dict[str, Any]


@dataclass
class Tasks:
    """What the task events tell."""

    finished: Finished
    users: list[str]
    end: int  # time of the last event [us]


@dataclass
class JobEvents:
    """Job events up to the last task event, in file order; -1: missing."""

    job: Ints
    time: Ints  # [us]
    type: Ints
    scheduling_class: Ints
    user: Ints  # position in `Tasks.users`
    name: Ints  # position in `names`
    names: list[str]


@dataclass
class Runs:
    """The attempts, row by row, as usage records refer to them; -1: never ran."""

    job: Ints  # original id
    index: Ints
    start: Ints  # [ms]
    end: Ints


def assemble(
    tasks: Tasks, jobs: JobEvents, machines: Machines, count: Counts
) -> tuple[dict[str, Columns], Runs]:
    """The columns of every table that task, job and machine events give, rows in order."""
    rows = np.concatenate(tasks.finished.tasks)
    rows = rows[np.argsort(rows["uid"])]  # row = uid
    attempts = np.concatenate(tasks.finished.attempts)
    for name in ("queued", "start", "end"):
        attempts[name] = _milliseconds(attempts[name])
    first = _first_times(attempts, len(rows))
    ids, job_of_task = np.unique(rows["job"], return_inverse=True)
    table, job_order = _jobs(ids, job_of_task, rows, first, tasks.users, jobs, count)
    job_row = _inverse(job_order)[job_of_task]
    task_order = np.lexsort((rows["index"], job_row, first))
    task_row = _inverse(task_order)
    attempts = attempts[np.argsort(task_row[attempts["uid"]], kind="stable")]
    cause = machines.causes(attempts)
    ran = np.flatnonzero((attempts["start"] >= 0) & (attempts["machine"] >= 0))
    machine_ids = np.union1d(machines.ids, attempts["machine"][ran])
    tables: dict[str, Columns] = {
        "jobs": table,
        "tasks": _tasks(rows[task_order], job_row[task_order]),
        "attempts": {
            "task": task_row[attempts["uid"]],
            "queued": _known(attempts["queued"]),
            "start": _known(attempts["start"]),
            "end": attempts["end"],
            "outcome": attempts["outcome"],
            "cause": _known(cause),
        },
        "placements": {
            "attempt": ran,
            "machine": np.searchsorted(machine_ids, attempts["machine"][ran]),
            "slots": np.ones(len(ran), dtype=np.int32),
        },
        **machines.tables(machine_ids),
    }
    runs = Runs(
        rows["job"][attempts["uid"]],
        rows["index"][attempts["uid"]],
        attempts["start"],
        attempts["end"],
    )
    return tables, runs


def _first_times(attempts: Records, tasks: int) -> Ints:
    """When each task is first heard of: its first attempt's queued, else its start [ms]."""
    first = np.empty(tasks, dtype=np.int64)
    heard = np.where(attempts["queued"] >= 0, attempts["queued"], attempts["start"])
    first[attempts["uid"][::-1]] = heard[::-1]  # the first one is written last
    return first


def _jobs(
    ids: Ints,
    job_of_task: Ints,
    rows: Records,
    first: Ints,
    users: list[str],
    events: JobEvents,
    count: Counts,
) -> tuple[Columns, Ints]:
    """The jobs table, and the order of `ids` in it."""
    count.drop("job without tasks", len(np.setdiff1d(events.job, ids)))
    listed = np.flatnonzero(np.isin(events.job, ids))
    by_job = listed[np.argsort(events.job[listed], kind="stable")]
    present, begin = np.unique(events.job[by_job], return_index=True)
    last = by_job[np.append(begin[1:], len(by_job)) - 1] if len(by_job) else by_job
    job = np.searchsorted(ids, present)
    count.note("jobs without job events", len(ids) - len(present))

    submit = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(submit, job_of_task, first)
    submitted = by_job[events.type[by_job] == SUBMIT][::-1]  # the first one is written last
    submit[np.searchsorted(ids, events.job[submitted])] = _milliseconds(events.time[submitted])

    outcome = np.full(len(ids), Outcome.CENSORED, dtype=np.int8)
    ended = np.append(OUTCOMES, -1)[events.type[last]]
    outcome[job[ended >= 0]] = ended[ended >= 0]

    head = _first_scheduled(job_of_task, rows, first)
    name = np.full(len(ids), -1)
    name[job] = events.name[last]
    user = rows["user"][head]
    user[job] = np.where(events.user[last] >= 0, events.user[last], user[job])
    scheduling_class = rows["scheduling_class"][head]
    stated = events.scheduling_class[last]
    scheduling_class[job] = np.where(scheduling_class[job] < 0, stated, scheduling_class[job])
    columns = {
        "original_id": ids.astype(np.str_),
        "user": np.array([*users, None], dtype=object)[user],
        "name": np.array([*events.names, None], dtype=object)[name],
        "submit": submit,
        "priority": _known(rows["priority"][head]),
        "scheduling_class": _known(scheduling_class),
        "width": _distinct_indices(job_of_task, rows["index"], len(ids)),
        "outcome": outcome,
    }
    order = np.lexsort((columns["original_id"], submit))
    return {key: values[order] for key, values in columns.items()}, order


def _first_scheduled(job_of_task: Ints, rows: Records, first: Ints) -> Ints:
    """Each job's first task that was scheduled, or its first task if none was."""
    order = np.lexsort((rows["index"], first, ~rows["scheduled"], job_of_task))
    _, begin = np.unique(job_of_task[order], return_index=True)
    return order[begin]


def _distinct_indices(job_of_task: Ints, index: Ints, jobs: int) -> Ints:
    order = np.lexsort((index, job_of_task))
    job, index = job_of_task[order], index[order]
    new = np.ones(len(job), dtype=np.bool_)
    new[1:] = (job[1:] != job[:-1]) | (index[1:] != index[:-1])
    return np.bincount(job[new], minlength=jobs)


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


def _milliseconds(microseconds: Ints) -> Ints:
    """Floored; -1 stays -1."""
    return microseconds // 1000


def _known(values: npt.NDArray[Any]) -> Any:
    """The values, missing where they are negative."""
    return np.ma.MaskedArray(values, mask=values < 0)


def _inverse(order: Ints) -> Ints:
    """Position of each element in `order`."""
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return position
