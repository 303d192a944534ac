"""A table of runs in columns of any names: an operator's own accounting, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from failgym.known_names import check_known
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.job_log import NONE, JobLog
from failgym.traces.readers.sources import Advance, Paths, find_files, naming_source, reading
from failgym.traces.readers.table.assembly import assemble
from failgym.traces.readers.table.fields import UNITS, Times, Unit, check_columns, choose
from failgym.traces.readers.table.files import blocks
from failgym.traces.readers.table.rows import Rows
from failgym.traces.readers.table.words import words_of
from failgym.traces.schema import TraceError
from failgym.traces.trace import Trace

__all__ = ["read_table"]

SUFFIXES: Final = (".csv", ".tsv", ".psv", ".txt", ".parquet")
"""Names of files that are read in a folder."""
MOST_TOLD: Final = 500
"""Signs of a list of columns that are not read."""


@naming_source
def read_table(
    path: Paths,
    *,
    columns: Mapping[str, str] | None = None,
    outcomes: Mapping[str, str] | None = None,
    timezone: str = "UTC",
    unit: Unit = "s",
    progress: bool = False,
) -> Trace:
    """Read a table with a row for each run of a job: CSV with a header, or Parquet; files, folders.

    Commas, tabs, semicolons or bars part the columns of a text. A field's column has its name, or
    the one that `columns` says; other columns are passed over. Needed are the first five:

    ============== =================================================================================
    field          what
    ============== =================================================================================
    job            id of the job
    submit         when the run was queued: the job's submission; missing where it is not known
    start          when it began; missing if it never ran
    end            when it ended; missing if it has not
    outcome        how it ended, a word (below)
    task           which task of the job: a number, or a name; without it a job has one task
    user, group,   of the job; the name is that of its application
    name, queue
    priority       of the job, a whole number
    walltime       requested: a number as times are, or `[days-]hours:minutes:seconds`
    slots          processors of the task, or nodes where these are given whole; 1
    cpu            processors requested, of any unit, by the whole task
    memory         memory requested by the whole task: a number of any unit, or like 4G
    gpu            graphics processors requested by the whole task
    machines       where it ran: node1,node2 or node[01-03]; slots are spread over them evenly
    cause          why it did not finish: intrinsic, machine, preemption, shared, requeue,
                   dependency, walltime or user
    exit_code      a number, or code:signal
    cpu_time       processor time used, like walltime
    max_memory     most memory used by the whole task, like memory
    ============== =================================================================================

    Rows of the same job and task are successive attempts, in order of their start (else of their
    submission). Where a later one repeats the submission of the one before, it is not known when it
    was queued. Missing are empty fields, -1, and words like NA, None, null and NaN. Of what several
    rows say of a job or a task, the last counts.

    ===================================== ======================================================
    outcome                               attempt
    ===================================== ======================================================
    finished, completed, success, done    FINISH
    failed, error, out_of_memory          FAIL, cause intrinsic
    node_fail, machine_failure            FAIL, cause machine; EVICT if the task ran again
    timeout, walltime                     KILL, cause walltime
    killed, cancelled, aborted            KILL, cause user; requeue if the task ran again
    preempted, evicted                    EVICT, cause preemption
    requeued, rescheduled                 EVICT, cause requeue
    unknown                               LOST
    running, pending, queued, suspended   CENSORED; LOST if the task ran again
    finish, fail, kill, evict, lost,      as they say, whatever follows; so is every word where
    censored                              a cause is told
    ===================================== ======================================================

    (`words`; all states of Slurm's count as `read_sacct` has them. Small and large letters are the
    same, as are blanks, hyphens and underscores.) Memory and cpu are stored per slot, as fractions
    of the largest. An end before the start is taken as the start, and what was killed as it
    started never ran, as with other readers; such repairs are counted, as are rows that are
    dropped: those without any time, and those that say the same of a run as another. The data end
    with the last time.

    Args:
        path: files or folders.
        columns: the name of the column of each field that has another name than that.
        outcomes: words of the table's own, each with one of those above that means as much.
        timezone: of times without one, like "Europe/Berlin". In an hour that is there twice, it is
            the first unless that would be before the start.
        unit: of numbers that are times or durations: "s" or "ms". Numbers from 1973 on count from
            1970, and 0 is missing then, as are dates of 1970 up to its second day, which clocks
            show that nobody had set; smaller ones count from anything.
        progress: show a progress bar on standard error.

    Raises TraceError naming file, line (of Parquet: row) and field for a malformed file, a missing
    column and a word that is not known; for one without a run; and where some times count from 1970
    and others from something else.
    """
    columns = columns or {}
    try:
        check_columns(columns)
        words = words_of(outcomes or {})
        check_known("unit", unit, UNITS)
    except ValueError as error:
        raise TraceError(str(error)) from error
    files = find_files(path, SUFFIXES, "a table of runs, CSV or Parquet")
    counts = Counts()
    rows = Rows(Times(timezone, unit), unit, words, counts, JobLog(tick=1))
    ignored: dict[str, None] = {}
    with reading(files, "rows", progress) as advance:
        for file in files:
            _read_file(file, columns, rows, ignored, advance)
    rows.check_kinds()
    end, log = assemble(rows) if rows.taken else NONE, rows.log
    if not rows.taken:
        raise TraceError(
            f"{files[0]}: holds no run that can be used: {counts.dropped or 'no rows'}"
        )
    remarks = {"time zone": timezone} if rows.times.iso else {"no date": "times are numbers"}
    if log.dated and not rows.times.iso:
        remarks = {"times": f"numbers [{unit}] since 1970"}
    if ignored:
        remarks["columns not read"] = ", ".join(ignored)[:MOST_TOLD]
    del rows
    return log.trace("table", remarks, counts, end)


def _read_file(
    file: Path,
    columns: Mapping[str, str],
    rows: Rows,
    ignored: dict[str, None],
    advance: Advance,
) -> None:
    named: dict[str, str] = {}

    def chosen(names: Sequence[str]) -> dict[str, int]:
        places = choose(names, columns)
        named.update({field: names[place] for field, place in places.items()})
        ignored.update(dict.fromkeys(name for name in names if name not in named.values()))
        return places

    for block in blocks(file, chosen, advance):
        rows.take(file, block, named)
