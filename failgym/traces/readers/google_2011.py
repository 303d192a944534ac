"""Google's cluster trace of 2011 (ClusterData2011), in the published format.

Charles Reiss, John Wilkes, Joseph L. Hellerstein: Google cluster-usage traces: format + schema.
Google Inc., 2011.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.google_2011_kernel import (
    DROPPED,
    EVENT,
    EVENT_NAMES,
    NOTED,
    SUBMIT,
    UPDATE_PENDING,
)
from failgym.traces.readers.google_2011_machines import read_machines
from failgym.traces.readers.google_2011_tables import JobEvents, Tasks, assemble
from failgym.traces.readers.google_2011_tasks import Finished, Segment
from failgym.traces.readers.google_2011_usage import read_usage
from failgym.traces.readers.parts import (
    INT32,
    INT64,
    Advance,
    Block,
    Column,
    Counts,
    Part,
    field_error,
    find_parts,
    read_part,
    segments,
    time_column,
)
from failgym.traces.trace import Meta, Trace, TraceError

Ints = npt.NDArray[np.int64]

LICENCE = "CC-BY 4.0"
CITATION = (
    "Charles Reiss, John Wilkes, Joseph L. Hellerstein: Google cluster-usage traces:"
    " format + schema. Google Inc., 2011"
)
TIME_ORIGIN = "600 s before the beginning of Google's trace of May 2011"

AFTER_THE_TRACE = INT64
"""The time of what happened after the end of the whole trace."""

TASK_COLUMNS = (
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

JOB_COLUMNS = (
    time_column("time"),
    Column("missing info", "integer", used=False),
    Column("job ID", "integer", required=True),
    Column("event type", "integer", required=True),
    Column("user", "text"),
    Column("scheduling class", "integer", largest=INT32),
    Column("job name", "text"),
    Column("logical job name", "text", used=False),
)

JOB_FIELDS = ("job", "time", "type", "scheduling_class", "user", "name")
NO_ROWS = np.empty(0, dtype=np.int64)

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


def read_google_2011(path: str | Path, *, progress: bool = False) -> Trace:
    """Read a folder with `task_events/` and `job_events/`, and others where they are present.

    Any subset of the published parts will do (`part-?????-of-?????.csv.gz` or `.csv`); each run
    of consecutive parts of `task_events` is a segment. `task_usage/` becomes windows,
    `machine_events/` capacities and outages. With `progress`, a bar is shown on standard error.

    - An attempt is one SUBMIT: queued, start (null if it was never scheduled), end, outcome, and
      the machine of its SCHEDULE. A SUBMIT at most 1 ms after the task's end is the cluster's
      requeue, the next attempt of the same task; a later one is the user running the task again,
      and makes a new task.
    - What is open at the end of a segment is CENSORED there. In a segment that starts at part 0
      an event before its task's SUBMIT is an error; in a later one, ends of attempts that were
      never seen are dropped, and tasks first seen at SCHEDULE have no queued time.
    - Requests, priority and class are those of the first SCHEDULE (of the SUBMIT if it never ran).
    - A job's outcome is its own, CENSORED if it did not end by the last task event; its width the
      number of distinct task indices; its priority and class those of its first scheduled task.
    - Causes: FAIL is intrinsic, EVICT pre-emption (machine, where `machine_events` has its machine
      removed then), KILL requeue if the cluster requeues it, else user; LOST has none.
    - Dropped and counted by reason (`Trace.meta`): UPDATE events, events after the end of the
      trace, events that the state of their task does not allow, job events after the last task
      event, jobs without tasks.

    Times are floored from microseconds to milliseconds, last.

    Raises TraceError, in one line naming file, line and column: a missing or empty folder, a
    corrupt or truncated file, a row with too few columns, a field that is no number or out of
    bounds (a time more than 2,200 years after the origin), an unknown event type, a task that does
    not begin with its SUBMIT.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise TraceError(f"{folder}: no such folder: expected one with task_events and job_events")
    parts = {name: find_parts(folder / name) for name in ("task_events", "job_events")}
    for name in ("machine_events", "task_usage"):
        parts[name] = find_parts(folder / name) if (folder / name).is_dir() else []
    count = Counts()
    with _progress_bar(parts, progress) as advance:
        tasks = _read_tasks(parts["task_events"], count, advance)
        if not any(len(chunk) for chunk in tasks.finished.tasks):
            raise TraceError(f"{folder / 'task_events'}: no task events that can be used")
        jobs = _read_jobs(parts["job_events"], tasks, count, advance)
        machines = read_machines(parts["machine_events"], tasks.end, count, advance)
        tables, runs = assemble(tasks, jobs, machines, count)
        tables["windows"] = read_usage(parts["task_usage"], runs, count, advance)
    meta = Meta(
        source="google-2011",
        licence=LICENCE,
        citation=CITATION,
        time_origin=TIME_ORIGIN,
        end=tasks.end // 1000,
        rows_read=count.rows_read,
        dropped={reason: n for reason, n in count.dropped.items() if n},
        noted={reason: n for reason, n in count.noted.items() if n},
    )
    return Trace.of(meta, **tables)


@dataclass
class _Names:
    """Texts numbered in the order in which they appear."""

    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def encode(self, block: Block, column: str) -> Ints:
        """The numbers of a dictionary-encoded text column, -1 where it is missing."""
        texts, codes = block.texts(column)
        known = [self.numbers.setdefault(text, len(self.numbers)) for text in texts]
        return np.array([*known, -1], dtype=np.int64)[codes]


def _read_tasks(parts: list[Part], count: Counts, advance: Advance) -> Tasks:
    finished, users, uid, end = Finished(), _Names(), 0, 0
    for run in segments(parts):
        segment = Segment(strict=run[0].number == 0, first_uid=uid)
        for part in run:
            for block in read_part(part, TASK_COLUMNS, advance):
                count.read("task events", block.rows.num_rows)
                _feed(segment, block, users, count)
        uid = segment.close()
        end = max(end, segment.last_time)
        for reason, n in zip(DROPPED, segment.dropped.tolist(), strict=True):
            count.drop(reason, n)
        for reason, n in zip(NOTED, segment.noted.tolist(), strict=True):
            count.note(reason, n)
        count.note("tasks run again by the user (a new task)", segment.runs_again())
        finished.extend(segment.finished)
    return Tasks(finished, list(users.numbers), end)


def _feed(segment: Segment, block: Block, users: _Names, count: Counts) -> None:
    kept = _kept_rows(block, count, "task event")
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


def _kept_rows(block: Block, count: Counts, what: str) -> Ints:
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


def _read_jobs(parts: list[Part], tasks: Tasks, count: Counts, advance: Advance) -> JobEvents:
    """The job events up to the last task event."""
    users, names = _Names({user: n for n, user in enumerate(tasks.users)}), _Names()
    chunks: list[dict[str, Ints]] = []
    for part in parts:
        for block in read_part(part, JOB_COLUMNS, advance):
            count.read("job events", block.rows.num_rows)
            kept = _kept_rows(block, count, "job event")
            late = block.integers("time")[kept] > tasks.end
            count.drop("job event after the last task event", int(late.sum()))
            columns = {
                "job": block.integers("job ID"),
                "time": block.integers("time"),
                "type": block.integers("event type"),
                "scheduling_class": block.integers("scheduling class"),
                "user": users.encode(block, "user"),
                "name": names.encode(block, "job name"),
            }
            chunks.append({name: values[kept[~late]] for name, values in columns.items()})
    tasks.users[:] = list(users.numbers)
    joined = {name: np.concatenate([c[name] for c in chunks] or [NO_ROWS]) for name in JOB_FIELDS}
    return JobEvents(**joined, names=list(names.numbers))


@contextmanager
def _progress_bar(parts: dict[str, list[Part]], shown: bool) -> Generator[Advance]:
    """A bar over the bytes of all parts, on standard error."""
    if not shown:
        yield lambda consumed: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    total = sum(part.file.stat().st_size for listed in parts.values() for part in listed)
    bar = Progress(
        TextColumn("reading google-2011"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("reading", total=total)
        yield lambda consumed: bar.advance(task, consumed)
