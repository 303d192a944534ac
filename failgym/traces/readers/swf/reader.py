"""Workload logs and models in the Standard Workload Format (SWF), version 2.2.

S. J. Chapin et al.: Benchmarks and standards for the evaluation of parallel job schedulers. JSSPP
1999; its current definition is kept by the Parallel Workloads Archive.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa
from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.exit_status import CODES
from failgym.traces.readers.sources import Advance, Paths, find_files, naming_source, reading
from failgym.traces.readers.swf.clusters import Log, clusters_of, first_told
from failgym.traces.readers.swf.header import Header
from failgym.traces.readers.swf.lines import Rows, read_rows
from failgym.traces.readers.swf.runs import NONE, Meaning, Runs, meaning_of, milliseconds, runs_of
from failgym.traces.schema import LATEST, TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import HOUR, Cause, Outcome

__all__ = ["RESUBMISSION_WINDOW", "read_swf"]

Ints = npt.NDArray[np.int64]

RESUBMISSION_WINDOW: Final = HOUR
"""A job submitted this soon after a like one failed is its next attempt [ms]; our choice."""

ARCHIVE: Final = (
    "D. G. Feitelson, D. Tsafrir, D. Krakov: Experience with using the Parallel Workloads Archive."
    " Journal of Parallel and Distributed Computing 74(10), 2014"
)


@naming_source
def read_swf(
    path: Paths,
    *,
    infer_attempts: bool = False,
    merge_clusters: bool = False,
    progress: bool = False,
) -> Trace:
    """Read a log in Standard Workload Format: a file, a folder, or several (`.swf`, packed or not).

    A job is one task of as many slots as processors were allocated to it, else requested.

    ====== ==================== =============================================================
    status the format's words   attempt
    ====== ==================== =============================================================
    1      completed            FINISH
    0      failed               FAIL, cause intrinsic; cause walltime if it reached the
                                requested time in a log that enforces it
    5      cancelled            KILL, cause user, or walltime as above; never ran if the run time
                                is 0 or missing
    2      to be continued      EVICT, cause preemption: swapped out, or checkpointed
    3, 4   last partial         FINISH; FAIL, cause intrinsic
           execution
    -1     unknown              CENSORED
    ====== ==================== =============================================================

    (Sections "The Data Fields" and "Usage notes" of the definition.) Partial executions of a job,
    lines of its number with status 2 to 4, are its attempts; the line that sums them up is then not
    counted again. What they carry over from one to the next is not represented.

    Some logs hold exit codes in the status field, 0 for success: `swf_runs.meaning_of` says when
    that is assumed, and whether a log enforces requested times. Jobs then have an exit category,
    and failures the cause that goes with it (`exit_status`).

    A missing wait time is taken as 0 in logs, which have a UnixStartTime; a model's job of unknown
    fate and wait never started.

    Memory is per processor, as a fraction of MaxMemory, else of the largest request. Preceding
    jobs and think times are not represented.

    Args:
        path: one log; or several of which each states its UnixStartTime, put on one time line.
        infer_attempts: take a job for the next attempt of an earlier one by the same user with the
            same executable and width if it was submitted at most `RESUBMISSION_WINDOW` after the
            failure of that one. Off: every job is a task of its own.
        merge_clusters: take logs of different clusters for one; else several logs must be of one
            cluster, as `swf.clusters` tells.
        progress: show a progress bar on standard error.

    Raises TraceError naming file, line and field for a malformed log, and for one without a job.
    """
    files = find_files(path, (".swf",), "a log in Standard Workload Format (.swf)")
    counts = Counts()
    with reading(files, "jobs", progress) as advance:
        logs = [_read_log(file, advance) for file in files]
    origin = _origin(logs)
    merged = "" if len(logs) == 1 else clusters_of(logs, merge_clusters)
    rows, header = _joined(logs, origin, counts)
    del logs  # so that no row is there twice
    counts.read("lines", len(rows))
    meaning = meaning_of(rows, header)
    runs = runs_of(rows, meaning, origin is not None, counts)
    if not len(runs.row):
        raise TraceError(
            f"{files[0]}: holds no job that can be used: {counts.dropped or 'no lines'}"
        )
    end = int(max(runs.queued.max(), runs.start.max(), runs.end.max()))
    if end > LATEST:
        raise TraceError(
            f"{files[0]}: its last time is {end} ms after its beginning, expected at most {LATEST}"
        )
    runs = runs._replace(end=np.where(runs.end == NONE, end, runs.end))
    jobs, task = _tasks(rows, runs, infer_attempts, counts)
    return _assemble(rows, runs, jobs, task, _Source(header, meaning, origin, end, counts, merged))


@dataclass(frozen=True)
class _Source:
    """What there is to say about the whole source."""

    header: Header
    meaning: Meaning
    origin: int | None  # time 0 [s since 1970]
    end: int
    counts: Counts
    merged: str  # clusters that were taken for one, in words


def _read_log(file: Path, advance: Advance) -> Log:
    header = Header()
    blocks = [rows for _, rows in read_rows(file, header, advance)]
    if not sum(len(rows) for rows in blocks):
        raise TraceError(f"{file}: holds no job: expected lines of 18 numbers")
    return Log(file, np.concatenate(blocks), header)


def _origin(logs: list[Log]) -> int | None:
    starts = [log.unix_start for log in logs]
    known = [start for start in starts if start is not None]
    if len(logs) > 1 and len(known) < len(logs):
        unknown = logs[starts.index(None)].file
        raise TraceError(f"{unknown}: no UnixStartTime, expected one to join several logs")
    return min(known, default=None)


def _joined(logs: list[Log], origin: int | None, counts: Counts) -> tuple[Rows, Header]:
    """The rows of all logs, on one time line, and one header."""
    rows = [_shifted(log, origin) for log in logs]
    if len(logs) == 1:
        return rows[0], logs[0].header
    fresh = first_told(logs)
    if again := sum(int((~kept).sum()) for kept in fresh):
        counts.drop("job that another log of the cluster holds too", again)
    rows = [one[kept] for one, kept in zip(rows, fresh, strict=True)]
    return np.concatenate(rows), _merged([log.header for log in logs])


def _shifted(log: Log, origin: int | None) -> Rows:
    later = 0 if origin is None or log.unix_start is None else log.unix_start - origin
    if later:
        known = log.rows["submit time"] >= 0
        log.rows["submit time"][known] += later
    return log.rows


def _merged(headers: list[Header]) -> Header:
    """One header of several: the distinct lines of each field."""
    merged = Header()
    for header in headers:
        for name, lines in header.lines.items():
            merged.lines[name] = list(dict.fromkeys([*merged.lines.get(name, ()), *lines]))
    return merged


def _tasks(rows: Rows, runs: Runs, infer_attempts: bool, counts: Counts) -> tuple[Ints, Ints]:
    """The line that describes each task, and the task of each run."""
    lines, task = np.unique(runs.row, return_inverse=True)
    numbers = rows["job number"][lines]
    repeated = len(numbers) - len(np.unique(numbers))
    if repeated:
        counts.note("job number of an earlier job", repeated)
    if (preceded := int((rows["preceding job"][lines] >= 0).sum())) > 0:
        counts.note("names a preceding job", preceded)
    if not infer_attempts:
        return lines, task
    first = _first_of_resubmissions(rows, lines, runs, task)
    kept, of_job = np.unique(first, return_inverse=True)
    if len(kept) < len(lines):
        counts.note("jobs taken for the next attempt of a failed one", len(lines) - len(kept))
    return lines[kept], of_job[task]


def _first_of_resubmissions(rows: Rows, lines: Ints, runs: Runs, task: Ints) -> Ints:
    """For each job the first of the chain of failed and resubmitted jobs that it belongs to."""
    jobs = len(lines)
    last = np.zeros(jobs, dtype=np.int64)
    last[task] = np.arange(len(task))  # the last run of each job stays
    failed = (runs.outcome[last] == Outcome.FAIL).tolist()
    end, submit = runs.end[last], milliseconds(rows["submit time"][lines])
    width = _width(rows[lines])[0]
    user, executable = rows["user"][lines], rows["executable"][lines]
    key = np.stack([user, executable, width], axis=1)
    named = (user >= 0) & (executable >= 0)
    _, group = np.unique(key, axis=0, return_inverse=True)
    first = np.arange(jobs)
    waiting: dict[int, list[tuple[int, int]]] = {}  # failed jobs by when they ended
    for job in np.lexsort((np.arange(jobs), submit)).tolist():
        if not named[job]:
            continue
        at, alike = int(submit[job]), waiting.setdefault(int(group[job]), [])
        while alike and alike[0][0] + RESUBMISSION_WINDOW < at:
            heapq.heappop(alike)
        if alike and alike[0][0] <= at:
            first[job] = first[heapq.heappop(alike)[1]]
        if failed[job]:
            heapq.heappush(alike, (int(end[job]), job))
    return first


def _width(rows: Rows) -> tuple[Ints, int]:
    """Slots of each job, at least one, and the number of jobs that state none."""
    allocated, requested = rows["allocated processors"], rows["requested processors"]
    width = np.where(allocated > 0, allocated, requested).astype(np.int64)
    return np.maximum(width, 1), int((width < 1).sum())


def _memory_unit(rows: Rows, header: Header) -> tuple[float, str]:
    """What memory is a fraction of [KB per processor], and in words."""
    most, largest = (float(rows[f"{what} memory"].max()) for what in ("requested", "used"))
    limit = header.number("MaxMemory")
    if limit is not None and limit >= max(most, 1):
        return float(limit), f"MaxMemory, {limit} KB"
    if most > 0:
        return most, f"the largest request of a processor, {most:.0f} KB"
    if largest > 0:
        return largest, f"the largest use of a processor, {largest:.0f} KB"
    return 1.0, ""


def _assemble(rows: Rows, runs: Runs, jobs: Ints, task: Ints, source: _Source) -> Trace:
    described, counts = rows if len(jobs) == len(rows) else rows[jobs], source.counts
    width, unstated = _width(described)
    if unstated:
        counts.note("number of processors missing, taken as 1", unstated)
    unit, unit_in_words = _memory_unit(rows, source.header)
    last = np.zeros(len(jobs), dtype=np.int64)
    last[task] = np.arange(len(task))
    submit = np.full(len(jobs), LATEST)
    np.minimum.at(submit, task, runs.queued)
    return in_order(
        _meta(source, unit_in_words),
        jobs={
            "original_id": pa.array(described["job number"]).cast(pa.string()),
            "submit": submit,
            "width": 1,
            "outcome": runs.outcome[last],
            "user": _names(described["user"]),
            "group": _names(described["group"]),
            "name": _names(described["executable"]),
            "queue": _queues(described, source.header),
            "exit_category": _categories(runs, last) if source.meaning.exit_codes else None,
            "walltime": _known(
                milliseconds(described["requested time"]), described["requested time"] > 0
            ),
        },
        tasks={
            "job": np.arange(len(jobs)),
            "index": np.zeros(len(jobs), dtype=np.int64),
            "width": width,
            "memory": _fraction(described["requested memory"], unit),
        },
        attempts={
            "task": task,
            "queued": runs.queued,
            "start": _known(runs.start, runs.start != NONE),
            "end": runs.end,
            "outcome": runs.outcome,
            "cause": _known(runs.cause, runs.cause != NONE),
            "exit_code": _known(
                runs.exit_code, (runs.outcome != Outcome.CENSORED) & source.meaning.exit_codes
            ),
            "length": _known(runs.length, runs.length != NONE),
            "mean_cpu": _cpu(rows, runs),
            "mean_memory": _fraction(rows["used memory"][runs.line], unit),
        },
    )


def _known(values: Ints, known: npt.NDArray[np.bool_]) -> Any:
    return np.ma.array(values, mask=~known)


def _names(numbers: Ints) -> Any:
    return pa.array(numbers, mask=numbers < 0).cast(pa.string())


def _fraction(amount: npt.NDArray[np.float64], unit: float) -> npt.NDArray[np.float64]:
    """Amounts [KB] as fractions of a unit, NaN where they are missing."""
    return np.where(amount > 0, amount / unit, np.nan)


def _cpu(rows: Rows, runs: Runs) -> npt.NDArray[np.float64]:
    """Processor time over run time, NaN where one is missing or nothing ran."""
    used, run = rows["average CPU time"][runs.line], rows["run time"][runs.line]
    known = (used >= 0) & (run > 0) & (runs.start != NONE)
    share = np.where(known, used / np.where(known, run, 1), np.nan)
    return np.minimum(share, np.finfo(np.float32).max)


def _categories(runs: Runs, last: Ints) -> list[str | None]:
    """The category of each job's last exit code (Kumar et al., DSN 2020), None where unknown."""
    ends = zip(runs.outcome[last].tolist(), runs.exit_code[last].tolist(), strict=True)
    reached = (runs.cause[last] == Cause.WALLTIME).tolist()
    return [
        None if outcome == Outcome.CENSORED else CODES.category(code, reached_walltime=at_limit)
        for (outcome, code), at_limit in zip(ends, reached, strict=True)
    ]


def _queues(rows: Rows, header: Header) -> list[str | None]:
    """The name of each job's queue, else of its partition, else their numbers."""
    queues, partitions = header.names("Queue"), header.names("Partition")
    pairs = np.stack([rows["queue"], rows["partition"]], axis=1)
    distinct, place = np.unique(pairs, axis=0, return_inverse=True)
    names: list[str | None] = []
    for queue, partition in distinct.tolist():
        if queue >= 0:
            names.append(queues.get(queue, str(queue)))
        elif partition >= 0:
            names.append(partitions.get(partition, f"partition {partition}"))
        else:
            names.append(None)
    return [names[code] for code in place.tolist()]


def _meta(source: _Source, memory_unit: str) -> Meta:
    fields, counts = source.header.fields, source.counts
    place = ", ".join(fields[name] for name in ("Computer", "Installation") if fields.get(name))
    thanks = f"; acknowledge {fields['Acknowledge']}" if fields.get("Acknowledge") else ""
    meaning = source.meaning
    remarks = {
        **fields,
        "status field": "exit codes" if meaning.exit_codes else "as the format defines it",
        "requested time": meaning.limit,
    }
    if memory_unit:
        remarks["memory unit"] = memory_unit
    if source.merged:
        remarks["clusters taken for one"] = source.merged
    return Meta(
        source=f"swf: {place}" if place else "swf",
        licence=fields.get("Copyright", ""),
        citation=f"{place}{thanks}. {ARCHIVE}" if place else "",
        time_origin="the log's own, UnixStartTime" if source.origin else "the log's own",
        end=source.end,
        rows_read=counts.rows_read,
        dropped=counts.dropped,
        noted=counts.noted,
        remarks=remarks,
        unix_origin=None if source.origin is None else source.origin * 1000,
    )
