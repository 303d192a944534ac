"""Google's cluster traces of 2019 (ClusterData2019, "version 3"), as exported from BigQuery.

John Wilkes: Google cluster-usage traces v3. Google Inc., 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2019.columns import (
    COLLECTION_EVENTS,
    INSTANCE_EVENTS,
    INSTANCE_USAGE,
    MACHINE_EVENTS,
    NONE,
)
from failgym.traces.readers.google_2019.machines import Machines, read_machines
from failgym.traces.readers.google_2019.table import Table, read_table
from failgym.traces.readers.google_2019.tasks import (
    Collections,
    Ends,
    Life,
    attempts_columns,
    clean,
    collections_of,
    ends_of,
    jobs_table,
    last_time,
    live,
    tasks_table,
)
from failgym.traces.readers.google_2019.usage import UNKNOWN_ATTEMPT, windows_table
from failgym.traces.readers.sources import Advance, Paths, find_files, naming_source, reading
from failgym.traces.schema import TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["Lives", "find_sources", "meta_of", "read_google_2019", "read_whole", "told_of_rows"]

LICENCE = "CC-BY 4.0"
CITATION = (
    "Muhammad Tirmazi, Adam Barker, Nan Deng, Md Ehtesam Haque, Zhijing Gene Qin, Steven Hand,"
    " Mor Harchol-Balter, John Wilkes: Borg: the Next Generation. EuroSys 2020"
)
TIME_ORIGIN = "600 s before the beginning of Google's traces, 2019-05-01 00:00 PDT"
UNIX_ORIGIN = 1_556_693_400_000
"""2019-05-01 00:00 PDT less 600 s [ms since 1970]."""

TABLES = {
    "machine_events": MACHINE_EVENTS,
    "instance_events": INSTANCE_EVENTS,
    "collection_events": COLLECTION_EVENTS,
    "instance_usage": INSTANCE_USAGE,
}
REMARKS = {
    "priority": (
        "tiers: up to 99 free, 100-115 best-effort batch, 116-119 mid, 120-359 production,"
        " 360 and above monitoring"
    ),
    "scheduling class": "0 (least latency-sensitive) to 3",
    "resources": "fractions of the largest machine, as the source has them",
}


@naming_source
def read_google_2019(path: Paths, *, progress: bool = False) -> Trace:
    """Read `machine_events`, `instance_events`, `collection_events` and `instance_usage`, or any.

    A file belongs to the table that its name holds (`instance_events-000000000000.json.gz`); in a
    folder, so do the files of a folder of that name, and the others are not looked at. Each may be
    JSON lines, CSV with a header (structures as JSON, or in columns like `capacity.cpus`) or
    Parquet, packed or not. Integers may be texts, codes may be names; rows may be in any order, and
    are held in memory (about 60 bytes each; 120 with what is made of them). Needed columns: time,
    type, and the ids of what the event is about.

    - An attempt is one SUBMIT of an instance: queued, start (null if it was never scheduled), end,
      outcome, and the machine of its SCHEDULE. A SUBMIT at most 1 ms after the instance's end is
      the cluster's requeue, the next attempt of the same task; a later one is the user running the
      task again, and makes a new task. QUEUE, ENABLE or SCHEDULE after an end, without a SUBMIT, is
      the next attempt too, but for a FINISH, which makes a new task.
    - Of several events of an instance at one time, that is taken first which its state allows.
    - What is open at the last instance event, of any type, is CENSORED there. Time 0 is before the
      trace.
    - Requests are those of a task's first SCHEDULE (of its first event if it never ran). A job of
      which one instance may be on a machine has anti-affinity.
    - A job's outcome is its own, CENSORED if it did not end by the last instance event; its width
      the number of distinct indices; name = logical name, else name.
    - Alloc sets are reservations, not jobs: their events are dropped.
    - Machines: the first capacity and switch (the failure domain) that are told; an outage lasts
      from REMOVE to the next ADD.
    - A record of usage is a window of the attempt of its instance that ran at its middle: average
      cpu and memory, maximum memory.
    - Without instance events, each collection is a job of one task; machine events alone make a
      trace of machines and outages. Usage needs instance events.

    | event                                                      | outcome | cause      |
    |------------------------------------------------------------|---------|------------|
    | FINISH                                                     | FINISH  |            |
    | FAIL                                                       | FAIL    | intrinsic  |
    | EVICT, its machine was removed within 1 s                  | EVICT   | machine    |
    | EVICT otherwise                                            | EVICT   | preemption |
    | KILL, requeued by the cluster                              | KILL    | requeue    |
    | KILL, when or after the job's parent or alloc set ended    | KILL    | dependency |
    | (at most 1 s before)                                       |         |            |
    | KILL otherwise                                             | KILL    | user       |
    | LOST                                                       | LOST    |            |

    Dropped and counted by reason: UPDATE events, events after the end of the trace, rows without a
    needed column, events that the state of their instance or machine does not allow, collection and
    machine events after the last instance event, jobs without instances, usage of no known attempt
    and usage that ends before it begins. Rows that Google made up
    for missing data (`missing_type`) are counted. Times are floored from microseconds, last.

    Raises TraceError, with file and line: a file of which the name does not say the table; not
    JSON, CSV or Parquet; a field that is not what the format says; usage without instance events;
    nothing that can be used.
    """
    files = find_sources(path)
    count = Counts()
    everything = [file for listed in files.values() for file in listed]
    with reading(everything, "google-2019", progress) as advance:
        tables = {name: read_whole(name, listed, count, advance) for name, listed in files.items()}
    columns, end = _columns(tables, not files["instance_events"], count)
    if not len(columns["attempts"]["task"]) and not len(columns["machines"]["speed"]):
        raise TraceError(f"{everything[0]}: no event that can be used")
    return in_order(meta_of(end, count), **columns)


def meta_of(end: int, count: Counts) -> Meta:
    """The meta data of a trace that ends at a time [us]."""
    return Meta(
        source="google-2019",
        licence=LICENCE,
        citation=CITATION,
        time_origin=TIME_ORIGIN,
        end=end // 1000,
        rows_read={name: n for name, n in count.rows_read.items() if n},
        dropped={reason: n for reason, n in count.dropped.items() if n},
        noted={reason: n for reason, n in count.noted.items() if n},
        remarks=REMARKS,
        unix_origin=UNIX_ORIGIN,
    )


NO_TABLES = ("SHA256SUMS", "SOURCE.txt")
"""Files that `failgym trace fetch` writes beside those of tables."""


def find_sources(path: Paths) -> dict[str, list[Path]]:
    """The files of each table."""
    given = [Path(path)] if isinstance(path, str | Path) else [Path(one) for one in path]
    files: dict[str, list[Path]] = {name: [] for name in TABLES}
    for one in given:
        inside = _folder(one) if one.is_dir() else find_files(one, ("",), "table")
        for file in inside:
            table = _table(file.name) or _table(file.parent.name)
            if table is None:
                raise TraceError(f"{file}: expected {', '.join(TABLES)} in the file's name")
            files[table].append(file)
    if not any(files.values()):
        raise TraceError(f"{given[0] if given else 'source'}: holds no {', '.join(TABLES)}")
    if files["instance_usage"] and not files["instance_events"]:  # terabytes, for nothing
        raise TraceError(
            f"{files['instance_usage'][0]}: usage of unknown instances: expected files of"
            " instance_events with it"
        )
    return files


def _folder(folder: Path) -> list[Path]:
    """The files of tables in a folder, and in folders of it that are named after a table."""
    try:
        inside = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
        whole = _table(folder.name) is not None
        inside = [one for one in inside if one.name not in NO_TABLES]
        files = [one for one in inside if one.is_file() and (whole or _table(one.name))]
        for one in inside:
            if one.is_dir() and _table(one.name) is not None:
                files += _folder(one)
    except OSError as error:
        raise TraceError(f"{folder}: cannot be read: {error.strerror}") from error
    return files


def _table(name: str) -> str | None:
    return next((table for table in TABLES if table in name), None)


def read_whole(name: str, files: list[Path], count: Counts, advance: Advance) -> Table:
    """All rows of a table, counted."""
    table = read_table(files, TABLES[name], advance)
    told_of_rows(name, table.rows + table.incomplete, table.incomplete, count)
    return table


def told_of_rows(name: str, rows: int, incomplete: int, count: Counts) -> None:
    """Count the rows of a table, and those left out because a needed column is missing."""
    what = name.replace("_", " ")
    count.read(what, rows)
    count.drop(f"{what.removesuffix('s')} without a time, a type or an id", incomplete)


def _columns(
    tables: dict[str, Table], alone: bool, count: Counts
) -> tuple[dict[str, dict[str, Any]], int]:
    """The columns of the trace, and its end [us]; empties `tables`, to hold the events no longer.

    `alone`: there are no instance events.
    """
    instances, told = tables.pop("instance_events"), tables.pop("collection_events")
    end = last_time(told if alone else instances)
    ends = ends_of(told, end)
    lives = Lives.of(instances, told, end, count, alone=alone)
    jobs = lives.life.events.rows > 0
    machines, last = read_machines(tables.pop("machine_events"), end if jobs else None, count)
    usage = tables.pop("instance_usage")
    return lives.columns(ends, machines, usage, count), end if jobs else last


@dataclass
class Lives:
    """What became of jobs, and what their own events say of them."""

    life: Life
    told: Table
    alone: bool
    """they are made of collection events: instances and their usage are not known"""

    @classmethod
    def of(
        cls, instances: Table, told: Table, end: int, count: Counts, *, alone: bool = False
    ) -> Lives:
        """Follow jobs of which all events are there; the tables are changed.

        Args:
            instances: their instance events.
            told: their collection events.
            end: the time of the last instance event [us].
            count: what is dropped and noted.
            alone: there are no instance events at all.
        """
        _leave_out_alloc_sets(instances, told)
        clean(instances, "instance event", end, count)
        clean(told, "collection event", end, count)
        if alone:
            instances = _collections_alone(told, count)
        return cls(live(instances, end, count), told, alone)

    def columns(
        self, ends: Ends, machines: Machines, usage: Table, count: Counts
    ) -> dict[str, dict[str, Any]]:
        """The columns of the trace; `ends` are those of all collections."""
        jobs = collections_of(self.told)
        columns = _assemble(self.life, jobs, ends, self.told, machines, count)
        if self.alone:
            count.drop(UNKNOWN_ATTEMPT, usage.rows)
            return columns
        return columns | {"windows": windows_table(usage, self.life, count)}


def _leave_out_alloc_sets(instances: Table, told: Table) -> None:
    """Let the instances know of what type their collections are."""
    kind = told.ints("collection_type")
    allocs = np.unique(told.ints("collection_id")[kind == 1])
    unknown = instances.ints("collection_type") == NONE
    of_allocs = np.isin(instances.ints("collection_id"), allocs)
    instances.values["collection_type"][unknown & of_allocs] = 1


def _collections_alone(told: Table, count: Counts) -> Table:
    """The collection events as events of an instance each."""
    if told.rows:
        ids = len(np.unique(told.ints("collection_id")))
        count.note("job without instance events: taken to be of one task", ids)
    values = {name: told.ints(name) for name in ("time", "type", "collection_id")}
    values |= {name: told.ints(name) for name in ("priority", "scheduling_class")}
    values["instance_index"] = np.zeros(told.rows, dtype=np.int64)
    values["machine_id"] = np.full(told.rows, -1, dtype=np.int64)
    nothing: dict[str, Any] = {
        f"resource_request.{name}": np.full(told.rows, np.nan) for name in ("cpus", "memory")
    }
    return Table(told.columns, values | nothing, {}, told.rows, 0)


def _assemble(
    life: Life, jobs: Collections, ends: Ends, told: Table, machines: Machines, count: Counts
) -> dict[str, dict[str, Any]]:
    ids, job = jobs_table(life, jobs, told, count)
    limit = np.full(len(ids), NONE, dtype=np.int64)
    _, rows, of = np.intersect1d(ids, jobs.ids, assume_unique=True, return_indices=True)
    limit[rows] = jobs.values["max_per_machine"][of]
    of_tasks = life.events.ints("collection_id")[life.tasks["first"]]
    attempts = attempts_columns(life, jobs.ends_of_dependencies(of_tasks, ends))
    machine = attempts.pop("machine")
    attempts["cause"] = machines.causes({**attempts, "machine": machine}, attempts["cause"])
    placed = np.flatnonzero(machine >= 0)
    known = np.array(sorted(machines.by_id), dtype=np.int64)
    machine_ids = np.union1d(known, machine[placed])
    columns: dict[str, Any] = {
        name: np.ma.MaskedArray(values, mask=values < 0)
        if name in ("queued", "start", "cause")
        else values
        for name, values in attempts.items()
    }
    return {
        "jobs": job,
        "tasks": tasks_table(life, ids, limit),
        "attempts": columns,
        "placements": {
            "attempt": placed,
            "machine": np.searchsorted(machine_ids, machine[placed]),
            "slots": np.ones(len(placed), dtype=np.int32),
        },
        **machines.tables(machine_ids),
    }
