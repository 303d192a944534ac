"""The life of one of Google's instances of 2019, event by event, as compiled functions.

SUBMIT -> (QUEUE -> ENABLE ->) SCHEDULE -> EVICT | FAIL | FINISH | KILL | LOST
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.vocabulary import Outcome

Ints = npt.NDArray[np.int64]

SUBMIT, QUEUE, ENABLE, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, UPDATE_PENDING = range(10)

OUTCOMES = np.array(
    [
        *(-1, -1, -1, -1),
        *(Outcome.EVICT, Outcome.FAIL, Outcome.FINISH, Outcome.KILL, Outcome.LOST),
    ],
    dtype=np.int64,
)
"""Event type -> outcome of the attempt that it ends."""

REQUEUE_MICROSECONDS = 1000
"""A SUBMIT at most this long after the instance's end is the cluster's requeue [us]."""

ABSENT, PENDING, RUNNING, DEAD = range(4)

ACCEPTED = np.array(
    [
        [SUBMIT, QUEUE, ENABLE, SCHEDULE, -1, -1, -1, -1],
        [QUEUE, ENABLE, SCHEDULE, FAIL, EVICT, KILL, LOST, -1],
        [FINISH, FAIL, EVICT, KILL, LOST, -1, -1, -1],
        [SUBMIT, QUEUE, ENABLE, SCHEDULE, -1, -1, -1, -1],
    ],
    dtype=np.int64,
)
"""State -> event types that it allows; of several at one time, in the order that is taken."""

ATTEMPT = np.dtype(
    [
        ("task", np.int64),
        ("queued", np.int64),  # [us], -1: unknown
        ("start", np.int64),  # [us], -1: never ran
        ("end", np.int64),  # [us]
        ("outcome", np.int64),
        ("requeued", np.int64),  # 1: another attempt of the task follows
        ("scheduled", np.int64),  # the event that started it, -1: none
    ]
)

TASK = np.dtype([("first", np.int64), ("scheduled", np.int64)])
"""A task's first event, and the one that first started it (-1: none), by position."""

N_ATTEMPTS, N_TASKS = range(2)
CENSORED, FINISHED = int(Outcome.CENSORED), int(Outcome.FINISH)

WITHOUT_SUBMIT, REQUEUED_WITHOUT_SUBMIT, RUN_AGAIN = range(3)
NOTED = (
    "task first seen at QUEUE, ENABLE or SCHEDULE",
    "attempt that the cluster began without a SUBMIT",
    "task that is run again by its user (a new task)",
)
"""Reasons for counting, in the order of their counters."""


class Book(NamedTuple):
    """What is written as instances are followed."""

    attempts: Any  # ATTEMPT: room for as many as there are events; those of a task in order
    tasks: Any  # TASK: room for as many
    written: Ints  # [2] attempts and tasks that were written
    dropped: Ints  # [types, states] events that the state of their instance does not allow
    noted: Ints  # [len(NOTED)] counters


@njit(cache=True)
def follow(time: Ints, kind: Ints, head: Any, now: int, book: Book) -> None:
    """Follow every instance through its events, which are in order of instance, time and type.

    Args:
        time: [events] of each event [us].
        kind: [events] its type, SUBMIT to LOST.
        head: [events + 1] where another instance begins; the last is True.
        now: when the data end [us]: what is open then is censored.
        book: where all that is known is written.
    """
    count, place = np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64)
    position, state = 0, ABSENT
    while position < len(time):
        if head[position]:
            state = ABSENT
        stop = position
        count[:] = 0
        while stop < len(time) and time[stop] == time[position]:
            if stop > position and head[stop]:
                break
            if count[kind[stop]] == 0:
                place[kind[stop]] = stop
            count[kind[stop]] += 1
            stop += 1
        left = stop - position
        while left > 0:
            taken = -1
            for choice in ACCEPTED[state]:
                if choice >= 0 and count[choice] > 0:
                    taken = choice
                    break
            if taken < 0:
                break
            state = _take(state, taken, place[taken], time[position], book)
            count[taken] -= 1
            place[taken] += 1
            left -= 1
        for other in range(9):
            book.dropped[other, state] += count[other]
        if head[stop] and state in (PENDING, RUNNING):
            book.attempts[book.written[N_ATTEMPTS] - 1].end = now
            book.attempts[book.written[N_ATTEMPTS] - 1].outcome = CENSORED
        position = stop


@njit(cache=True)
def _take(state: Any, taken: Any, place: Any, time: Any, book: Any) -> int:
    """An event that the state allows; returns the next state."""
    if state == PENDING and taken in (QUEUE, ENABLE):
        return PENDING
    if taken <= SCHEDULE and state != PENDING:
        _begin(state, taken, place, time, book)
        if taken != SCHEDULE:
            return PENDING
    attempt = book.attempts[book.written[N_ATTEMPTS] - 1]
    if taken == SCHEDULE:
        attempt.start = time
        attempt.scheduled = place
        task = book.tasks[book.written[N_TASKS] - 1]
        if task.scheduled < 0:
            task.scheduled = place
        return RUNNING
    attempt.end = time
    attempt.outcome = OUTCOMES[taken]
    return DEAD


@njit(cache=True)
def _begin(state: Any, taken: Any, place: Any, time: Any, book: Any) -> None:
    """An attempt of the task at hand, if the cluster made it, or of a task that was not there."""
    again = False
    if state == DEAD:
        last = book.attempts[book.written[N_ATTEMPTS] - 1]
        if taken == SUBMIT:
            again = time - last.end <= REQUEUE_MICROSECONDS
        else:
            again = last.outcome != FINISHED
        if again:
            last.requeued = 1
            if taken != SUBMIT:
                book.noted[REQUEUED_WITHOUT_SUBMIT] += 1
        else:
            book.noted[RUN_AGAIN] += 1
    elif taken != SUBMIT:
        book.noted[WITHOUT_SUBMIT] += 1
    if not again:
        book.tasks[book.written[N_TASKS]].first = place
        book.tasks[book.written[N_TASKS]].scheduled = -1
        book.written[N_TASKS] += 1
    attempt = book.attempts[book.written[N_ATTEMPTS]]
    attempt.task = book.written[N_TASKS] - 1
    attempt.queued = -1 if taken == SCHEDULE else time
    attempt.start = -1
    attempt.scheduled = -1
    attempt.requeued = 0
    book.written[N_ATTEMPTS] += 1
