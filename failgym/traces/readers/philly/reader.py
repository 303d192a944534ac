"""Microsoft's Philly traces: the jobs of a GPU cluster for deep learning, 2017."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.growing import MISSING, since
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.json_objects import json_objects
from failgym.traces.readers.philly.jobs import Jobs
from failgym.traces.readers.sources import (
    Advance,
    Paths,
    find_files,
    naming_source,
    reading,
    text_lines,
)
from failgym.traces.schema import TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["read_philly"]

CITATION = (
    "Myeongjae Jeon, Shivaram Venkataraman, Amar Phanishayee, Junjie Qian, Wencong Xiao, Fan Yang:"
    " Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads."
    " USENIX ATC 2019"
)
LICENCE = "published by Microsoft as is; cite the paper"

JOB_LOG, MACHINE_LIST = "cluster_job_log", "cluster_machine_list"


@naming_source
def read_philly(path: Paths, *, progress: bool = False) -> Trace:
    """Read `cluster_job_log` of the Philly traces: a JSON array of jobs (or jobs one by one).

    Of a folder, `cluster_job_log` (maybe `.json`) is read, and `cluster_machine_list` if it is
    there, which tells the GPUs of each machine.

    - A job is a gang: one task, as wide as the GPUs of its first attempt that tells them (1 if none
      does), which are its request of them, too. Its virtual cluster is the queue.
    - An attempt is placed on the machines of its `detail`, with as many slots as GPUs.
    - Times are taken to be of the US Pacific zone, with its daylight saving time: the log does not
      say, but the utilization tables beside it write `PST` or `PDT` behind theirs, which may follow
      here too. null, "" and "None" are missing times.
    - The first attempt waits from the submission on; when a retry was queued is not recorded.

    | told                                              | outcome  | cause     |
    |---------------------------------------------------|----------|-----------|
    | Pass: the job, and its last attempt               | FINISH   |           |
    | Failed: the job, and its last attempt             | FAIL     | intrinsic |
    | Killed: the job, and its last attempt             | KILL     | user      |
    | an attempt before the last: it was retried        | FAIL     | intrinsic |
    | no end of the last attempt: the job, and it       | CENSORED |           |
    | no attempts: one that never ran (the job as told) | CENSORED |           |

    A job whose last attempt has no end was still running when the log was taken, whatever its
    status (so the source says).

    An attempt before the last without an end ends when the next one is heard of; one with an end
    only never ran (of a job that passed: lasts no time); one that ends before it begins lasts no
    time. Jobs that are listed twice or have no time at all, and attempts before the last without
    any time, are dropped. Every such case is counted.

    Raises TraceError, with file, line and field: not JSON; a field that is not what the format
    says; no job that can be used.
    """
    files, lists = _sources(path)
    count = Counts()
    jobs = Jobs(count)
    gpus: dict[str, int] = {}
    with reading([*files, *lists], "philly", progress) as advance:
        for file in files:
            for line, values in json_objects(file, advance):
                jobs.add(Fields(file, line, values))
        for file in lists:
            gpus |= _machine_list(file, count, advance)
    if not len(jobs.jobs):
        raise TraceError(f"{files[0]}: no job that can be used, expected Philly's cluster_job_log")
    return _assemble(jobs, gpus, count)


def _sources(path: Paths) -> tuple[list[Path], list[Path]]:
    """The job logs, and the machine lists beside them in folders."""
    given = [Path(path)] if isinstance(path, str | Path) else [Path(one) for one in path]
    files = find_files(path, (JOB_LOG, f"{JOB_LOG}.json"), f"Philly job log ({JOB_LOG})")
    folders = [one for one in given if one.is_dir()]
    beside = [file for folder in folders for file in sorted(folder.iterdir())]
    return files, [file for file in beside if file.name.startswith(MACHINE_LIST)]


_GPUS = re.compile(r"[0-9]{1,7}")


def _machine_list(file: Path, count: Counts, advance: Advance) -> dict[str, int]:
    """The GPUs of each machine: rows `machineId, number of GPUs, single GPU mem` under a header."""
    gpus: dict[str, int] = {}
    for number, line in text_lines(file, advance):
        name, number_of, *_ = (part.strip() for part in f"{line},".split(",", 2))
        if name and _GPUS.fullmatch(number_of):
            count.read("machines of the machine list")
            gpus[name] = int(number_of)
        elif line.strip() and number > 1:
            raise TraceError(f"{file}, line {number}: expected a machine and its number of GPUs")
    return gpus


def _assemble(jobs: Jobs, gpus: dict[str, int], count: Counts) -> Trace:
    origin, last = jobs.earliest, jobs.latest
    for name in gpus:
        jobs.machine(name)
    job, attempt = jobs.jobs.columns(), jobs.attempts.columns()
    job["submit"] = since(jobs.jobs.integers("submit"), origin)
    for name in ("queued", "start"):
        attempt[name] = since(jobs.attempts.integers(name), origin)
    end = jobs.attempts.integers("end")
    attempt["end"] = np.where(end == MISSING, last, end) - origin
    tables: dict[str, Any] = {
        "jobs": job,
        "tasks": jobs.tasks.columns(),
        "attempts": attempt,
        "placements": jobs.placements.columns(),
        "machines": {
            "original_id": list(jobs.machines),
            "slots": [gpus.get(name) for name in jobs.machines],
            "speed": [1.0] * len(jobs.machines),
        },
    }
    meta = Meta(
        source="philly",
        licence=LICENCE,
        citation=CITATION,
        time_origin="the earliest time in the log",
        end=last - origin,
        rows_read=count.rows_read,
        dropped=count.dropped,
        noted=count.noted,
        remarks={
            "slots": "GPUs",
            "time zone": "US Pacific, with daylight saving time, as in the source's other tables",
        },
        unix_origin=origin,
    )
    return in_order(meta, **tables)
