"""Hadoop job history as Rumen writes it (JSON), with or without its topology file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.growing import MISSING, since
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.json_objects import json_objects
from failgym.traces.readers.rumen.hosts import Hosts, read_topology
from failgym.traces.readers.rumen.jobs import GROUPS, PRIORITIES, Jobs
from failgym.traces.readers.sources import Paths, find_files, naming_source, opened, reading
from failgym.traces.schema import TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["read_rumen"]

MADE_BY_RUMEN = "a Rumen job trace (*.json; Rumen's TraceBuilder makes it of job histories)"
CITATION = "Apache Hadoop: Rumen, a tool for extracting and analysing Hadoop job history"


@naming_source
def read_rumen(path: Paths, *, topology: str | Path | None = None, progress: bool = False) -> Trace:
    """Read the job trace that Hadoop's Rumen (TraceBuilder) writes, of old and newer versions.

    A trace is a sequence of JSON objects (LoggedJob), or an array of them; of a folder, all
    `*.json` files are read, those with "topology" in their name as topology. The topology file
    (LoggedNetworkTopology: nested `name` and `children`) gives machines and racks; without it they
    are those that attempts name as `/rack/host`.

    - Jobs: submit (else launch, else first attempt), user, name, queue, priority (0 VERY_LOW to 4
      VERY_HIGH), and from `jobProperties` whether maps or reduces are speculated, the attempt
      limit, and the attempts before skip mode; width = tasks that are listed.
    - Tasks: maps, reduces and others (setup, cleanup), each kind a stage; index = rank among the
      job's tasks by stage and number. Memory is what the job asks for (else its heap), as a
      fraction of the largest in the trace. Output is the task's, else its successful attempt's.
    - A wide edge leads from maps to reduces; its bytes are what the reduces shuffled, else what the
      maps wrote, else 0.
    - Attempts decide, not the times of their tasks, which are unreliable. A map (or setup) waits
      from its job's launch; when other tasks became ready is not recorded. Times that are 0 or
      negative are missing.

    | told                                               | outcome  | cause      |
    |----------------------------------------------------|----------|------------|
    | SUCCESS, SUCCEEDED                                 | FINISH   |            |
    | FAILED                                             | FAIL     | intrinsic  |
    | KILLED, overlaps a success of its task: lost       | KILL     | requeue    |
    | KILLED, begins after a success of its task         | KILL     | requeue    |
    | KILLED, its task ran on: another attempt begins    | KILL     | requeue    |
    | later, or has no end                               |          |            |
    | KILLED otherwise, in a job that was KILLED         | KILL     | user       |
    | KILLED otherwise, in a job that FAILED or finished | KILL     | dependency |
    | KILLED otherwise, in a job of unknown outcome      | KILL     | requeue    |
    | a result other than these, or none, but an end     | LOST     |            |
    | no end; the end is when its task succeeded         | LOST     |            |
    | no end otherwise (RUNNING, PREP, whatever is told) | CENSORED |            |
    | a task without attempts: one that never ran        | CENSORED |            |

    A losing clone is ended by the cluster, from outside, and its task lives on: hence requeue,
    never user. Those that begin after the success are such clones too, told by two hosts' clocks.

    An attempt that ended but has no start never ran (SUCCESS: lasts no time); one that ends before
    it begins lasts no time. Jobs and tasks that are listed twice, jobs without tasks or without any
    time, and attempts without any time are dropped. Every such case is counted.

    Raises TraceError, with file, line and field: not JSON; a field that is not what the format
    says; an unknown result or priority; nothing that can be used.
    """
    files, beside = _sources(path, topology)
    count = Counts()
    hosts = Hosts()
    jobs = Jobs(count, hosts)
    with reading([*files, *beside], "rumen", progress) as advance:
        for file in beside:
            read_topology(file, hosts, count, advance)
        for file in files:
            _check_converted(file)
            take = {group: partial(jobs.task, file, group) for group in GROUPS}
            for line, values in json_objects(file, advance, take):
                jobs.add(Fields(file, line, values))
    if not len(jobs.jobs):
        raise TraceError(f"{files[0]}: no job that can be used, expected Rumen's LoggedJob objects")
    return _assemble(jobs, count)


HISTORIES = (b"Meta VERSION=", b"Jobtracker ", b"Job JOBID=", b"Task TASKID=", b"Avro-")
"""How the job histories begin that Hadoop itself writes, of its versions 1 and 2."""


def _check_converted(file: Path) -> None:
    """Raise TraceError for a job history that Rumen has not converted."""
    with opened(file) as (_, content):
        if content.read(64).lstrip().startswith(HISTORIES):
            raise TraceError(
                f"{file}: a job history as Hadoop writes it, expected what Rumen makes of it:"
                " convert it by Rumen's TraceBuilder (org.apache.hadoop.tools.rumen.TraceBuilder)"
            )


def _sources(path: Paths, topology: str | Path | None) -> tuple[list[Path], list[Path]]:
    """The files of jobs, and those of topologies."""
    found = find_files(path, (".json",), MADE_BY_RUMEN)
    named = {Path(one) for one in ([path] if isinstance(path, str | Path) else path)}
    beside = [file for file in found if file not in named and "topology" in file.name]
    files = [file for file in found if file not in beside]
    if not files:
        raise TraceError(f"{beside[0]}: a topology alone, expected a Rumen job trace beside it")
    if topology is not None:
        beside = find_files(topology, (".json",), "Rumen topology (*.json)")
    return files, beside


def _assemble(jobs: Jobs, count: Counts) -> Trace:
    origin, last = jobs.earliest, jobs.latest
    job, task, attempt = jobs.jobs.columns(), jobs.tasks.columns(), jobs.attempts.columns()
    job["submit"] = since(jobs.jobs.integers("submit"), origin)
    for name in ("queued", "start"):
        attempt[name] = since(jobs.attempts.integers(name), origin)
    end = jobs.attempts.integers("end")
    attempt["end"] = np.where(end == MISSING, last, end) - origin
    asked = jobs.tasks.numbers("memory")
    largest = float(np.nanmax(asked)) if not np.isnan(asked).all() else float("nan")
    task["memory"] = asked / largest
    attempt["mean_memory"] = jobs.attempts.numbers("mean_memory") / largest
    tables: dict[str, Any] = {
        "jobs": job,
        "tasks": task,
        "attempts": attempt,
        "placements": jobs.placements.columns(),
        "machines": jobs.hosts.columns(count),
        "stages": jobs.stages.columns(),
        "stage_edges": jobs.edges.columns(),
    }
    remarks = {
        "priority": ", ".join(f"{number} {name}" for number, name in enumerate(PRIORITIES)),
        "memory": "of the largest request in the trace; mean_memory: as last sampled, likewise",
    }
    if largest == largest:
        remarks["largest memory request [MB]"] = f"{largest:g}"
    meta = Meta(
        source="rumen",
        citation=CITATION,
        time_origin="the earliest time in the trace",
        end=last - origin,
        rows_read=count.rows_read,
        dropped=count.dropped,
        noted=count.noted,
        remarks=remarks,
        unix_origin=origin,
    )
    return in_order(meta, **tables)
