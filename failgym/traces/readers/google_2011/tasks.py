"""From Google's task events, in file order, to attempts and tasks.

A block of events is sorted by task, each task's open record before its events, and every task is
then followed on its own; what is still open is carried into the next block. Memory is bounded by
the open tasks, one block, and what it finished.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2011.indices import Indices
from failgym.traces.readers.google_2011.kernel import (
    ATTEMPT,
    DROPPED,
    EVENT,
    NOTED,
    OPEN,
    SUBMIT,
    TASK,
    Block,
    Book,
    follow,
)
from failgym.traces.readers.google_2011.records import Records, first_records, joined_records

Ints = npt.NDArray[np.int64]

NO_EVENTS = np.empty(0, dtype=EVENT)


@dataclass
class Segment:
    """The state machine over one run of consecutive parts.

    `strict`: the segment starts at part 0, so that every task must begin with its SUBMIT.
    """

    strict: bool
    first_uid: int
    last_time: int = 0  # [us]
    dropped: Ints = field(default_factory=lambda: np.zeros(len(DROPPED), dtype=np.int64))
    noted: Ints = field(default_factory=lambda: np.zeros(len(NOTED), dtype=np.int64))
    opened: Records = field(default_factory=lambda: np.empty(0, dtype=OPEN))
    n_tasks: int = 0  # that are over
    seen: Indices = field(default_factory=Indices.none)  # of the tasks that are over
    tasks: list[Records] = field(default_factory=list[Records])  # over and not yet taken
    attempts: list[Records] = field(default_factory=list[Records])

    def feed(self, events: Records) -> int:
        """Follow a block of events (EVENT, in file order; no UPDATEs).

        Returns the position of the first event that comes before its task's SUBMIT where that is
        an error, else -1.
        """
        return self._step(events, last=False)

    def close(self) -> None:
        """Censor what is still open."""
        self._step(NO_EVENTS, last=True)

    def runs_again(self) -> int:
        """How many of the finished tasks are the same task, run again."""
        return self.n_tasks - len(self.seen)

    def take_finished(self) -> tuple[Records, Records]:
        """Tasks and attempts (TASK, ATTEMPT) that are over since the last call.

        The attempts of a task are in order.
        """
        tasks, attempts = joined_records(self.tasks, TASK), joined_records(self.attempts, ATTEMPT)
        self.tasks.clear()
        self.attempts.clear()
        return tasks, attempts

    def _step(self, events: Records, *, last: bool) -> int:
        latest = np.maximum.accumulate(np.concatenate([[self.last_time], events["time"]]))
        self.last_time = int(latest[-1])
        job = np.concatenate([self.opened["task"]["job"], events["job"]])
        index = np.concatenate([self.opened["task"]["index"], events["index"]])
        order = np.lexsort((index, job))  # stable: the open record, then the events in file order
        head = _heads(job[order], index[order])
        room = len(order)
        block = Block(
            self.opened,
            events,
            latest,
            order,
            head,
            self._seen(events, order[head[:-1]]),
            self.strict,
            last,
        )
        book = Book(
            np.empty(room + 1, dtype=OPEN),
            np.empty(room, dtype=ATTEMPT),
            np.empty(room, dtype=TASK),
            np.array([0, 0, 0, self.first_uid]),
            self.dropped,
            self.noted,
        )
        wrong = follow(block, book, self.last_time)
        n_open, n_attempts, n_tasks, self.first_uid = book.written.tolist()
        self.opened = first_records(book.opened, n_open)
        self.attempts.append(first_records(book.attempts, n_attempts))
        self.tasks.append(first_records(book.tasks, n_tasks))
        self.n_tasks += n_tasks
        self.seen.add(self.tasks[-1]["job"], self.tasks[-1]["index"])
        return wrong

    def _seen(self, events: Records, heads: Ints) -> npt.NDArray[np.bool_]:
        """Which events begin a task, in this block, that is long over (looked up only if odd)."""
        seen = np.zeros(len(events), dtype=np.bool_)
        rows = heads - len(self.opened)
        rows = rows[rows >= 0]
        odd = rows[events["type"][rows] != SUBMIT]
        seen[odd] = self.seen.holds(events["job"][odd], events["index"][odd])
        return seen


def _heads(job: Ints, index: Ints) -> npt.NDArray[np.bool_]:
    """Where, in sorted input, another task begins; one more at the end."""
    head = np.ones(len(job) + 1, dtype=np.bool_)
    head[1:-1] = (job[1:] != job[:-1]) | (index[1:] != index[:-1])
    return head
