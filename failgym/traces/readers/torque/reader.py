"""Accounting logs of TORQUE, OpenPBS and PBS Professional.

Adaptive Computing: TORQUE Administrator's Guide, section "Accounting Records"; Altair: PBS
Professional Administrator's Guide, chapter "Accounting".
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import LONGEST_NAME, FieldError, LocalTimes
from failgym.traces.readers.sources import Paths, find_files, naming_source, reading, text_lines
from failgym.traces.readers.torque.jobs import Jobs, Record
from failgym.traces.readers.torque.servers import Servers
from failgym.traces.schema import TraceError
from failgym.traces.trace import Trace

__all__ = ["read_torque"]

DISORDER: Final = 60
"""A record this much before the one above is of the second of two hours of a name [s]."""
HOUR: Final = len("MM/DD/YYYY HH")
EXPECTED: Final = "MM/DD/YYYY HH:MM:SS;record type;job id;message"


@naming_source
def read_torque(
    path: Paths, *, timezone: str = "UTC", merge_clusters: bool = False, progress: bool = False
) -> Trace:
    """Read accounting logs: files, or a folder of daily ones (`YYYYMMDD`), packed or not.

    A job is one task of as many slots as it was given (`exec_host`), else requested; the jobs of an
    array are the tasks of one job, `123[].server`. Several files are read in order of their first
    record. Graphics processors are those of the request: `ngpus`, in all or of each chunk of
    `select`, or `gpus` of each node of `nodes`; where no job requests any they are not told.

    ======= ====================================================================================
    record  what becomes of the job
    ======= ====================================================================================
    Q       queued
    S, T    a run begins; if one is open, that came to nothing: EVICT, cause machine, never ran
    E       the run ends, by `Exit_status` (below)
    R       the run ends: EVICT, cause requeue; also if its end was recorded just before
    C       the run ends, checkpointed and held: EVICT, cause preemption
    D       KILL, cause user; if it runs, when E follows
    A       FAIL, cause dependency if the record speaks of one, else machine; as D
    M       LOST: moved to another server
    others  counted, and passed over
    ======= ====================================================================================

    =========== ================================================================================
    category    attempt; `exit_status.ExitCodes` has the codes of each (Kumar et al., DSN 2020)
    =========== ================================================================================
    success     FINISH
    walltime    KILL, cause walltime
    user        FAIL, cause intrinsic
    user/system KILL, cause user, for 256 + signal, which means cancelled; else FAIL, intrinsic
    system      FAIL, cause shared for unreachable file systems; else cause machine
    ----------- --------------------------------------------------------------------------------
    none        CENSORED: an end without an exit status
    =========== ================================================================================

    The category of the last run is the job's `exit_category`; of an array's job, that of the
    unsuccessful task that ended last. A run that does not succeed and is followed by another of the
    same job (the same id and ctime) was requeued. What runs or waits at the end of the log is
    CENSORED; a job that was started before the log begins has the times that its last record
    tells.

    Memory is per slot (`mem` of the job by its slots, or `pmem`), as a fraction of the largest
    request.

    Args:
        path: files or folders.
        timezone: of the local times at the beginning of records, like "Europe/Berlin"; the times
            within records are seconds since 1970. Of an hour that is there twice it is the second
            if the time would go back otherwise.
        merge_clusters: take files of several clusters for one's. Else a file must be of the servers
            before (what follows the first point of job ids), of one of them at least.
        progress: show a progress bar on standard error.

    Raises TraceError naming file, line and field for a malformed log, and for one without a job.
    """
    clock = LocalTimes(timezone)
    found = find_files(path, ("",), "accounting logs of TORQUE or PBS")
    files = sorted(found, key=lambda file: _first_time(file, clock)) if len(found) > 1 else found
    counts = Counts()
    jobs = Jobs(counts)
    servers, last = Servers(merge_clusters), 0
    with reading(files, "records", progress) as advance:
        for file in files:
            lines = before = 0
            for number, line in text_lines(file, advance, errors="replace"):
                line = line.rstrip()
                if not line:
                    continue
                lines += 1
                try:
                    record = _record(line, clock)
                    if record.time < before - DISORDER:
                        record = record._replace(time=record.time + clock.again(line[:HOUR]))
                    jobs.take(record)
                    servers.see(record)
                except ValueError as error:
                    reason = str(error) if isinstance(error, FieldError) else _wrong(line)
                    raise TraceError(f"{file}, line {number}: {reason}") from error
                before = record.time
                last = max(last, before)
            counts.read("records", lines)
            servers.end(file)
    if not len(jobs.log.tasks):
        raise TraceError(f"{files[0]}: holds no record of a job: expected lines of {EXPECTED}")
    log, end = jobs.log, max(jobs.close(), last)
    del jobs  # what is known of each job by its id takes more memory than the log
    return log.trace("torque", {"time zone": timezone, **servers.remarks}, counts, end)


def _first_time(file: Path, clock: LocalTimes) -> tuple[int, str]:
    """When the first record of a file is from; malformed files come first, to be complained of."""
    for _, line in text_lines(file, errors="replace"):
        if line.strip():
            try:
                return _record(line, clock).time, file.name
            except ValueError:
                break
    return 0, file.name


def _record(line: str, clock: LocalTimes) -> Record:
    """The record of a line. Raises ValueError if it is none."""
    stamp, kind, job, message = line.split(";", 3)
    clocked = _CLOCK.fullmatch(stamp, HOUR)
    if clocked is None or len(kind) != 1 or not kind.isalpha() or not kind.isascii():
        raise ValueError
    if not 0 < len(job) <= LONGEST_NAME:
        raise ValueError
    time = clock.hour(stamp[:HOUR], _hour) + 60 * int(clocked[1]) + int(clocked[2])
    return Record(time, kind, job, message)


_CLOCK = re.compile(r":([0-5][0-9]):([0-5][0-9]|60)")
_HOUR = re.compile(r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2})")


def _hour(text: str) -> datetime:
    match = _HOUR.fullmatch(text)
    if match is None:
        raise ValueError
    month, day, year, hour = (int(part) for part in match.groups())
    return datetime(year, month, day, hour)


def _wrong(line: str) -> str:
    return f"{line[:60]!r} is no record, expected {EXPECTED}"
