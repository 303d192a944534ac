"""Parting a trace by time: what was known at a boundary, and what was submitted after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, pc
from failgym.traces.schema import FOREIGN_KEYS, TABLES, Table, column, present
from failgym.traces.tables import Tables
from failgym.vocabulary import Outcome

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
AnyTrace = TypeVar("AnyTrace", bound=Tables)

FAR = np.iinfo(np.int64).max


class Selection(NamedTuple):
    """Some rows of the tables of a trace."""

    tables: dict[str, Table]
    rows: dict[str, Rows]
    """which rows of each table they were"""


class Parted(NamedTuple, Generic[AnyTrace]):
    """A part of a trace."""

    trace: AnyTrace
    rows: dict[str, Rows]
    """which rows of each table of the trace that was parted it kept"""


def boundary(trace: Tables, share: float) -> int:
    """The least time [ms] by which at least a `share` of the jobs was submitted; of the outages had
    begun, in a trace without jobs; 0 in one without either.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"boundary_share is {share}, expected a share between 0 and 1")
    times = (
        trace.column("jobs", "submit") if trace.rows("jobs") else trace.column("outages", "down")
    )
    times = np.sort(times)
    if not len(times):
        return 0
    return int(times[max(int(np.ceil(share * len(times))) - 1, 0)])


def split(trace: AnyTrace, part: str, share: float, until: float = 1.0) -> Parted[AnyTrace]:
    """The part of a trace before or after `boundary(trace, share)`, and the rows that it kept.

    `test`: the jobs submitted after the boundary, whole; of a trace without jobs, the outages that
    began after it; below an `until` of 1 those up to `boundary(trace, until)` only.
    `train`: the jobs submitted until the boundary, cut there: a run that starts later vanishes
    and one that ends later is CENSORED there. An attempt that waits at the boundary stays, CENSORED
    and never started; so does the first row behind a cut between two attempts of a task, since the
    task's fate was not yet known. A job is CENSORED if anything of it was cut. Machines are kept in
    both parts.
    """
    if part not in ("train", "test"):
        raise ValueError(f"part is {part!r}, expected 'train' or 'test'")
    at = boundary(trace, share)
    tables = {name: trace.table(name) for name in TABLES}
    early = trace.column("jobs", "submit") <= at
    if part == "test":
        name, column_of = ("jobs", "submit") if trace.rows("jobs") else ("outages", "down")
        when = trace.column(name, column_of)
        wanted = when > at
        if until < 1.0:
            wanted &= when <= boundary(trace, until)
        kept = select(tables, {name: wanted})
        end = trace.meta.end
    else:
        kept = _cut(trace, tables, early, at)
        end = at
    meta = replace(trace.meta, source=f"{trace.meta.source} [{part}]", end=end)
    return Parted(type(trace)(meta, **kept.tables), kept.rows)


def jobs_of(trace: AnyTrace, jobs: Flags) -> AnyTrace:
    """A trace of some of its jobs, whole, on the same machines.

    Args:
        trace: the trace.
        jobs: [jobs] which of them.
    """
    kept = select({name: trace.table(name) for name in TABLES}, {"jobs": jobs})
    return type(trace)(trace.meta, **kept.tables)


def _cut(trace: Tables, tables: dict[str, Table], jobs: Flags, at: int) -> Selection:
    known = _began(trace) <= at
    task = trace.column("attempts", "task")
    over = trace.column("attempts", "end", missing=FAR) > at
    alive = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    alive[task[known & over]] = True
    follows = np.zeros(len(task), dtype=np.bool_)  # the first row behind a cut between two
    follows[1:] = (task[1:] == task[:-1]) & known[:-1] & ~known[1:] & ~alive[task[1:]]
    attempts = known | follows
    started = trace.column("attempts", "start", missing=FAR) <= at
    cut_jobs = np.zeros(len(jobs), dtype=np.bool_)
    cut_jobs[trace.column("tasks", "job")[task[over]]] = True
    windows, outages = tables["windows"], tables["outages"]
    holder = column(windows, "attempt")
    over_at = trace.column("attempts", "start")[holder] + column(windows, "offset")
    over_at = np.minimum(
        over_at + (trace.sampling_window or 0), trace.column("attempts", "end")[holder]
    )
    tasks = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    tasks[task[known]] = True
    tables = {
        **tables,
        "attempts": _censor(tables["attempts"], over, started, at),
        "jobs": _with(
            _with(tables["jobs"], "outcome", Outcome.CENSORED, cut_jobs),
            "exit_category",
            None,
            cut_jobs,
        ),
        "outages": _with(outages, "up", None, column(outages, "up", missing=FAR) > at),
    }
    return select(
        tables,
        {
            "jobs": jobs,
            "tasks": tasks,
            "attempts": attempts,
            "placements": started[column(tables["placements"], "attempt")],
            "windows": over_at <= at,
            "outages": column(outages, "down") <= at,
        },
    )


def _began(trace: Tables) -> Rows:
    """When the trace first tells of each attempt: queued, else started, else ended [ms]."""
    began = trace.column("attempts", "end", missing=FAR).copy()
    for name in ("start", "queued"):
        known = trace.present("attempts", name)
        began[known] = trace.column("attempts", name)[known]
    return began


def _censor(attempts: Table, over: Flags, started: Flags, at: int) -> Table:
    """The attempts as they were known at the boundary: nothing later is left in them."""
    late_queue = column(attempts, "queued") > at
    for name, value, rows in (
        ("outcome", Outcome.CENSORED, over),
        ("cause", None, over),
        ("exit_code", None, over),
        ("length", None, over),
        ("mean_cpu", None, over),
        ("mean_memory", None, over),
        ("max_memory", None, over),
        ("end", at, over),
        ("start", None, over & ~started),
        ("queued", None, late_queue),
    ):
        attempts = _with(attempts, name, value, rows)
    return attempts


def _with(table: Table, name: str, value: int | None, rows: Flags) -> Table:
    """The table with one column's value replaced in some rows."""
    field = table.schema.field(name)
    choices = [pa.array(rows), pa.scalar(value, field.type), table.column(name)]
    changed = pc.call_function("if_else", choices)
    return table.set_column(table.schema.get_field_index(name), field, changed)


def select(tables: dict[str, Table], keep: dict[str, Flags]) -> Selection:
    """The rows to keep and everything that refers to them only, foreign keys renumbered."""
    position: dict[str, Rows] = {}
    result = Selection({}, {})
    for name in _parents_first():
        table = tables[name]
        rows: int = table.num_rows
        kept = keep.get(name, np.ones(rows, dtype=np.bool_))
        moved: dict[str, Rows] = {}
        for (holder, key), target in FOREIGN_KEYS.items():
            if holder != name:
                continue
            values, known = column(table, key), present(table, key)
            moved[key] = np.full(table.num_rows, -1, dtype=np.int64)
            moved[key][known] = position[target][values[known]]
            kept = kept & (~known | (moved[key] >= 0))
        position[name] = np.where(kept, np.cumsum(kept) - 1, -1)
        result.tables[name] = _renumber(table, moved).filter(pa.array(kept)).combine_chunks()
        result.rows[name] = np.flatnonzero(kept)
    return result


def _renumber(table: Table, moved: dict[str, Rows]) -> Table:
    for key, values in moved.items():
        array: Any = pa.array(values, mask=~present(table, key))
        field = table.schema.field(key)
        table = table.set_column(table.schema.get_field_index(key), field, array)
    return table


def _parents_first() -> tuple[str, ...]:
    """Tables in an order in which every foreign key's target comes before its holder."""
    order: list[str] = []
    while len(order) < len(TABLES):
        for name in TABLES:
            targets = {target for (holder, _), target in FOREIGN_KEYS.items() if holder == name}
            if name not in order and targets <= set(order):
                order.append(name)
    return tuple(order)
