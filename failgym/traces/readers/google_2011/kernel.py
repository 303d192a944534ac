"""The life of one of Google's tasks, event by event, as compiled functions over records.

SUBMIT -> pending -> SCHEDULE -> running -> EVICT | FAIL | FINISH | KILL | LOST -> dead
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.vocabulary import Cause, Outcome

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

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

N_OPEN, N_ATTEMPTS, N_TASKS, NEXT_UID = range(4)
"""What the kernel counts as it writes: open tasks, attempts, tasks; and the next task number."""

FAILED, KILLED, EVICTED = int(Outcome.FAIL), int(Outcome.KILL), int(Outcome.EVICT)
CENSORED = int(Outcome.CENSORED)
INTRINSIC, PREEMPTION = int(Cause.INTRINSIC), int(Cause.PREEMPTION)
REQUEUE, USER = int(Cause.REQUEUE), int(Cause.USER)

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
        ("first", np.int64),  # when it is first heard of [us]
        ("scheduled", np.bool_),  # the request is the first SCHEDULE's
        *_REQUEST,
    ]
)

ATTEMPT = np.dtype(
    [
        ("uid", np.int64),
        ("first", np.int64),  # its task's
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

OPEN_SUBMIT, ODD_SCHEDULE, ODD_END, PENDING_FINISH, BACKWARDS, UNSEEN_END = range(6)
DROPPED = (
    "SUBMIT of a task that is pending or running",
    "SCHEDULE of a task that is not pending",
    "end of a task that is over",
    "FINISH of a task that is pending",
    "event earlier than the task's previous one",
    "end of an attempt from before the segment",
)
"""Reasons for dropping a task event, in the order of their counters."""

REQUEST_CHANGED, KILL_WITHOUT_MACHINE, FIRST_SCHEDULE = range(3)
NOTED = (
    "tasks whose request differs between SUBMIT and first SCHEDULE (SCHEDULE's taken)",
    "KILLs of a running task without a machine (SCHEDULE's taken)",
    "tasks first seen at SCHEDULE (queued unknown)",
)
"""Repairs, in the order of their counters."""


class Block(NamedTuple):
    """Events to follow, and the open tasks that they meet."""

    carried: Any  # OPEN, (open tasks,)
    events: Any  # EVENT, (events,)
    latest: Ints  # the time up to which the file had come before each event [us]
    order: Ints  # of `carried` and behind them `events`: by task, then in file order
    head: Flags  # where in that order another task begins, and one more at the end
    seen: Flags  # events that begin a task that is long over
    strict: bool  # a task begins with its SUBMIT
    last: bool  # nothing comes after this block


class Book(NamedTuple):
    """What is written as events are followed."""

    opened: Any  # OPEN: tasks that stay open, and behind them the one at hand
    attempts: Any  # ATTEMPT: those that are over
    tasks: Any  # TASK: those that are over
    written: Ints  # how many of each (N_OPEN, ...)
    dropped: Ints  # events, by reason
    noted: Ints  # repairs, by kind


@njit(cache=True)
def follow(block: Block, book: Book, now: int) -> int:
    """Follow every task through its open record and its events; it is `now` [us] at their end.

    Returns the first event without a SUBMIT (-1: none).
    """
    wrong = -1
    for position in range(len(block.order)):
        here = book.opened[book.written[N_OPEN]]
        row = block.order[position] - len(block.carried)
        if row < 0:
            book.opened[book.written[N_OPEN]] = block.carried[block.order[position]]
        else:
            event = block.events[row]
            if block.head[position]:
                here.state = SEEN if block.seen[row] else ABSENT
            if block.strict and here.state == ABSENT and event.type != SUBMIT:
                wrong = row if wrong < 0 else min(wrong, row)
            elif event.type == SUBMIT:
                _submit(here, event, block.latest[row], book)
            elif event.type == SCHEDULE:
                _schedule(here, event, book)
            else:
                _end(here, event, book)
        if block.head[position + 1]:
            _leave(here, block.last, now, book)
    return wrong


@njit(cache=True)
def _leave(here: Any, last: Any, now: Any, book: Any) -> None:
    """The block has no more events of the task: it stays open, or is over."""
    waits = here.state == DEAD and now - here.attempt.end <= REQUEUE_MICROSECONDS
    lives = here.state == PENDING or here.state == RUNNING
    if (lives or waits) and not last:
        book.written[N_OPEN] += 1
    elif lives:
        here.attempt.end = now
        here.attempt.outcome = CENSORED
        _finish(here, book)
    elif here.state == DEAD:
        _finish(here, book)


@njit(cache=True)
def _submit(here: Any, event: Any, latest: Any, book: Any) -> None:
    """The cluster's requeue, the user running the task again, or a task that was not there.

    A task that was over for long before this event is over for good, wherever the event's time
    lies: it may have been forgotten.
    """
    if here.state == PENDING or here.state == RUNNING:
        book.dropped[OPEN_SUBMIT] += 1
        return
    if here.state == DEAD:
        if latest - here.attempt.end <= REQUEUE_MICROSECONDS:
            if event.time < here.attempt.end:
                book.dropped[BACKWARDS] += 1
                return
            if event.time - here.attempt.end <= REQUEUE_MICROSECONDS:
                _write_attempt(here.attempt, True, book)
                _queue(here, event.time)
                return
        _finish(here, book)
    _begin(here, event, book)
    _queue(here, event.time)


@njit(cache=True)
def _schedule(here: Any, event: Any, book: Any) -> None:
    """The waiting attempt starts."""
    if here.state == ABSENT:
        _begin(here, event, book)
        _queue(here, -1)
        book.noted[FIRST_SCHEDULE] += 1
    elif here.state != PENDING:
        book.dropped[ODD_SCHEDULE] += 1
        return
    elif event.time < here.attempt.queued:
        book.dropped[BACKWARDS] += 1
        return
    here.state = RUNNING
    here.attempt.start = event.time
    here.attempt.machine = event.machine
    if not here.task.scheduled:
        here.task.scheduled = True
        if not _same_request(here.task, event):
            book.noted[REQUEST_CHANGED] += 1
            _take_request(here.task, event)


@njit(cache=True)
def _end(here: Any, event: Any, book: Any) -> None:
    """The attempt at hand ends."""
    if here.state == ABSENT:
        book.dropped[UNSEEN_END] += 1
    elif here.state == SEEN or here.state == DEAD:
        book.dropped[ODD_END] += 1
    elif here.state == PENDING and event.type == FINISH:
        book.dropped[PENDING_FINISH] += 1
    elif event.time < max(here.attempt.queued, here.attempt.start):
        book.dropped[BACKWARDS] += 1
    else:
        if here.state == RUNNING and event.type == KILL and event.machine < 0:
            book.noted[KILL_WITHOUT_MACHINE] += 1
        here.state = DEAD
        here.attempt.end = event.time
        here.attempt.outcome = OUTCOMES[event.type]


@njit(cache=True)
def _begin(here: Any, event: Any, book: Any) -> None:
    """A task that was not there, or is run again."""
    task = here.task
    task.uid = book.written[NEXT_UID]
    book.written[NEXT_UID] += 1
    task.job = event.job
    task.index = event.index
    task.user = event.user
    task.first = event.time
    task.scheduled = False
    _take_request(task, event)


@njit(cache=True)
def _queue(here: Any, time: Any) -> None:
    """The next attempt waits."""
    here.state = PENDING
    attempt = here.attempt
    attempt.uid = here.task.uid
    attempt.first = here.task.first
    attempt.queued = time
    attempt.start = -1
    attempt.end = -1
    attempt.machine = -1
    attempt.outcome = -1
    attempt.cause = -1


@njit(cache=True)
def _take_request(task: Any, event: Any) -> None:
    task.cpu = event.cpu
    task.memory = event.memory
    task.disk = event.disk
    task.anti_affinity = event.anti_affinity
    task.priority = event.priority
    task.scheduling_class = event.scheduling_class


@njit(cache=True)
def _same_request(task: Any, event: Any) -> bool:
    return (
        _same(task.cpu, event.cpu)
        and _same(task.memory, event.memory)
        and _same(task.disk, event.disk)
        and task.anti_affinity == event.anti_affinity
        and task.priority == event.priority
        and task.scheduling_class == event.scheduling_class
    )


@njit(cache=True)
def _same(a: Any, b: Any) -> bool:
    return a == b or (np.isnan(a) and np.isnan(b))


@njit(cache=True)
def _finish(here: Any, book: Any) -> None:
    """The task is over, and its last attempt with it."""
    _write_attempt(here.attempt, False, book)
    book.tasks[book.written[N_TASKS]] = here.task
    book.written[N_TASKS] += 1


@njit(cache=True)
def _write_attempt(attempt: Any, requeued: Any, book: Any) -> None:
    if attempt.outcome == FAILED:
        attempt.cause = INTRINSIC
    elif attempt.outcome == EVICTED:
        attempt.cause = PREEMPTION
    elif attempt.outcome == KILLED:
        attempt.cause = REQUEUE if requeued else USER
    book.attempts[book.written[N_ATTEMPTS]] = attempt
    book.written[N_ATTEMPTS] += 1
