"""Google's traces of 2019 as a stored trace, in bounded memory, on several processes.

1. Each file of events is sorted into partitions by collection (`partitions.py`).
2. Each partition is read as the whole is in memory: jobs, tasks, attempts, in canonical order.
3. The partitions are joined, range by range of the tasks' submission (`joining.py`).

Steps of 1 and 2 are independent of each other, and what they made is kept until the trace is there:
the same import goes on where it was killed. Content and hash are those of `read_google_2019`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from failgym.arrow import pa, paipc
from failgym.files import replacing
from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2019.columns import (
    COLLECTION_EVENTS,
    INSTANCE_EVENTS,
    INSTANCE_USAGE,
    Column,
)
from failgym.traces.readers.google_2019.joining import KEPT, SUBMIT, Joining
from failgym.traces.readers.google_2019.machines import Machines, read_machines
from failgym.traces.readers.google_2019.partitions import Split, load, split
from failgym.traces.readers.google_2019.reader import (
    Lives,
    find_sources,
    meta_of,
    read_google_2019,
    read_whole,
    told_of_rows,
)
from failgym.traces.readers.google_2019.table import Table as Events
from failgym.traces.readers.google_2019.tasks import Ends, ends_of
from failgym.traces.readers.sources import Paths, naming_source, reading
from failgym.traces.readers.work_folder import WorkFolder, write_json
from failgym.traces.schema import Table, TraceError
from failgym.traces.store import check_destination, writing
from failgym.traces.submission import task_submits
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.traces.validate import Validator
from failgym.workers import ALONE, Workers, each

__all__ = ["import_google_2019"]

T = TypeVar("T")
R = TypeVar("R")

PARTITIONED: dict[str, tuple[Column, ...]] = {
    "instance_events": INSTANCE_EVENTS,
    "collection_events": COLLECTION_EVENTS,
    "instance_usage": INSTANCE_USAGE,
}
"""The tables that are partitioned."""
PARTITION_BYTES = 1 << 28
"""Text of events and usage in a partition [bytes], about: some 900,000 rows of JSON, which a worker
holds."""
UNPACKED = {".gz": 12, ".bz2": 16, ".xz": 16, ".parquet": 8}
"""How much text a byte of a file stands for, by the end of its name; about, of Google's own 12."""
MOST_PARTITIONS = 4096

WORK = WorkFolder(
    "google-2019",
    version=1,
    names=re.compile(
        r"(split-[a-z]+_[a-z]+-[0-9]+|part-[0-9]+(-[a-z]+)?|ends)\.(arrow|json|npy|partial)"
    ),
)


@naming_source
def import_google_2019(
    source: Paths,
    out: str | Path,
    *,
    progress: bool = False,
    workers: Workers = ALONE,
    partitions: int | None = None,
) -> Meta:
    """Read a trace of 2019 and save it, in bounded memory: `read_google_2019(source).save(out)`.

    A worker holds `ROWS_AT_ONCE` rows of a file, or the events of one partition (more, if one job
    has more). This process holds the jobs and machines, and of tasks a range at a time. Besides the
    trace, as much disk is used as the events take in Arrow's form. What is kept of a killed import
    is used again, if the source has not changed.

    Args:
        source: files, or a folder.
        out: the folder of the trace.
        progress: show it.
        workers: who does the steps.
        partitions: how many; by default as the size of the source asks for.

    Raises:
        TraceError: as `read_google_2019` does; if it cannot be saved; if another import to `out` is
            under way.
    """
    files, out = find_sources(source), Path(out)
    check_destination(out)
    if not files["instance_events"]:  # a few machines, or jobs of one task each
        made = read_google_2019(source, progress=progress)
        made.save(out)
        return made.meta
    count = partitions or _partitions(files)
    everything = [file for listed in files.values() for file in listed]
    with (
        WORK.of(out, files, partitions=count) as folder,
        reading(everything, "google-2019", progress) as advance,
    ):
        return _Import(files, folder, count, workers, advance).save(out)


def _partitions(files: dict[str, list[Path]]) -> int:
    """So many that each has about `PARTITION_BYTES`."""
    sizes = (
        file.stat().st_size * UNPACKED.get(file.suffix, 1)
        for name in PARTITIONED
        for file in files[name]
    )
    return min(max(1, -(-sum(sizes) // PARTITION_BYTES)), MOST_PARTITIONS)


@dataclass(frozen=True)
class _Splitting:
    """Step 1."""

    folder: Path
    partitions: int

    def __call__(self, item: tuple[str, int, Path]) -> Split:
        table, number, file = item
        return split(
            file, PARTITIONED[table], self.partitions, _split_file(self.folder, table, number)
        )


def _split_file(folder: Path, table: str, number: int) -> Path:
    return folder / f"split-{table}-{number:05d}.arrow"


@dataclass(frozen=True)
class _Reading:
    """Step 2."""

    folder: Path
    files: dict[str, int]
    """how many each table has"""
    end: int
    """the time of the last instance event [us]"""
    machines: Machines

    def ends(self, part: int) -> Ends:
        """The collections of a partition that ended."""
        return ends_of(self._load("collection_events", part), self.end)

    def __call__(self, part: int) -> dict[str, Any]:
        """Read a partition, unless that was done: how many rows it has, and what was counted."""
        listed = self.folder / f"part-{part}.json"
        if listed.exists():
            found: dict[str, Any] = json.loads(listed.read_text("utf-8"))
            return found
        count = Counts()
        instances, told, usage = (self._load(name, part) for name in PARTITIONED)
        lives = Lives.of(instances, told, self.end, count)
        ids, times = np.load(self.folder / "ends.npy", mmap_mode="r")
        columns = lives.columns((ids, times), self.machines, usage, count)
        trace = in_order(meta_of(self.end, count), **columns)
        for name in KEPT:
            _write(self.folder / f"part-{part}-{name}.arrow", _kept(trace, name))
        rows = {name: trace.rows(name) for name in ("tasks", "attempts")}
        made = {"events": lives.life.events.rows, "rows": rows, "count": asdict(count)}
        write_json(listed, made)
        return made

    def _load(self, table: str, part: int) -> Events:
        files = [_split_file(self.folder, table, n) for n in range(self.files[table])]
        return load(files, PARTITIONED[table], part)


def _kept(trace: Trace, name: str) -> Table:
    """What is joined: of tasks also when they were submitted, which they are in order of."""
    table = trace.table(name)
    if name != "tasks":
        return table
    submits = task_submits(trace.table("jobs"), table, trace.table("attempts"))
    return table.append_column(SUBMIT, pa.array(submits))


def _write(file: Path, table: Table) -> None:
    """As it is mapped into memory later: not packed, and in one batch."""
    with replacing(file) as partial, paipc.new_file(str(partial), table.schema) as writer:
        writer.write_table(table.combine_chunks())


@dataclass
class _Import:
    """An import under way."""

    files: dict[str, list[Path]]
    folder: Path
    partitions: int
    workers: Workers
    advance: Callable[[int], None]
    count: Counts = field(default_factory=Counts)

    def save(self, out: Path) -> Meta:
        """Do all steps, and save the trace. Raises TraceError."""
        try:
            end = self._split()
            machines, last = self._machines(end, Counts())
            reading = _Reading(
                self.folder, {name: len(self.files[name]) for name in PARTITIONED}, end, machines
            )
            read = self._read(reading)
        except OSError as error:
            raise TraceError(f"{self.folder}: {error.strerror or error}") from error
        jobs = any(one["events"] for one in read)
        machines, last = self._machines(end if jobs else None, self.count)
        for one in read:
            self.count.add(Counts(**one["count"]))
        meta = meta_of(end if jobs else last, self.count)
        joining = Joining(self.folder, self.partitions, machines, meta)
        rows = {name: sum(one["rows"][name] for one in read) for name in ("tasks", "attempts")}
        return self._join(joining, rows, out)

    def _split(self) -> int:
        """Step 1: the time of the last instance event [us]."""
        items = [(name, n, file) for name in PARTITIONED for n, file in enumerate(self.files[name])]

        def ended(item: tuple[str, int, Path], _: Split) -> None:
            self.advance(item[2].stat().st_size)

        found = self._each(_Splitting(self.folder, self.partitions), items, ended=ended)
        end = 0
        for name in PARTITIONED:
            mine = [made for (table, _, _), made in zip(items, found, strict=True) if table == name]
            rows, left = sum(made.rows for made in mine), sum(made.incomplete for made in mine)
            told_of_rows(name, rows, left, self.count)
            if name == "instance_events":
                end = max(made.last for made in mine)
        return end

    def _read(self, reading: _Reading) -> list[dict[str, Any]]:
        """Step 2: of each partition, what was counted."""
        parts = range(self.partitions)
        ends = [reading.ends(part) for part in parts]  # collections are few beside instances
        ids, times = (np.concatenate([of[at] for of in ends]) for at in (0, 1))
        order = np.argsort(ids)
        with replacing(self.folder / "ends.npy") as partial, partial.open("wb") as file:
            np.save(file, np.stack([ids[order], times[order]]))
        return self._each(reading, parts, ended=lambda _, __: None)

    def _each(
        self, work: Callable[[T], R], items: Sequence[T], *, ended: Callable[[T, R], None]
    ) -> list[R]:
        """One item alone is worth no other process."""
        workers = self.workers if len(items) > 1 else ALONE
        return each(work, items, workers, ended=ended, folder=self.folder)

    def _machines(self, end: int | None, count: Counts) -> tuple[Machines, int]:
        events = read_whole("machine_events", self.files["machine_events"], count, lambda _: None)
        return read_machines(events, end, count)

    def _join(self, joining: Joining, rows: dict[str, int], out: Path) -> Meta:
        """Step 3."""
        if not rows["attempts"] and not joining.machines.num_rows:
            raise TraceError(f"{self.files['instance_events'][0]}: no event that can be used")
        expected = {"jobs": joining.jobs.num_rows, "machines": joining.machines.num_rows, **rows}
        validator = Validator(expected)
        with writing(out) as writer:
            for name, table in joining.pieces():
                validator.check(name, table)
                writer.append(name, table)
            validator.finish()
            writer.finish(joining.meta)
        return joining.meta
