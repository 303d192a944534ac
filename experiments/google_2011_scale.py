"""How fast a long trace in Google's format of 2011 is imported, and in how much memory.

    python -m experiments.google_2011_scale --source DIR --scratch DIR [--rows 20000000]

The task and job events at hand are repeated, each copy later than the one before and with job ids
of its own, until there are as many task events as asked for. The parts are numbered on, so that all
copies are one segment; as a cluster does not grow without bounds, what is open at the end of a copy
is killed there, and what job events tell of later times is left out. The first copy and then all of
them are imported, each by a fresh process on one core; every count of the long trace must be that
of the one copy, times the copies.

Prints one line of JSON. Ends with status 1 if a count is off.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import typer

TABLES = {"task_events": 13, "job_events": 8}
"""Tables that are repeated, and their columns; the first is the time [us]."""
JOB, INDEX, TASK_TYPE = 2, 3, 5
"""Columns of task_events."""
KILL, FIRST_END, LAST_END = 5, 2, 6
"""Event types."""
SECOND = 1_000_000
"""[us]"""

IMPORT = """
import json, os, resource, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
from pathlib import Path
from failgym.traces.readers.google_2011 import import_google_2011
import_google_2011(Path(sys.argv[1]), Path(sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_SELF)
peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
if (status := Path("/proc/self/status")).is_file():  # not what the parent took before the fork
    peak = int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
print(json.dumps({"user": used.ru_utime, "system": used.ru_stime, "peak": peak}))
"""
"""What a fresh Python runs, on one core where the system lets it choose."""

Source = Annotated[Path, typer.Option(metavar="DIR", help="A folder in Google's format.")]
Scratch = Annotated[Path, typer.Option(metavar="DIR", help="An empty or new folder to work in.")]
Rows = Annotated[int, typer.Option(help="Task events, at least.", min=1)]


@dataclass(frozen=True)
class Import:
    """What an import took."""

    rows: int
    """task events"""
    seconds: float
    rows_per_second: float
    user_seconds: float
    system_seconds: float
    peak_rss_mb: float
    peak_disk_mb: float
    """what was beside the result while it was made, with the result"""
    trace_mb: float


@dataclass(frozen=True)
class Copy:
    """Both tables of one copy, part by part, and what the next copy is shifted by."""

    parts: dict[str, list[Any]]
    period: int
    """[us]"""
    ids: int

    @property
    def rows(self) -> int:
        """Task events."""
        return sum(part.num_rows for part in self.parts["task_events"])


def main(source: Source, scratch: Scratch, rows: Rows = 20_000_000) -> None:
    """Repeat a trace, import it, and check every count."""
    scratch.mkdir(parents=True, exist_ok=True)
    if any(scratch.iterdir()):
        raise typer.BadParameter(f"{scratch} is not empty", param_hint="--scratch")
    copy = read_copy(source)
    copies = -(-rows // copy.rows)
    one, many = scratch / "one", scratch / "many"
    for number in range(copies):
        write_copy(copy, number, many)
    write_copy(copy, 0, one)
    first = run_import(one, scratch / "one-trace", copy.rows)
    whole = run_import(many, scratch / "many-trace", copy.rows * copies)
    expected = {name: n * copies for name, n in counts(scratch / "one-trace").items()}
    found = counts(scratch / "many-trace")
    off = sorted(name for name in expected | found if expected.get(name) != found.get(name))
    result = {
        "copies": copies,
        "one": asdict(first),
        "all": asdict(whole),
        "counts": {what: n for what, n in found.items() if " of width " not in what},
        "counts_compared": len(expected.keys() | found.keys()),
        "counts_that_are_off": off,
    }
    print(json.dumps(result))
    if off:
        raise typer.Exit(1)


def read_copy(source: Path) -> Copy:
    """The tables of `source`, its open tasks killed at the last task event."""
    parts = {name: list(_read_parts(source / name, width)) for name, width in TABLES.items()}
    tasks = parts["task_events"]
    end = max(int(_integers(part, 0).max()) for part in tasks)
    largest = max(int(_integers(part, JOB).max()) for part in [*tasks, *parts["job_events"]])
    tasks[-1] = pa.concat_tables([tasks[-1], _kills(tasks, end)])
    early = [part.filter(pa.array(_integers(part, 0) <= end)) for part in parts["job_events"]]
    parts["job_events"] = [part for part in early if part.num_rows]
    return Copy(parts, (end // SECOND + 1) * SECOND, largest + 1)


def write_copy(copy: Copy, number: int, folder: Path) -> None:
    """Write a copy of the given number, behind those before it."""
    for name, parts in copy.parts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for position, part in enumerate(parts, start=number * len(parts)):
            for column, shift in ((0, copy.period), (JOB, copy.ids)):
                shifted = pa.array(_integers(part, column) + number * shift)
                part = part.set_column(column, str(column), shifted.cast(pa.string()))
            with gzip.open(folder / name / f"part-{position:05}-of-99999.csv.gz", "wb", 1) as file:
                options = pacsv.WriteOptions(include_header=False, quoting_style="none")
                pacsv.write_csv(part, file, options)


def run_import(source: Path, out: Path, rows: int) -> Import:
    """Import in a fresh process. Raises CalledProcessError."""
    command = [sys.executable, "-c", IMPORT, str(source), str(out)]
    begun, disk = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            disk = max(disk, _size(out.parent, f".{out.name}.*"))
            time.sleep(0.1)
        seconds = time.perf_counter() - begun
        said, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command[0])
    used: dict[str, float] = json.loads(said)
    return Import(
        rows=rows,
        seconds=round(seconds, 2),
        rows_per_second=round(rows / seconds),
        user_seconds=round(used["user"], 2),
        system_seconds=round(used["system"], 2),
        peak_rss_mb=round(used["peak"] / 1e6, 1),
        peak_disk_mb=round(disk / 1e6, 1),
        trace_mb=round(_size(out.parent, out.name) / 1e6, 1),
    )


def counts(trace: Path) -> dict[str, int]:
    """What must be as many times as much in a trace of several copies."""
    meta = json.loads((trace / "meta.json").read_text("utf-8"))
    found: Counter[str] = Counter()
    for kind in ("rows_read", "dropped", "noted"):
        found.update({f"{kind}: {reason}": n for reason, n in meta[kind].items()})
    for name in ("jobs", "tasks", "attempts", "placements"):
        found[f"rows of {name}"] = pq.ParquetFile(trace / f"{name}.parquet").metadata.num_rows
    for name, keys in {"jobs": ["outcome", "width"], "attempts": ["outcome", "cause"]}.items():
        for key in keys:
            for batch in pq.ParquetFile(trace / f"{name}.parquet").iter_batches(columns=[key]):
                for entry in batch.column(0).value_counts().to_pylist():
                    found[f"{name} of {key} {entry['values']}"] += entry["counts"]
    for batch in pq.ParquetFile(trace / "attempts.parquet").iter_batches(columns=["start", "end"]):
        start, end = (batch.column(n).to_numpy(zero_copy_only=False) for n in (0, 1))
        found["machine time"] += int(np.nansum(end - start))
    return dict(found)


def _read_parts(folder: Path, width: int) -> Iterator[Any]:
    """The parts of a table, all columns as text."""
    names = [str(column) for column in range(width)]
    for file in sorted(folder.glob("part-*.csv*")):
        yield pacsv.read_csv(
            file,
            read_options=pacsv.ReadOptions(column_names=names),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )


def _integers(part: Any, column: int) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = part.column(column).cast(pa.int64()).to_numpy()
    return values


def _kills(tasks: list[Any], end: int) -> Any:
    """A KILL at `end` for every task whose last event is no end."""
    whole = pa.concat_tables(tasks)
    job, index, kind = (_integers(whole, column) for column in (JOB, INDEX, TASK_TYPE))
    order = np.lexsort((index, job))
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (np.diff(job[order]) != 0) | (np.diff(index[order]) != 0)
    rows = np.sort(order[last])
    rows = rows[(kind[rows] < FIRST_END) | (kind[rows] > LAST_END)]
    kills = whole.take(pa.array(rows))
    for column, value in ((0, str(end)), (TASK_TYPE, str(KILL))):
        kills = kills.set_column(column, str(column), pa.array([value] * len(rows)))
    return kills


def _size(folder: Path, pattern: str) -> int:
    """Bytes of the files in the folders that match; those that vanish meanwhile do not count."""
    total = 0
    for file in [file for found in folder.glob(pattern) for file in found.rglob("*")]:
        try:
            total += file.stat().st_size
        except OSError:
            continue
    return total


if __name__ == "__main__":
    typer.run(main)
