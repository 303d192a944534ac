"""Google's task events: read part by part, what is over spilled after each.

After a part the state of the reader is kept beside what it spilled, so that a read that was killed
goes on at the first part that is not done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2011.indices import Indices
from failgym.traces.readers.google_2011.kernel import (
    ATTEMPT,
    DROPPED,
    EVENT,
    EVENT_NAMES,
    NOTED,
    OPEN,
    SUBMIT,
    TASK,
    UPDATE_PENDING,
)
from failgym.traces.readers.google_2011.parts import (
    INT32,
    INT64,
    Block,
    Column,
    Part,
    field_error,
    read_part,
    segments,
    time_column,
)
from failgym.traces.readers.google_2011.records import Records, chosen_records
from failgym.traces.readers.google_2011.runs import Run, Spill
from failgym.traces.readers.google_2011.tasks import Segment
from failgym.traces.readers.sources import Advance

Ints = npt.NDArray[np.int64]

AFTER_THE_TRACE = INT64
"""The time of what happened after the end of the whole trace."""

COLUMNS = (
    time_column("time"),
    Column("missing info", "integer", used=False),
    Column("job ID", "integer", required=True),
    Column("task index", "integer", required=True),
    Column("machine ID", "integer"),
    Column("event type", "integer", required=True),
    Column("user", "text"),
    Column("scheduling class", "integer", largest=INT32),
    Column("priority", "integer", largest=INT32),
    Column("CPU request", "number"),
    Column("memory request", "number"),
    Column("disk space request", "number"),
    Column("different machines restriction", "integer"),
)

_EVENT_FIELDS = {
    "time": "time",
    "job": "job ID",
    "index": "task index",
    "machine": "machine ID",
    "type": "event type",
    "priority": "priority",
    "scheduling_class": "scheduling class",
    "anti_affinity": "different machines restriction",
}
_REQUEST_FIELDS = {"cpu": "CPU request", "memory": "memory request", "disk": "disk space request"}

_CHECKPOINT = "checkpoint"


@dataclass
class Names:
    """Texts numbered in the order in which they appear."""

    numbers: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, texts: list[str]) -> Names:
        """Texts in the order of their numbers."""
        return cls({text: number for number, text in enumerate(texts)})

    @property
    def texts(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self.numbers)

    def encode(self, block: Block, column: str) -> Ints:
        """The numbers of a dictionary-encoded text column, -1 where it is missing."""
        texts, codes = block.texts(column)
        known = [self.numbers.setdefault(text, len(self.numbers)) for text in texts]
        return np.array([*known, -1], dtype=np.int64)[codes]


@dataclass
class Tasks:
    """What the task events tell: runs of TASK and of ATTEMPT, a run per part, keyed by `first`."""

    tasks: list[Run] = field(default_factory=list[Run])
    attempts: list[Run] = field(default_factory=list[Run])
    users: Names = field(default_factory=Names)
    machines: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # ids, ascending
    end: int = 0  # time of the last event [us]

    def take(self, segment: Segment, spill: Spill) -> None:
        """Spill what is over, as the run of the next part."""
        tasks, attempts = segment.take_finished()
        placed = attempts["machine"][(attempts["start"] >= 0) & (attempts["machine"] >= 0)]
        self.machines = np.union1d(self.machines, placed)
        self.end = max(self.end, segment.last_time)
        number = len(self.tasks)
        self.tasks.append(_spill(spill, f"tasks-{number:05}", tasks))
        self.attempts.append(_spill(spill, f"attempts-{number:05}", attempts))


def read_tasks(parts: list[Part], spill: Spill, count: Counts, advance: Advance) -> Tasks:
    """Read the parts of the task events, but for those that `spill` holds already.

    Raises TraceError, and OSError if what is over cannot be spilled.
    """
    tasks, segment = _resume(spill, count, parts) or (Tasks(), Segment(strict=False, first_uid=0))
    done, position = len(tasks.tasks), 0
    for run in segments(parts):
        for part in run:
            position += 1
            if position <= done:
                advance(part.file.stat().st_size)
                continue
            if part is run[0]:
                segment = Segment(strict=part.number == 0, first_uid=segment.first_uid)
            for block in read_part(part, COLUMNS, advance):
                count.read("task events", block.rows.num_rows)
                _feed(segment, block, tasks.users, count)
            if part is run[-1]:
                _close(segment, count)
            tasks.take(segment, spill)
            _checkpoint(spill, tasks, segment, count, begun=position - 1 - run.index(part))
    return tasks


def kept_rows(block: Block, count: Counts, what: str) -> Ints:
    """The rows that tell something; raises TraceError for an unknown event type."""
    types, times = block.integers("event type"), block.integers("time")
    unknown = types >= len(EVENT_NAMES)
    if unknown.any():
        row = int(np.argmax(unknown))
        names = ", ".join(f"{number} {name}" for number, name in enumerate(EVENT_NAMES))
        block.fail(row, "event type", int(types[row]), f"a known event type ({names})")
    update, after = types >= UPDATE_PENDING, times == AFTER_THE_TRACE
    count.drop(f"{what}: UPDATE", int(update.sum()))
    count.drop(f"{what} after the end of the whole trace", int((after & ~update).sum()))
    return np.flatnonzero(~update & ~after)


def _feed(segment: Segment, block: Block, users: Names, count: Counts) -> None:
    kept = kept_rows(block, count, "task event")
    events: npt.NDArray[Any] = np.empty(len(kept), dtype=EVENT)
    for name, column in _EVENT_FIELDS.items():
        events[name] = block.integers(column)[kept]
    for name, column in _REQUEST_FIELDS.items():
        events[name] = block.numbers(column)[kept]
    events["user"] = users.encode(block, "user")[kept]
    wrong = segment.feed(events)
    if wrong >= 0:
        kind, row = int(events["type"][wrong]), int(kept[wrong])
        job, index = int(events["job"][wrong]), int(events["index"][wrong])
        raise field_error(
            block.part.file,
            block.first_line + row,
            "event type",
            kind,
            f"{SUBMIT} (SUBMIT) as the first event of task {index} of job {job},"
            f" not {EVENT_NAMES[kind]}",
        )


def _close(segment: Segment, count: Counts) -> None:
    """Censor what is open, and add up what the segment counted."""
    segment.close()
    for reason, n in zip(DROPPED, segment.dropped.tolist(), strict=True):
        count.drop(reason, n)
    for reason, n in zip(NOTED, segment.noted.tolist(), strict=True):
        count.note(reason, n)
    count.note("tasks run again by the user (a new task)", segment.runs_again())


def _spill(spill: Spill, name: str, records: Records) -> Run:
    records = chosen_records(records, np.argsort(records["first"], kind="stable"))
    return spill.write(name, records, records["first"])


def _checkpoint(spill: Spill, tasks: Tasks, segment: Segment, count: Counts, begun: int) -> None:
    """Keep the state after a part; `begun` is the position of the segment's first part."""
    if spill.folder is None:
        return
    notes = {
        "done": len(tasks.tasks),
        "begun": begun,
        "users": tasks.users.texts,
        "machines": tasks.machines.tolist(),
        "end": tasks.end,
        "strict": segment.strict,
        "first_uid": segment.first_uid,
        "last_time": segment.last_time,
        "dropped": segment.dropped.tolist(),
        "noted": segment.noted.tolist(),
        "n_tasks": segment.n_tasks,
        "counts": asdict(count),
    }
    spill.write(_CHECKPOINT, segment.opened, np.arange(len(segment.opened)), notes)


def _resume(spill: Spill, count: Counts, parts: list[Part]) -> tuple[Tasks, Segment] | None:
    """The state after the parts that are done, if it is there and whole."""
    checkpoint = spill.find(_CHECKPOINT, OPEN)
    if checkpoint is None or checkpoint.notes["done"] > len(parts):
        return None
    notes: Mapping[str, Any] = checkpoint.notes
    done = range(notes["done"])
    tasks = [spill.find(f"tasks-{number:05}", TASK) for number in done]
    attempts = [spill.find(f"attempts-{number:05}", ATTEMPT) for number in done]
    found = Tasks(
        [run for run in tasks if run],
        [run for run in attempts if run],
        Names.of(notes["users"]),
        np.array(notes["machines"], dtype=np.int64),
        notes["end"],
    )
    if not len(found.tasks) == len(found.attempts) == len(done):
        return None
    segment = Segment(
        strict=notes["strict"],
        first_uid=notes["first_uid"],
        last_time=notes["last_time"],
        dropped=np.array(notes["dropped"], dtype=np.int64),
        noted=np.array(notes["noted"], dtype=np.int64),
        opened=checkpoint.records(),
        n_tasks=notes["n_tasks"],
        seen=indices_of(found.tasks[notes["begun"] :]),
    )
    count.add(Counts(**notes["counts"]))
    return found, segment


def indices_of(tasks: list[Run]) -> Indices:
    """Which tasks the runs hold."""
    indices = Indices.none()
    for run in tasks:
        records = run.records()
        indices.add(records["job"], records["index"])
    return indices
