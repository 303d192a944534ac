"""Partitions of a trace, each in canonical order, joined into one that is.

Jobs and machines are held. Tasks come range by range of submission and job, with their attempts,
placements and windows; what is read of a partition is mapped into memory, not held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, paipc
from failgym.traces.order import in_order, rows_by_id
from failgym.traces.readers.google_2019.machines import Machines
from failgym.traces.schema import SCHEMAS, Table
from failgym.traces.tables import Meta

__all__ = ["KEPT", "SUBMIT", "Joining"]

Ints = npt.NDArray[np.int64]

KEPT = ("jobs", "tasks", "attempts", "placements", "windows", "machines")
"""Tables of a partition that are joined."""
_OF_ATTEMPTS = {"placements": "machine", "windows": "offset"}
"""Tables whose rows belong to attempts, and what those of one are in order of."""
SUBMIT = "submit"
"""A column of tasks, beside the table's own: when they were submitted [ms]."""
RANGE_ROWS = 1 << 21
"""Rows of all tables that are put in order at once; more, where one job has more."""


@dataclass(frozen=True)
class _Part:
    """A partition, mapped into memory."""

    tables: dict[str, Table]
    job: Ints
    """[jobs] their rows in the whole"""
    machine: Ints
    """[machines] their rows in the whole"""

    def numbers(self, table: str, name: str) -> npt.NDArray[Any]:
        """A column without missing values, not copied."""
        return self.tables[table].column(name).chunk(0).to_numpy() if self.rows(table) else _NONE

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        rows: int = self.tables[table].num_rows
        return rows

    def tasks_before(self, submit: int, job: int) -> int:
        """How many tasks come before those of a job that were submitted at a time [ms]."""
        submits = self.numbers("tasks", SUBMIT)
        first, last = (int(np.searchsorted(submits, submit, side)) for side in SIDES)
        jobs = self.job[self.numbers("tasks", "job")[first:last]]
        return first + int(np.searchsorted(jobs, job))

    def sampled(self, step: int) -> Ints:
        """[samples, 2] submission and job of the task that every `step`-th row belongs to."""
        task = self.numbers("attempts", "task")
        window = self.numbers("windows", "attempt")[::step]
        tasks = np.concatenate([np.arange(0, self.rows("tasks"), step), task[::step], task[window]])
        submits, jobs = self.numbers("tasks", SUBMIT), self.job[self.numbers("tasks", "job")[tasks]]
        return np.stack([submits[tasks], jobs], axis=1)


_NONE = np.zeros(0, dtype=np.int64)
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class Joining:
    """The whole of the partitions in a folder.

    Args:
        folder: where they are, `part-<number>-<table>.arrow`.
        partitions: how many.
        known: the machines that the source tells of.
        meta: of the whole.
    """

    def __init__(self, folder: Path, partitions: int, known: Machines, meta: Meta) -> None:
        self.meta = meta
        found = [
            {name: _mapped(folder / f"part-{part}-{name}.arrow") for name in KEPT}
            for part in range(partitions)
        ]
        self.jobs, jobs = _ranked([tables["jobs"] for tables in found], "submit")
        names = [tables["machines"].column("original_id").to_numpy() for tables in found]
        told = {*known.by_id, *(int(name) for of in names for name in of)}
        ids = np.array(sorted(told), dtype=np.int64)
        whole = in_order(meta, **known.tables(ids))
        self.machines, self.outages = whole.table("machines"), whole.table("outages")
        row = {name: at for at, name in enumerate(self.machines.column("original_id").to_pylist())}
        self._parts = [
            _Part(tables, job, np.array([row[name] for name in of], dtype=np.int64))
            for tables, job, of in zip(found, jobs, names, strict=True)
        ]

    def pieces(self) -> Iterator[tuple[str, Table]]:
        """Names of tables and their next rows."""
        yield "jobs", self.jobs
        yield "machines", self.machines
        yield "outages", self.outages
        tasks = attempts = 0
        begin = [0] * len(self._parts)
        for cut in (*self._cuts, None):
            end = [
                part.rows("tasks") if cut is None else part.tasks_before(*cut)
                for part in self._parts
            ]
            made = _range(self._parts, begin, end, tasks, attempts)
            yield from made.items()
            tasks, attempts = tasks + made["tasks"].num_rows, attempts + made["attempts"].num_rows
            begin = end

    @cached_property
    def _cuts(self) -> list[tuple[int, int]]:
        """Submission [ms] and job with which ranges begin, but for the first.

        Between two are about `RANGE_ROWS` tasks, attempts and windows.
        """
        step = max(1, RANGE_ROWS // (4 * len(self._parts)))
        samples = np.concatenate([part.sampled(step) for part in self._parts])
        samples = samples[np.lexsort((samples[:, 1], samples[:, 0]))]
        every = max(1, RANGE_ROWS // step)
        cuts = np.unique(samples[every::every], axis=0)
        return [(int(submit), int(job)) for submit, job in cuts]


def _mapped(file: Path) -> Table:
    return paipc.open_file(pa.memory_map(str(file))).read_all()


def _ranked(tables: Sequence[Table], *before: str) -> tuple[Table, list[Ints]]:
    """All rows in order of `before`, then of their ids, and where those of each table came."""
    whole = pa.concat_tables(tables).combine_chunks()
    order = rows_by_id(whole, *before)
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.arange(len(order))
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return whole.take(pa.array(order)), np.split(row, ends)


def _range(
    parts: Sequence[_Part], begin: Sequence[int], end: Sequence[int], tasks: int, attempts: int
) -> dict[str, Table]:
    """The tasks of each partition from one row to another, their attempts and what these have.

    Args:
        parts: the partitions.
        begin: [parts] the first task of each.
        end: [parts] the task behind the last of each.
        tasks: how many were before.
        attempts: how many were before.
    """
    held: dict[str, list[Table]] = {name: [] for name in ("tasks", "attempts", *_OF_ATTEMPTS)}
    before_tasks = before_attempts = 0
    for part, first, last in zip(parts, begin, end, strict=True):
        a_first, a_last = np.searchsorted(part.numbers("attempts", "task"), (first, last)).tolist()
        chosen = part.tables["tasks"].slice(first, last - first)
        held["tasks"].append(_mapped_to(chosen, "job", part.job))
        chosen = part.tables["attempts"].slice(a_first, a_last - a_first)
        held["attempts"].append(_moved(chosen, "task", before_tasks - first))
        for name in _OF_ATTEMPTS:
            rows = part.numbers(name, "attempt")
            low, high = np.searchsorted(rows, (a_first, a_last)).tolist()
            chosen = part.tables[name].slice(low, high - low)
            if name == "placements":
                chosen = _mapped_to(chosen, "machine", part.machine)
            held[name].append(_moved(chosen, "attempt", before_attempts - a_first))
        before_tasks, before_attempts = (
            before_tasks + last - first,
            before_attempts + a_last - a_first,
        )
    joined = {name: pa.concat_tables(of).combine_chunks() for name, of in held.items()}
    keys = [_numbers(joined["tasks"], name) for name in ("index", "job", SUBMIT)]
    made: dict[str, Table] = {}
    made["tasks"], task = _taken(joined["tasks"].drop_columns([SUBMIT]), np.lexsort(keys))
    moved = _mapped_to(joined["attempts"], "task", task)
    order = np.argsort(_numbers(moved, "task"), kind="stable")
    moved, attempt = _taken(moved, order)
    made["attempts"] = _moved(moved, "task", tasks)
    for name, key in _OF_ATTEMPTS.items():
        moved = _mapped_to(joined[name], "attempt", attempt)
        order = np.lexsort([_numbers(moved, each) for each in (key, "attempt")])
        made[name] = _moved(_taken(moved, order)[0], "attempt", attempts)
    return {name: table.cast(SCHEMAS[name]) for name, table in made.items()}


def _taken(table: Table, order: Ints) -> tuple[Table, Ints]:
    """The rows in an order, and where each of them came."""
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.arange(len(order))
    return table.take(pa.array(order)), row


def _numbers(table: Table, name: str) -> Ints:
    return table.column(name).to_numpy().astype(np.int64)


def _mapped_to(table: Table, name: str, rows: Ints) -> Table:
    """The table with numbers of rows of another one as these are numbered now."""
    return _with(table, name, rows[_numbers(table, name)])


def _moved(table: Table, name: str, by: int) -> Table:
    return _with(table, name, _numbers(table, name) + by)


def _with(table: Table, name: str, values: Ints) -> Table:
    place = table.schema.get_field_index(name)
    return table.set_column(
        place, table.schema.field(name), pa.array(values, table.schema.field(name).type)
    )
