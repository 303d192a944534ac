"""Slurm's job accounting, as `sacct --parsable2` prints it (sacct(1), SchedMD)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import LocalTimes
from failgym.traces.readers.sacct_jobs import Jobs
from failgym.traces.readers.sources import Advance, Paths, find_files, reading, text_lines
from failgym.traces.schema import TraceError
from failgym.traces.trace import Trace

__all__ = ["read_sacct"]

SUFFIXES: Final = (".txt", ".csv", ".psv", ".log", ".sacct", ".out", ".dat")
"""Names of files that are read in a folder."""
_NAME = r"[A-Za-z][A-Za-z0-9_/]*"
_HEADER = re.compile(rf"{_NAME}([^A-Za-z0-9_/%]+){_NAME}.*")


def read_sacct(path: Paths, *, timezone: str = "UTC", progress: bool = False) -> Trace:
    """Read what `sacct --parsable2 --allusers [--duplicates]` printed: files, or folders of them.

    The header line names the columns, in any order, and shows the delimiter; with `--parsable` each
    line ends in one. Needed are JobID (or JobIDRaw), State, Start, and End (or Elapsed); used are
    also Cluster, User, Group, JobName, Partition, Submit, ExitCode, Reason, Priority, NNodes,
    NodeList, AllocCPUS or NCPUS, ReqCPUS, ReqMem, ReqTRES, AllocTRES, Timelimit (or TimelimitRaw),
    TotalCPU, MaxRSS, AveRSS, NTasks and OverSubscribe. Steps (`123.batch`) are folded into their
    job.

    A job is one task of as many slots as it has processors. The elements of an array, `123_4`, and
    the components of a heterogeneous job, `123+0`, are the tasks of one job, 123. Rows of the same
    job, user and name (`--duplicates`) are attempts of one task, unless the one before completed:
    ids start again some day. A row about a run that an earlier row told of replaces it.

    ===================================== ======================================================
    State                                 attempt
    ===================================== ======================================================
    COMPLETED                             FINISH
    FAILED, OUT_OF_MEMORY, SPECIAL_EXIT   FAIL, cause intrinsic
    NODE_FAIL, BOOT_FAIL, LAUNCH_FAILED,  FAIL, cause machine; EVICT if the job ran again
    RECONFIG_FAIL
    TIMEOUT, DEADLINE                     KILL, cause walltime
    CANCELLED                             KILL, cause user; dependency if the reason is one;
                                          requeue if the job ran again
    PREEMPTED                             EVICT, cause preemption
    REQUEUED, REQUEUE_*, RESIZING         EVICT, cause requeue
    REVOKED                               LOST: another cluster of a federation ran it
    RUNNING, PENDING, SUSPENDED, others   CENSORED
    ===================================== ======================================================

    (Section "Job State Codes".) A job without a start never ran. The exit category is that of the
    state, for FAILED that of the exit code (Kumar et al., DSN 2020; `exit_status`).

    Memory is per slot, as a fraction of the largest request; what was used is MaxRSS (AveRSS) of
    the largest step times its tasks, by the slots. The slots of a job are spread evenly over its
    nodes. The data end with the last time, or the latest run so far of a job that still runs.

    Args:
        path: files or folders.
        timezone: of the times, like "Europe/Berlin".
        progress: show a progress bar on standard error.

    Raises TraceError naming file, line and field for a malformed file, and for one without a job.
    """
    files = find_files(path, SUFFIXES, "output of sacct --parsable2")
    counts = Counts()
    jobs = Jobs(counts, LocalTimes(timezone))
    with reading(files, "rows", progress) as advance:
        for file in files:
            _read_file(file, jobs, advance)
    if not len(jobs.log.runs):
        raise TraceError(
            f"{files[0]}: holds no job that can be used: {counts.dropped or 'no rows'}"
        )
    end = max(jobs.log.last_second(), jobs.seen)
    return jobs.log.trace("sacct", {"time zone": timezone}, counts, end)


@dataclass(frozen=True)
class _Table:
    """How the lines of a file are cut."""

    line: str  # the header
    delimiter: str
    names: tuple[str, ...]  # of the columns, in small letters

    @classmethod
    def of(cls, line: str) -> _Table:
        """Raises ValueError, saying why, for a line that is no header."""
        match = _HEADER.fullmatch(line)
        if match is None:
            raise ValueError("expected a header like JobID|State|Start|End, with a delimiter")
        delimiter = match[1]
        if delimiter.isspace() and delimiter != "\t":
            raise ValueError("columns are parted by spaces, expected output of sacct --parsable2")
        names = line.removesuffix(delimiter).lower().split(delimiter)
        names = [name.strip().split("%")[0] for name in names]
        for needed in (("jobid", "jobidraw"), ("state",), ("start",), ("end", "elapsed")):
            if not set(needed) & set(names):
                found = repr(", ".join(names)[:200])
                raise ValueError(f"no column {' or '.join(needed)}, found {found}")
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        return cls(line, delimiter, tuple(names))

    def cut(self, line: str, counts: Counts) -> dict[str, str]:
        """The fields of a line by the names of their columns. Raises ValueError, saying why.

        A delimiter too many is of the job's name, which is free text.
        """
        fields = line.split(self.delimiter)
        if len(fields) == len(self.names) + 1 and not fields[-1]:
            del fields[-1]
        more = len(fields) - len(self.names)
        if more > 0 and "jobname" in self.names:
            if not fields[-1] and self.line.endswith(self.delimiter):
                del fields[-1]
                more -= 1
            at = self.names.index("jobname")
            fields[at : at + more + 1] = [self.delimiter.join(fields[at : at + more + 1])]
            counts.note("delimiter in a job's name")
        if len(fields) != len(self.names):
            few = "few" if len(fields) < len(self.names) else "many"
            raise ValueError(f"too {few} fields: {len(fields)}, expected {len(self.names)}")
        return dict(zip(self.names, fields, strict=True))


def _read_file(file: Path, jobs: Jobs, advance: Advance) -> None:
    table: _Table | None = None
    for number, line in _lines(file, advance):
        try:
            if table is None:
                table = _Table.of(line)
            elif line != table.line:
                jobs.counts.read("rows")
                jobs.take(table.cut(line, jobs.counts))
        except ValueError as error:
            raise TraceError(f"{file}, line {number}: {error}") from error


def _lines(file: Path, advance: Advance) -> Iterator[tuple[int, str]]:
    """The lines that are not blank."""
    for number, line in text_lines(file, advance, errors="replace"):
        if line.strip():
            yield number, line
