"""From Google's instance and collection events of 2019 to jobs, tasks and attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2019.columns import (
    AFTER_THE_TRACE,
    EVENTS,
    MISSING_TYPES,
    NONE,
)
from failgym.traces.readers.google_2019.kernel import (
    ATTEMPT,
    EVICT,
    NOTED,
    OUTCOMES,
    SUBMIT,
    TASK,
    UPDATE_PENDING,
    Book,
    follow,
)
from failgym.traces.readers.google_2019.table import Table
from failgym.vocabulary import Cause, Outcome

__all__ = [
    "Collections",
    "Ends",
    "Life",
    "attempts_columns",
    "clean",
    "collections_of",
    "ends_of",
    "jobs_table",
    "last_time",
    "live",
    "tasks_table",
]

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]
Columns = dict[str, Any]
Ends = tuple[Ints, Ints]
"""Ids of collections, ascending, and when they ended [us]."""

NEVER = 2**63 - 1

DEPENDENCY_SLACK = 1_000_000
"""A kill at most this long before the end of the job's parent or alloc set is laid to it [us]; our
choice."""

STATES = ("not yet submitted", "pending", "running", "over")
ALLOC_SET = 1


def clean(events: Table, what: str, end: int, count: Counts) -> None:
    """Leave out the rows that tell nothing of the lives of jobs; until the time `end` [us]."""
    late = events.ints("time") == AFTER_THE_TRACE
    update = events.ints("type") >= UPDATE_PENDING
    alloc = events.ints("collection_type") == ALLOC_SET
    beyond = events.ints("time") > end
    out = np.zeros(events.rows, dtype=np.bool_)
    for reason, rows in (
        ("of an alloc set (a reservation)", alloc),
        ("after the end of the trace", late),
        (": UPDATE", update),
        ("after the last instance event", beyond),
    ):
        told = f"{what}{reason}" if reason[0] == ":" else f"{what} {reason}"
        count.drop(told, int((rows & ~out).sum()))
        out |= rows
    events.keep(~out)
    made_up = events.ints("missing_type")
    for number in range(1, len(MISSING_TYPES)):
        count.note(f"{what} made up: {MISSING_TYPES[number]}", int((made_up == number).sum()))


@dataclass
class Life:
    """What became of the instances."""

    events: Table
    attempts: Records  # ATTEMPT, those of a task in order
    tasks: Records  # TASK


def last_time(events: Table) -> int:
    """The time of the last event within the trace [us], 0 if there is none."""
    time = events.ints("time")
    return int(time.max(initial=0, where=time < AFTER_THE_TRACE))


def live(events: Table, end: int, count: Counts) -> Life:
    """Follow all instances through their events, in whatever order these are, to the time `end`."""
    keys = ("type", "time", "instance_index", "collection_id")
    events.keep(np.lexsort([events.values[name] for name in keys]))
    twice = np.ones(events.rows, dtype=np.bool_)
    twice[:1] = False
    for name in ("collection_id", "instance_index", "time", "type"):
        twice[1:] &= np.diff(events.ints(name)) == 0
    count.drop("instance event that is told twice", int(twice.sum()))
    events.keep(~twice)
    time, kind = events.ints("time"), events.ints("type")
    head = np.ones(len(time) + 1, dtype=np.bool_)
    for position, name in enumerate(("collection_id", "instance_index")):
        differs = np.diff(events.ints(name)) != 0
        head[1:-1] = differs if position == 0 else head[1:-1] | differs
    book = Book(
        np.empty(len(time), dtype=ATTEMPT),
        np.empty(len(time), dtype=TASK),
        np.zeros(2, dtype=np.int64),
        np.zeros((len(OUTCOMES), len(STATES)), dtype=np.int64),
        np.zeros(len(NOTED), dtype=np.int64),
    )
    follow(time, kind, head, end, book)
    for reason, n in zip(NOTED, book.noted.tolist(), strict=True):
        count.note(reason, n)
    for number, row in enumerate(book.dropped.tolist()):
        for state, n in zip(STATES, row, strict=True):
            count.drop(f"{EVENTS[number]} of an instance that is {state}", n)
    attempts, tasks = book.written.tolist()
    return Life(events, book.attempts[:attempts].copy(), book.tasks[:tasks].copy())


def tasks_table(life: Life, ids: Ints, restricted: Ints) -> Columns:
    """The tasks table; `ids` are the jobs' and `restricted` their limits per machine (`NONE`)."""
    events, tasks = life.events, life.tasks
    asked = np.where(tasks["scheduled"] >= 0, tasks["scheduled"], tasks["first"])
    job = np.searchsorted(ids, events.ints("collection_id")[tasks["first"]])
    limit = restricted[job]
    return {
        "job": job,
        "index": events.ints("instance_index")[tasks["first"]],
        "width": np.ones(len(tasks), dtype=np.int32),
        "cpu": events.floats("resource_request.cpus")[asked],
        "memory": events.floats("resource_request.memory")[asked],
        "anti_affinity": np.ma.MaskedArray(limit == 1, mask=limit == NONE),
    }


def attempts_columns(life: Life, depended: Ints) -> dict[str, Ints]:
    """The attempts: times in ms (-1: none), outcome, cause (-1: none), machine (id, -1: none).

    `depended` is, for each task, when the first ended of what its job depends on [us], `NONE` if
    nothing did.
    """
    attempts, events = life.attempts, life.events
    outcome = attempts["outcome"].copy()
    cause = np.full(len(attempts), -1, dtype=np.int64)
    cause[outcome == Outcome.FAIL] = Cause.INTRINSIC
    cause[outcome == Outcome.EVICT] = Cause.PREEMPTION
    killed = outcome == Outcome.KILL
    over = depended[attempts["task"]]
    with_it = (over != NONE) & (over <= attempts["end"] + DEPENDENCY_SLACK)
    cause[killed] = np.where(with_it[killed], Cause.DEPENDENCY, Cause.USER)
    cause[killed & (attempts["requeued"] == 1)] = Cause.REQUEUE
    ran = attempts["scheduled"] >= 0
    machine = np.where(ran, events.ints("machine_id")[attempts["scheduled"]], -1)
    return {
        "task": attempts["task"],
        "queued": attempts["queued"] // 1000,
        "start": attempts["start"] // 1000,
        "end": attempts["end"] // 1000,
        "outcome": outcome,
        "cause": cause,
        "machine": np.where(machine > 0, machine, -1),  # 0: none, -1: a dedicated machine
    }


@dataclass
class Collections:
    """The jobs as their own events tell them, sorted by id; -1 or `NONE`: missing."""

    ids: Ints
    submit: Ints  # [us]
    outcome: Ints
    values: dict[str, Ints]

    def ends_of_dependencies(self, ids: Ints, ends: Ends) -> Ints:
        """When the first ended of what each of these jobs depends on [us], `NONE`: nothing did."""
        first = np.full(len(ids), NEVER, dtype=np.int64)
        for name in ("parent_collection_id", "alloc_collection_id"):
            upon = _at(self.ids, self.values[name], ids, 0)
            first = np.minimum(first, np.where(upon > 0, _at(*ends, upon, NEVER), NEVER))
        return np.where(first == NEVER, NONE, first)


def _at(keys: Ints, values: Ints, wanted: Ints, missing: int) -> Ints:
    """The values at the wanted keys, which are sorted; `missing` where there is none."""
    if not len(keys):
        return np.full(len(wanted), missing, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], missing)


def ends_of(events: Table, end: int | None) -> Ends:
    """The collections that ended until the time `end` [us] and stayed so, alloc sets too."""
    kind, time, ids = events.ints("type"), events.ints("time"), events.ints("collection_id")
    seen = (kind < UPDATE_PENDING) & (time <= (AFTER_THE_TRACE - 1 if end is None else end))
    order = np.lexsort((kind, time, ids))
    order = order[seen[order]]
    last = order[np.append(ids[order][1:] != ids[order][:-1], True)] if len(order) else order
    over = last[kind[last] >= EVICT]
    return ids[over], time[over]


def collections_of(events: Table) -> Collections:
    """The last word of each collection's events, and the first on what it was submitted as."""
    kind, time, ids = events.ints("type"), events.ints("time"), events.ints("collection_id")
    order = np.lexsort((kind, time, ids))
    known, first = np.unique(ids[order], return_index=True)
    last = order[np.append(first[1:], len(order)) - 1] if len(order) else order
    first = order[first]
    submit = time[first].copy()
    asked = order[kind[order] == SUBMIT][::-1]  # the first one is written last
    submit[np.searchsorted(known, ids[asked])] = time[asked]
    ended = kind[last] >= EVICT
    outcome = np.where(ended, OUTCOMES[kind[last]], Outcome.CENSORED)
    names = ("priority", "scheduling_class", "max_per_machine", "vertical_scaling")
    names += ("parent_collection_id", "alloc_collection_id")
    texts = ("user", "collection_name", "collection_logical_name")
    values = {name: _first_known(events.ints(name), order, ids, known, NONE) for name in names}
    values |= {name: _first_known(events.ints(name), order, ids, known, -1) for name in texts}
    values["after"] = _first_known(events.ints("start_after_collection_ids"), order, ids, known, 0)
    return Collections(known, submit, outcome, values)


def _first_known(values: Ints, order: Ints, ids: Ints, known: Ints, missing: int) -> Ints:
    """The first value of each collection that is not missing."""
    found = np.full(len(known), missing, dtype=np.int64)
    told = order[values[order] != missing][::-1]  # the first one is written last
    found[np.searchsorted(known, ids[told])] = values[told]
    return found


def jobs_table(life: Life, told: Collections, events: Table, count: Counts) -> tuple[Ints, Columns]:
    """The ids of the jobs that have tasks, ascending, and the jobs table."""
    tasks = life.tasks
    first = life.events.ints("collection_id")[tasks["first"]]
    ids, job = np.unique(first, return_inverse=True)
    count.drop("job without instances", len(np.setdiff1d(told.ids, ids)))
    count.note("job without collection events", len(np.setdiff1d(ids, told.ids)))
    submit = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(submit, job, life.events.ints("time")[tasks["first"]])
    _, rows, of = np.intersect1d(ids, told.ids, assume_unique=True, return_indices=True)
    submit[rows] = told.submit[of]
    outcome = np.full(len(ids), Outcome.CENSORED, dtype=np.int64)
    outcome[rows] = told.outcome[of]
    columns: Columns = {
        "original_id": ids.astype(np.str_),
        "submit": submit // 1000,
        "outcome": outcome,
        "width": _distinct(job, life.events.ints("instance_index")[tasks["first"]], len(ids)),
    }
    for name, words in _words(events, told).items():
        text = np.full(len(ids), None, dtype=object)
        text[rows] = words[of]
        columns[name] = text
    for name in ("priority", "scheduling_class"):
        value = np.full(len(ids), NONE, dtype=np.int64)
        own = life.events.ints(name)[tasks["first"]]
        value[job[::-1]] = own[::-1]
        stated = told.values[name][of]
        value[rows] = np.where(stated == NONE, value[rows], stated)
        columns[name] = np.ma.MaskedArray(value, mask=value == NONE)
    kept = np.isin(told.ids, ids)
    count.note("job that may only start after others (not modelled)", _known(told, "after", kept))
    scaled = told.values["vertical_scaling"][kept] >= 2
    count.note("job that is scaled vertically (not modelled)", int(scaled.sum()))
    return ids, columns


def _known(told: Collections, name: str, kept: npt.NDArray[np.bool_]) -> int:
    return int((told.values[name][kept] > 0).sum())


def _words(events: Table, told: Collections) -> dict[str, npt.NDArray[Any]]:
    logical = told.values["collection_logical_name"]
    own = events.words("collection_name")[told.values["collection_name"]]
    return {
        "user": events.words("user")[told.values["user"]],
        "name": np.where(logical >= 0, events.words("collection_logical_name")[logical], own),
    }


def _distinct(job: Ints, index: Ints, jobs: int) -> Ints:
    """How many different indices each job has."""
    order = np.lexsort((index, job))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(job[order]) != 0) | (np.diff(index[order]) != 0)
    return np.bincount(job[order][new], minlength=jobs)
