"""Google's cluster trace of 2011 (ClusterData2011), in the published format.

Charles Reiss, John Wilkes, Joseph L. Hellerstein: Google cluster-usage traces: format + schema.
Google Inc., 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from failgym.arrow import pa
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2011.events import Tasks, read_tasks
from failgym.traces.readers.google_2011.jobs import Jobs, make_jobs, read_job_events
from failgym.traces.readers.google_2011.machines import Machines, read_machines
from failgym.traces.readers.google_2011.parts import Part, find_parts
from failgym.traces.readers.google_2011.runs import Run, Spill
from failgym.traces.readers.google_2011.tables import make_tables
from failgym.traces.readers.google_2011.usage import make_windows, read_usage
from failgym.traces.readers.google_2011.work import working_folder
from failgym.traces.readers.sources import Advance, naming_source, reading
from failgym.traces.schema import TABLES, Table, TraceError, make_table
from failgym.traces.store import check_destination, writing
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.traces.validate import Validator

LICENCE = "CC-BY 4.0"
CITATION = (
    "Charles Reiss, John Wilkes, Joseph L. Hellerstein: Google cluster-usage traces:"
    " format + schema. Google Inc., 2011"
)
TIME_ORIGIN = "600 s before the beginning of Google's trace of May 2011"


@naming_source
def read_google_2011(path: str | Path, *, progress: bool = False) -> Trace:
    """Read a folder with `task_events/`, and other tables where they are present.

    Any subset of the published parts will do (`part-?????-of-?????.csv.gz` or `.csv`); each run
    of consecutive parts of `task_events` is a segment. `task_usage/` becomes windows,
    `machine_events/` capacities and outages. Without `job_events/` jobs have no names and are
    CENSORED, and are submitted when a task of theirs is first heard of. With `progress`, a bar is
    shown on standard error.

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
      trace, events that the state of their task or machine does not allow, job and machine events
      after the last task event, jobs without tasks, usage of no known attempt.

    Times are floored from microseconds to milliseconds, last.

    Raises TraceError, in one line naming file, line and column: a missing or empty folder, a
    corrupt or truncated file, a row with too few columns, a field that is no number or out of
    bounds (a time more than 2,200 years after the origin), an unknown event type, a task that does
    not begin with its SUBMIT.
    """
    tables: dict[str, list[Table]] = {name: [make_table(name)] for name in TABLES}
    parts = _find_all(Path(path))
    with reading(_files(parts), "google-2011", progress) as advance:
        made = _Reading.of(parts, Spill(), advance)
        for name, rows in made.pieces():
            tables[name].append(rows)
    return Trace(made.meta, **{name: _joined(pieces) for name, pieces in tables.items()})


@naming_source
def import_google_2011(source: str | Path, out: str | Path, progress: bool = False) -> Meta:
    """Read a folder as `read_google_2011` does and save the trace at `out`, in bounded memory.

    Memory is bounded by the open tasks, one part and the jobs, whatever the number of parts: what
    is over is spilled after each part into a hidden folder beside `out`, and read back range by
    range. An import that was killed goes on there at the first part that is not done, if the files
    of the source are still the same, with the same result. Returns the trace's meta data.

    Raises TraceError as `read_google_2011` and `Trace.save` do; nothing half-written is ever at
    `out`.
    """
    parts, out = _find_all(Path(source)), Path(out)
    check_destination(out)
    with (
        working_folder(out, parts) as spill,
        writing(out) as writer,
        reading(_files(parts), "google-2011", progress) as advance,
    ):
        made = _Reading.of(parts, spill, advance)
        validator = Validator(made.rows)
        for name, rows in made.pieces():
            validator.check(name, rows)
            writer.append(name, rows)
        validator.finish()
        writer.finish(made.meta)
    return made.meta


_UNKNOWN = {
    "job_events": (
        "names and outcomes of jobs are not known (all are CENSORED); they are submitted when a"
        " task of theirs is first heard of"
    ),
    "machine_events": "capacities and outages of machines are not known",
    "task_usage": "what attempts used is not known",
}
"""Tables that may be absent, and what is not known then."""


@dataclass
class _Reading:
    """A trace in the making: everything but the usage is read, and what is over is spilled."""

    parts: dict[str, list[Part]]
    spill: Spill
    advance: Advance
    count: Counts
    tasks: Tasks
    machines: Machines
    jobs: Jobs
    started: list[Run] = field(default_factory=list[Run])

    @classmethod
    def of(cls, parts: dict[str, list[Part]], spill: Spill, advance: Advance) -> _Reading:
        """Read task, job and machine events."""
        count = Counts()
        tasks = read_tasks(parts["task_events"], spill, count, advance)
        if not any(run.rows for run in tasks.tasks):
            folder = parts["task_events"][0].file.parent
            raise TraceError(f"{folder}: no task events that can be used")
        events = read_job_events(parts["job_events"], tasks, count, advance)
        machines = read_machines(parts["machine_events"], tasks.end, count, advance)
        jobs = make_jobs(tasks, events, count)
        return cls(parts, spill, advance, count, tasks, machines, jobs)

    @property
    def rows(self) -> dict[str, int]:
        """Rows of the tables to which others refer."""
        return {
            "jobs": len(self.jobs.ids),
            "tasks": sum(run.rows for run in self.tasks.tasks),
            "attempts": sum(run.rows for run in self.tasks.attempts),
            "machines": len(np.union1d(self.machines.ids, self.tasks.machines)),
        }

    def pieces(self) -> Iterator[tuple[str, Table]]:
        """Names of tables and their next rows."""
        machine_ids = np.union1d(self.machines.ids, self.tasks.machines)
        yield "jobs", make_table("jobs", self.jobs.columns)
        for name, columns in self.machines.tables(machine_ids).items():
            yield name, make_table(name, columns)
        usage = self.parts["task_usage"]
        started = self.started if usage else None
        for name, columns in make_tables(self.tasks, self.jobs, self.machines, self.spill, started):
            yield name, make_table(name, columns)
        windows = read_usage(usage, self.started, self.spill, self.count, self.advance)
        for columns in make_windows(windows):
            yield "windows", make_table("windows", columns)

    @property
    def meta(self) -> Meta:
        """The meta data, complete once all pieces were taken."""
        return Meta(
            source="google-2011",
            licence=LICENCE,
            citation=CITATION,
            time_origin=TIME_ORIGIN,
            end=self.tasks.end // 1000,
            rows_read=self.count.rows_read,
            dropped={reason: n for reason, n in self.count.dropped.items() if n},
            noted={reason: n for reason, n in self.count.noted.items() if n},
            remarks={f"no {name}": said for name, said in _UNKNOWN.items() if not self.parts[name]},
        )


def _joined(pieces: list[Table]) -> Table:
    joined: Any = pa.concat_tables(pieces).combine_chunks()
    return joined


def _find_all(folder: Path) -> dict[str, list[Part]]:
    """Table -> its parts; none of those but task_events where they are absent."""
    if not folder.is_dir():
        raise TraceError(f"{folder}: no such folder: expected one with task_events")
    parts = {"task_events": find_parts(folder / "task_events")}
    for name in _UNKNOWN:
        parts[name] = find_parts(folder / name) if (folder / name).is_dir() else []
    return parts


def _files(parts: dict[str, list[Part]]) -> list[Path]:
    return [part.file for listed in parts.values() for part in listed]
