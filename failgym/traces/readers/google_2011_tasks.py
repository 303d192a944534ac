"""The life of Google's tasks: from task events in file order to attempts and tasks.

    SUBMIT -> pending -> SCHEDULE -> running -> EVICT | FAIL | FINISH | KILL | LOST -> dead

A block of events is sorted by task, each task's open record before its events, and every task is
then followed on its own; what is still open is carried into the next block. Memory is bounded by
the open tasks and one block.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from failgym.traces.schema import Cause, Outcome

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

# Event types of the published format.
SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, UPDATE_PENDING, UPDATE_RUNNING = range(9)
EVENT_NAMES = (
    "SUBMIT",
    "SCHEDULE",
    "EVICT",
    "FAIL",
    "FINISH",
    "KILL",
    "LOST",
    "UPDATE_PENDING",
    "UPDATE_RUNNING",
)

OUTCOMES = np.array(
    [-1, -1, Outcome.EVICT, Outcome.FAIL, Outcome.FINISH, Outcome.KILL, Outcome.LOST],
    dtype=np.int8,
)
"""Event type -> outcome of the attempt that it ends."""

REQUEUE_MICROSECONDS = 1000
"""A SUBMIT at most this long after the task's end is the cluster's requeue [us]."""

ABSENT, SEEN, PENDING, RUNNING, DEAD = range(5)
"""States of a task. SEEN: ended, and forgotten since."""

_REQUEST = [
    ("cpu", np.float64),
    ("memory", np.float64),
    ("disk", np.float64),
    ("anti_affinity", np.int64),
    ("priority", np.int64),
    ("scheduling_class", np.int64),
]

EVENT = np.dtype(
    [
        ("time", np.int64),  # [us]
        ("job", np.int64),
        ("index", np.int64),
        ("machine", np.int64),  # -1: none
        ("type", np.int64),
        ("user", np.int64),
        *_REQUEST,
    ]
)
"""A task event as it is read; -1 or NaN: missing."""

TASK = np.dtype(
    [
        ("uid", np.int64),  # numbers the tasks as they appear; a task run again gets another
        ("job", np.int64),
        ("index", np.int64),
        ("user", np.int64),
        ("scheduled", np.bool_),  # the request is the first SCHEDULE's
        *_REQUEST,
    ]
)

ATTEMPT = np.dtype(
    [
        ("uid", np.int64),
        ("queued", np.int64),  # [us], -1: unknown
        ("start", np.int64),  # [us], -1: never ran
        ("end", np.int64),  # [us]
        ("machine", np.int64),
        ("outcome", np.int8),
        ("cause", np.int8),  # -1: none
    ]
)

OPEN = np.dtype([("state", np.int64), ("task", TASK), ("attempt", ATTEMPT)])
"""A task that is not over, with its latest attempt."""

NOTHING = np.empty(0, dtype=EVENT)

DROPPED = (
    "SUBMIT of a task that is pending or running",
    "SCHEDULE of a task that is not pending",
    "end of a task that is over",
    "FINISH of a task that is pending",
    "event earlier than the task's previous one",
    "end of an attempt from before the segment",
)
"""Reasons for dropping a task event, in the order of their counters."""

NOTED = (
    "tasks whose request differs between SUBMIT and first SCHEDULE (SCHEDULE's taken)",
    "KILLs of a running task without a machine (SCHEDULE's taken)",
    "tasks first seen at SCHEDULE (queued unknown)",
)
"""Repairs, in the order of their counters."""


@dataclass
class Finished:
    """Tasks and attempts that are over, in compact chunks."""

    tasks: list[Records] = field(default_factory=list[Records])
    attempts: list[Records] = field(default_factory=list[Records])

    def extend(self, other: Finished) -> None:
        """Take over the chunks of another segment."""
        self.tasks += other.tasks
        self.attempts += other.attempts

    def was_seen(self, jobs: Ints, indices: Ints) -> npt.NDArray[np.bool_]:
        """Which of the tasks are among the finished ones."""
        wanted, known = np.unique(jobs), set[tuple[int, int]]()
        for chunk in self.tasks:
            rows = chunk[np.isin(chunk["job"], wanted)]
            known.update(zip(rows["job"].tolist(), rows["index"].tolist(), strict=True))
        pairs = zip(jobs.tolist(), indices.tolist(), strict=True)
        return np.fromiter((pair in known for pair in pairs), np.bool_, len(jobs))


@dataclass
class Segment:
    """The state machine over one run of consecutive parts.

    `strict`: the segment starts at part 0, so that every task must begin with its SUBMIT.
    """

    strict: bool
    first_uid: int
    dropped: Ints = field(default_factory=lambda: np.zeros(len(DROPPED), dtype=np.int64))
    noted: Ints = field(default_factory=lambda: np.zeros(len(NOTED), dtype=np.int64))
    finished: Finished = field(default_factory=Finished)
    opened: Records = field(default_factory=lambda: np.empty(0, dtype=OPEN))
    last_time: int = 0

    def feed(self, events: Records) -> int:
        """Follow a block of events (EVENT, in file order; no UPDATEs).

        Returns the position of the first event that comes before its task's SUBMIT where that is
        an error, else -1.
        """
        if len(events):
            self.last_time = max(self.last_time, int(events["time"].max()))
        return self._step(events, last=False)

    def close(self) -> int:
        """Censor what is still open; returns the first task number that is free."""
        self._step(NOTHING, last=True)
        return self.first_uid

    def runs_again(self) -> int:
        """How many of the finished tasks are the same task, run again."""
        job = np.concatenate([chunk["job"] for chunk in self.finished.tasks])
        index = np.concatenate([chunk["index"] for chunk in self.finished.tasks])
        order = np.lexsort((index, job))
        same_job, same_index = np.diff(job[order]) == 0, np.diff(index[order]) == 0
        return int((same_job & same_index).sum())

    def _step(self, events: Records, *, last: bool) -> int:
        carried = self.opened
        job = np.concatenate([carried["task"]["job"], events["job"]])
        index = np.concatenate([carried["task"]["index"], events["index"]])
        order = np.lexsort((index, job))  # stable: the open record, then the events in file order
        seen = self._seen(events, order, job, index)
        room = len(order)
        opened = np.empty(room, dtype=OPEN)
        attempts, tasks = np.empty(room, dtype=ATTEMPT), np.empty(room, dtype=TASK)
        n_open, n_attempts, n_tasks, self.first_uid, wrong = _follow(
            carried,
            events,
            order,
            seen,
            self.strict,
            last,
            self.last_time,
            self.first_uid,
            opened,
            attempts,
            tasks,
            self.dropped,
            self.noted,
        )
        self.opened = opened[:n_open].copy()
        self.finished.attempts.append(attempts[:n_attempts].copy())
        self.finished.tasks.append(tasks[:n_tasks].copy())
        return wrong

    def _seen(self, events: Records, order: Ints, job: Ints, index: Ints) -> npt.NDArray[np.bool_]:
        """Which events begin a task, in this block, that is long over (looked up only if odd)."""
        seen = np.zeros(len(events), dtype=np.bool_)
        sorted_job, sorted_index = job[order], index[order]
        head = np.ones(len(order), dtype=np.bool_)
        head[1:] = (sorted_job[1:] != sorted_job[:-1]) | (sorted_index[1:] != sorted_index[:-1])
        rows = order[head] - len(self.opened)
        rows = rows[rows >= 0]
        odd = rows[events["type"][rows] != SUBMIT]
        if len(odd):
            seen[odd] = self.finished.was_seen(events["job"][odd], events["index"][odd])
        return seen


@njit(cache=True)
def _follow(
    carried,
    events,
    order,
    seen,
    strict,
    last,
    now,
    uid,
    opened,
    attempts,
    tasks,
    dropped,
    noted,
):
    """Follow every task through its open record and its events, both in `order`.

    The task at hand lives in `opened[n_open]`; it is kept there if it stays open. Returns the
    numbers of records written to `opened`, `attempts` and `tasks`, the next free task number and
    the first event without a SUBMIT (-1: none).
    """
    n_open, n_attempts, n_tasks, wrong = 0, 0, 0, -1
    n_carried = len(carried)
    for position in range(len(order)):
        row = order[position] - n_carried
        if row < 0:
            opened[n_open] = carried[row + n_carried]
            job, index = carried[row + n_carried].task.job, carried[row + n_carried].task.index
        else:
            event = events[row]
            job, index = event.job, event.index
            here = opened[n_open]
            if position == 0 or _differs(carried, events, order[position - 1], job, index):
                here.state = SEEN if seen[row] else ABSENT
            if here.state == ABSENT and event.type != SUBMIT and strict:
                if wrong < 0 or row < wrong:
                    wrong = row
            elif event.type == SUBMIT:
                if here.state == PENDING or here.state == RUNNING:
                    dropped[0] += 1
                elif here.state == DEAD and event.time < here.attempt.end:
                    dropped[4] += 1
                elif here.state == DEAD and event.time - here.attempt.end <= REQUEUE_MICROSECONDS:
                    n_attempts = _write_attempt(here.attempt, True, attempts, n_attempts)
                    _queue(here, event)
                else:
                    if here.state == DEAD:
                        n_attempts = _write_attempt(here.attempt, False, attempts, n_attempts)
                        tasks[n_tasks] = here.task
                        n_tasks += 1
                    _begin(here, event, uid)
                    uid += 1
                    _queue(here, event)
            elif event.type == SCHEDULE:
                uid = _schedule(here, event, uid, dropped, noted)
            else:
                _end(here, event, dropped, noted)
        if position + 1 < len(order) and not _differs(
            carried, events, order[position + 1], job, index
        ):
            continue
        here = opened[n_open]
        if here.state == PENDING or here.state == RUNNING:
            if not last:
                n_open += 1
                continue
            here.attempt.end = now
            here.attempt.outcome = Outcome.CENSORED
        elif here.state == DEAD:
            if not last and now - here.attempt.end <= REQUEUE_MICROSECONDS:
                n_open += 1  # the cluster may still requeue it
                continue
        else:
            continue
        n_attempts = _write_attempt(here.attempt, False, attempts, n_attempts)
        tasks[n_tasks] = here.task
        n_tasks += 1
    return n_open, n_attempts, n_tasks, uid, wrong


@njit(cache=True)
def _differs(carried, events, position, job, index):
    """Whether a position of the sorted input belongs to another task."""
    row = position - len(carried)
    if row < 0:
        task = carried[position].task
        return task.job != job or task.index != index
    return events[row].job != job or events[row].index != index


@njit(cache=True)
def _begin(here, event, uid):
    """A task that was not there."""
    task = here.task
    task.uid = uid
    task.job = event.job
    task.index = event.index
    task.user = event.user
    task.scheduled = False
    _take_request(task, event)


@njit(cache=True)
def _take_request(task, event):
    task.cpu = event.cpu
    task.memory = event.memory
    task.disk = event.disk
    task.anti_affinity = event.anti_affinity
    task.priority = event.priority
    task.scheduling_class = event.scheduling_class


@njit(cache=True)
def _same_request(task, event):
    return (
        (task.cpu == event.cpu or (np.isnan(task.cpu) and np.isnan(event.cpu)))
        and (task.memory == event.memory or (np.isnan(task.memory) and np.isnan(event.memory)))
        and (task.disk == event.disk or (np.isnan(task.disk) and np.isnan(event.disk)))
        and task.anti_affinity == event.anti_affinity
        and task.priority == event.priority
        and task.scheduling_class == event.scheduling_class
    )


@njit(cache=True)
def _queue(here, event):
    """The next attempt waits."""
    here.state = PENDING
    attempt = here.attempt
    attempt.uid = here.task.uid
    attempt.queued = event.time
    attempt.start = -1
    attempt.end = -1
    attempt.machine = -1
    attempt.outcome = -1
    attempt.cause = -1


@njit(cache=True)
def _schedule(here, event, uid, dropped, noted):
    """The waiting attempt starts; returns the next free task number."""
    if here.state == ABSENT:
        _begin(here, event, uid)
        uid += 1
        _queue(here, event)
        here.attempt.queued = -1
        noted[2] += 1
    elif here.state != PENDING:
        dropped[1] += 1
        return uid
    elif event.time < here.attempt.queued:
        dropped[4] += 1
        return uid
    here.state = RUNNING
    here.attempt.start = event.time
    here.attempt.machine = event.machine
    if not here.task.scheduled:
        if not _same_request(here.task, event):
            noted[0] += 1
            _take_request(here.task, event)
        here.task.scheduled = True
    return uid


@njit(cache=True)
def _end(here, event, dropped, noted):
    """The attempt at hand ends."""
    if here.state == ABSENT:
        dropped[5] += 1
    elif here.state == SEEN or here.state == DEAD:
        dropped[2] += 1
    elif here.state == PENDING and event.type == FINISH:
        dropped[3] += 1
    elif event.time < max(here.attempt.queued, here.attempt.start):
        dropped[4] += 1
    else:
        if here.state == RUNNING and event.type == KILL and event.machine < 0:
            noted[1] += 1
        here.state = DEAD
        here.attempt.end = event.time
        here.attempt.outcome = OUTCOMES[event.type]


@njit(cache=True)
def _write_attempt(attempt, requeued, attempts, count):
    """Add an attempt that is over; returns how many there are now."""
    if attempt.outcome == Outcome.FAIL:
        attempt.cause = Cause.INTRINSIC
    elif attempt.outcome == Outcome.EVICT:
        attempt.cause = Cause.PREEMPTION
    elif attempt.outcome == Outcome.KILL:
        attempt.cause = Cause.REQUEUE if requeued else Cause.USER
    attempts[count] = attempt
    return count + 1
