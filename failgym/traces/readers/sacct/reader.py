"""Slurm's job accounting, as `sacct --parsable2` prints it (sacct(1), SchedMD)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import LocalTimes
from failgym.traces.readers.sacct.fields import MISSING, job_id
from failgym.traces.readers.sacct.jobs import Jobs
from failgym.traces.readers.sources import (
    Advance,
    Paths,
    find_files,
    naming_source,
    reading,
    text_lines,
)
from failgym.traces.schema import TraceError
from failgym.traces.trace import Trace

__all__ = ["read_sacct"]

SUFFIXES: Final = (".txt", ".csv", ".psv", ".log", ".sacct", ".out", ".dat")
"""Names of files that are read in a folder."""
FREE_TEXTS: Final = (
    *("jobname", "submitline", "constraints", "comment", "admincomment", "systemcomment"),
    *("workdir", "extra"),
)
"""Columns whose text may hold delimiters and line breaks."""
DELIMITERS: Final = ("|", "\t", ";", ",", "^", "~", "#")
"""What may part the columns of a log without a header, the usual one first."""
MOST_LINES: Final = 100
"""A row goes over at most this many lines."""
_STATE = re.compile(r"[A-Za-z_]+\+?( by .*)?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}|[0-9]{1,11}")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9_/]*([^A-Za-z0-9_/%]+)[A-Za-z]")


@naming_source
def read_sacct(
    path: Paths,
    *,
    timezone: str = "UTC",
    columns: Sequence[str] | None = None,
    merge_clusters: bool = False,
    progress: bool = False,
) -> Trace:
    """Read what `sacct --parsable2 --allusers [--duplicates]` printed: files, or folders of them.

    The header line names the columns, in any order, and shows the delimiter; with `--parsable` each
    line ends in one. Of what `--noheader` printed, `columns` names them. Needed are JobID (or
    JobIDRaw), State, Start, and End (or Elapsed); used are also Cluster, User, Group, JobName,
    Partition, Submit, ExitCode, Reason, Priority, NNodes, NodeList, AllocCPUS or NCPUS, ReqCPUS,
    ReqMem, ReqTRES, AllocTRES, Timelimit (or TimelimitRaw), TotalCPU, MaxRSS, AveRSS, NTasks and
    OverSubscribe. Steps (`123.batch`) are folded into their job.

    A job is one task of as many slots as it has processors. The elements of an array, `123_4`, and
    the components of a heterogeneous job, `123+0`, are the tasks of one job, 123. Rows of the same
    job, user and name (`--duplicates`), in any order, are attempts of one task, unless the one
    before completed: ids start again some day. A row about a run that an earlier row told of
    replaces it if it tells more.

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

    Memory is per slot, as a fraction of the largest request (old versions of Slurm mark that of a
    processor by a bit of ReqMem, which is taken off); what was used is MaxRSS (AveRSS) of
    the largest step times its tasks, by the slots. Graphics processors are `gres/gpu` of ReqTRES,
    else of AllocTRES; a list without them is one of none, but where no job of the log has any they
    are not told. The slots of a job are spread evenly over its nodes. The data end with the last
    time, or the latest run so far of a job that still runs.

    Args:
        path: files or folders.
        timezone: of the times, like "Europe/Berlin". In an hour that is there twice, Elapsed tells
            which of the two is meant; else it is the first.
        columns: names of the columns of files without a header; a header counts all the same.
        merge_clusters: take rows of several clusters (column Cluster) for one's, whose machines are
            then `cluster/machine`.
        progress: show a progress bar on standard error.

    Raises TraceError naming file, line and field for a malformed file, and for one without a job.
    """
    files = find_files(path, SUFFIXES, "output of sacct --parsable2")
    counts = Counts()
    jobs = Jobs(counts, LocalTimes(timezone), merge=merge_clusters)
    names = None if columns is None else _names_of(columns)
    with reading(files, "rows", progress) as advance:
        for file in files:
            _read_file(file, names, jobs, advance)
    if not len(jobs.log.runs):
        raise TraceError(
            f"{files[0]}: holds no job that can be used: {counts.dropped or 'no rows'}"
        )
    log, end, clusters = jobs.log, jobs.last_second(), jobs.clusters
    del jobs  # what is known of each job by its id takes more memory than the log
    remarks = {"time zone": timezone}
    if len(clusters) > 1:
        remarks["clusters taken for one"] = ", ".join(clusters)
    return log.trace("sacct", remarks, counts, end)


def _names_of(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are asked for, in small letters. Raises TraceError."""
    try:
        return _checked(columns)
    except ValueError as error:
        raise TraceError(f"columns: {error}") from error


def _checked(columns: Sequence[str]) -> tuple[str, ...]:
    """Names of columns as they are told. Raises ValueError, saying why, if some cannot do."""
    names = tuple(name.strip().split("%")[0].lower() for name in columns)
    for needed in (("jobid", "jobidraw"), ("state",), ("start",), ("end", "elapsed")):
        if not set(needed) & set(names):
            found = repr(", ".join(names)[:200])
            raise ValueError(f"no column {' or '.join(needed)}, found {found}")
    if len(set(names)) < len(names):
        raise ValueError("a column is named twice")
    return names


@dataclass(frozen=True)
class _Table:
    """How the lines of a file are cut."""

    line: str  # the header
    delimiter: str
    names: tuple[str, ...]  # of the columns, in small letters
    delimiters: int  # of a whole row: one more than between the columns, with `--parsable`

    @classmethod
    def of(cls, line: str) -> _Table:
        """Raises ValueError, saying why, for a line that is no header."""
        match = _HEADER.match(line)
        if match is None:
            raise ValueError(
                "expected a header like JobID|State|Start|End, with a delimiter; of a log without"
                " one (--noheader) name the columns: --columns JobID,State,Start,End,..."
            )
        delimiter = match[1]
        if delimiter.isspace() and delimiter != "\t":
            raise ValueError("columns are parted by spaces, expected output of sacct --parsable2")
        names = _checked(line.removesuffix(delimiter).split(delimiter))
        return cls(line, delimiter, names, line.count(delimiter))

    @classmethod
    def without_header(cls, names: tuple[str, ...], row: str) -> _Table:
        """The table of these columns, whose first row shows the delimiter."""
        most = len(names)
        fit = (sign for sign in DELIMITERS if most - 1 <= row.count(sign))
        delimiter = next(fit, DELIMITERS[0])
        ends = row.endswith(delimiter) and row.count(delimiter) >= most
        return cls("", delimiter, names, most if ends else most - 1)

    def cut(self, line: str, counts: Counts) -> dict[str, str]:
        """The fields of a line by the names of their columns. Raises ValueError, saying why."""
        fields, columns = line.split(self.delimiter), len(self.names)
        if len(fields) == self.delimiters and (without := self._without_qos(fields)):
            counts.note("row without qos")
            return without
        if len(fields) != self.delimiters + 1 or (self._ends_rows and fields[-1]):
            if len(fields) < columns or (self._ends_rows and self._ends_in_text and fields[-1]):
                raise _TooFewFields(f"too few fields: {len(fields)}, expected {columns}")
            if len(fields) > columns:
                fields = self._joined(fields, counts)
        return dict(zip(self.names, fields, strict=False))

    def _without_qos(self, fields: list[str]) -> dict[str, str] | None:
        """The fields of a row that lacks qos, as some sites' do; None if it is none."""
        if "qos" not in self.names[: self.names.index("state")]:
            return None  # what is left would make sense, too, if the row goes on in the next line
        names = [name for name in self.names if name != "qos"]
        values = dict(zip(names, fields, strict=False))
        return values if len(fields) >= len(names) and _makes_sense(values) else None

    def goes_on(self, line: str) -> bool:
        """Whether a line is more of a free text that is the last column of the row before."""
        if self._ends_rows or not self._ends_in_text:
            return False
        fields = dict(zip(self.names, line.split(self.delimiter), strict=False))
        return job_id(fields.get("jobid") or fields.get("jobidraw", "")) is None

    @property
    def _ends_rows(self) -> bool:
        """Whether rows end in a delimiter, as with `--parsable`."""
        return self.delimiters == len(self.names)

    @property
    def _ends_in_text(self) -> bool:
        return self.names[-1] in FREE_TEXTS

    def _joined(self, fields: list[str], counts: Counts) -> list[str]:
        """Delimiters too many are of a free text: of the first with which the row makes sense."""
        if self._ends_rows and not fields[-1]:
            del fields[-1]
        more = len(fields) - len(self.names)
        for name in FREE_TEXTS:
            if name in self.names:
                at = self.names.index(name)
                text = self.delimiter.join(fields[at : at + more + 1])
                joined = [*fields[:at], text, *fields[at + more + 1 :]]
                if _makes_sense(dict(zip(self.names, joined, strict=True))):
                    counts.note(f"delimiter in {name}")
                    return joined
        raise ValueError(f"too many fields: {len(fields)}, expected {len(self.names)}")


class _TooFewFields(ValueError):
    """A row is cut short, or goes on in the next line."""


def _makes_sense(values: Mapping[str, str]) -> bool:
    """Whether the job id, the state and the times are where they should be."""
    times = (values.get(name, "") for name in ("submit", "start", "end"))
    return (
        job_id(values.get("jobid") or values.get("jobidraw", "")) is not None
        and _STATE.fullmatch(values["state"]) is not None
        and all(text in MISSING or _TIME.fullmatch(text) is not None for text in times)
    )


def _read_file(file: Path, columns: tuple[str, ...] | None, jobs: Jobs, advance: Advance) -> None:
    table: _Table | None = None
    begun, number = "", 0  # a row that goes on in the next line, and where it began
    for at, line in _lines(file, advance):
        number = number if begun else at
        try:
            if table is None:
                table = _begin(line, columns)
            if line != table.line:
                begun = _take(table, begun, line, at - number, jobs)
        except ValueError as error:
            raise TraceError(f"{file}, line {number}: {error}") from error
    if begun and table is not None:
        try:
            table.cut(begun, jobs.counts)
        except ValueError as error:
            raise TraceError(f"{file}, line {number}: {error}") from error


def _begin(line: str, columns: tuple[str, ...] | None) -> _Table:
    """How the lines of a file are cut that begins with this one. Raises ValueError."""
    if columns is None:
        return _Table.of(line)
    try:
        return _Table.of(line)
    except ValueError:  # no header, as was said
        return _Table.without_header(columns, line)


def _take(table: _Table, begun: str, line: str, lines: int, jobs: Jobs) -> str:
    """Take a row, or return what there is of it so far if it goes on in the next line.

    A free text, like a job's name, may hold line breaks. What was `begun` is cut short if `line` is
    a whole row. Raises ValueError.
    """
    whole = line.count(table.delimiter) >= table.delimiters if begun else False
    text = f"{begun}\n{line}" if begun and not whole else begun or line
    try:
        values = table.cut(text, jobs.counts)
    except _TooFewFields:
        if not begun and table.goes_on(line):
            jobs.counts.note("line that goes on with the last column")
            return ""
        if whole or lines >= MOST_LINES:
            raise
        return text
    if begun:
        jobs.counts.note("row over several lines")
    jobs.counts.read("rows")
    jobs.take(values)
    return ""


def _lines(file: Path, advance: Advance) -> Iterator[tuple[int, str]]:
    """The lines that are not blank."""
    for number, line in text_lines(file, advance, errors="replace"):
        if line.strip():
            yield number, line
