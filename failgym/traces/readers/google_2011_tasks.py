"""From Google's task events, in file order, to attempts and tasks.

A block of events is sorted by task, each task's open record before its events, and every task is
then followed on its own; what is still open is carried into the next block. Memory is bounded by
the open tasks and one block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2011_kernel import (
    ATTEMPT,
    DROPPED,
    EVENT,
    NOTED,
    OPEN,
    SUBMIT,
    TASK,
    follow,
)

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

NO_EVENTS = np.empty(0, dtype=EVENT)


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
        self._step(NO_EVENTS, last=True)
        return self.first_uid

    def runs_again(self) -> int:
        """How many of the finished tasks are the same task, run again."""
        job = np.concatenate([chunk["job"] for chunk in self.finished.tasks])
        index = np.concatenate([chunk["index"] for chunk in self.finished.tasks])
        order = np.lexsort((index, job))
        same_job, same_index = np.diff(job[order]) == 0, np.diff(index[order]) == 0
        return int((same_job & same_index).sum())

    def _step(self, events: Records, *, last: bool) -> int:
        job = np.concatenate([self.opened["task"]["job"], events["job"]])
        index = np.concatenate([self.opened["task"]["index"], events["index"]])
        order = np.lexsort((index, job))  # stable: the open record, then the events in file order
        head = _heads(job[order], index[order])
        room = len(order)
        opened = np.empty(room + 1, dtype=OPEN)
        attempts, tasks = np.empty(room, dtype=ATTEMPT), np.empty(room, dtype=TASK)
        written = np.array([0, 0, 0, self.first_uid])
        wrong = follow(
            self.opened,
            events,
            order,
            head,
            self._seen(events, order[head[:-1]]),
            self.strict,
            last,
            self.last_time,
            opened,
            attempts,
            tasks,
            written,
            self.dropped,
            self.noted,
        )
        n_open, n_attempts, n_tasks, self.first_uid = written.tolist()
        self.opened = opened[:n_open].copy()
        self.finished.attempts.append(attempts[:n_attempts].copy())
        self.finished.tasks.append(tasks[:n_tasks].copy())
        return wrong

    def _seen(self, events: Records, heads: Ints) -> npt.NDArray[np.bool_]:
        """Which events begin a task, in this block, that is long over (looked up only if odd)."""
        seen = np.zeros(len(events), dtype=np.bool_)
        rows = heads - len(self.opened)
        rows = rows[rows >= 0]
        odd = rows[events["type"][rows] != SUBMIT]
        if len(odd):
            seen[odd] = self.finished.was_seen(events["job"][odd], events["index"][odd])
        return seen


def _heads(job: Ints, index: Ints) -> npt.NDArray[np.bool_]:
    """Where, in sorted input, another task begins; one more at the end."""
    head = np.ones(len(job) + 1, dtype=np.bool_)
    head[1:-1] = (job[1:] != job[:-1]) | (index[1:] != index[:-1])
    return head
