"""From columns in any order to a trace in the canonical one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa, pc
from failgym.traces.schema import FOREIGN_KEYS, TABLES, Table, column, make_table, present
from failgym.traces.submission import task_submits
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace

__all__ = ["in_order", "rows_by_id"]

Ints = npt.NDArray[np.int64]


def in_order(meta: Meta, **columns: Mapping[str, Any]) -> Trace:
    """A trace from tables whose rows are in any order, foreign keys the rows as they are given.

    Jobs come out by (submit, original id), an id before longer ones; stages by (job, stage); tasks
    by (submit, job, index); machines by original id; the attempts of a task by start, those that
    never ran by when they were queued (else by their end), ties as given; the rest by what they
    belong to. Raises TraceError for columns that do not make a trace.
    """
    tables = {name: make_table(name, columns.get(name)) for name in TABLES}
    _arrange(tables, "jobs", rows_by_id(tables["jobs"], "submit"))
    _arrange(tables, "machines", rows_by_id(tables["machines"]))
    stages = tables["stages"]
    _arrange(tables, "stages", np.lexsort((column(stages, "stage"), column(stages, "job"))))
    attempts = tables["attempts"]
    _arrange(tables, "attempts", np.lexsort((_heard(attempts), column(attempts, "task"))))
    tasks = tables["tasks"]
    submits = task_submits(tables["jobs"], tasks, tables["attempts"])
    key = (column(tasks, "index"), column(tasks, "job"), submits)
    _arrange(tables, "tasks", np.lexsort(key))
    _arrange(tables, "attempts", np.argsort(column(tables["attempts"], "task"), kind="stable"))
    for name, keys in _REST.items():
        order = np.lexsort([column(tables[name], key) for key in reversed(keys)])
        _arrange(tables, name, order)
    return Trace(meta, **tables)


_REST = {
    "placements": ("attempt", "machine"),
    "windows": ("attempt", "offset"),
    "outages": ("machine", "down", "up"),
    "stage_edges": ("parent", "child"),
    "costs": ("task", "machine"),
}


def _arrange(tables: dict[str, Table], name: str, order: Ints) -> None:
    """Put the rows of a table in that order, and point to them where they are pointed to."""
    if (np.diff(order) == 1).all() and (not len(order) or order[0] == 0):
        return
    tables[name] = tables[name].take(order)
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.arange(len(order))
    for (other, key), target in FOREIGN_KEYS.items():
        if target == name and tables[other].num_rows:
            old, known = column(tables[other], key), present(tables[other], key)
            new = pa.array(row[np.where(known, old, 0)], mask=~known)
            place = tables[other].schema.get_field_index(key)
            tables[other] = tables[other].set_column(place, tables[other].schema.field(key), new)


def rows_by_id(table: Table, *before: str) -> Ints:
    """Rows by the columns `before`, then by original id."""
    length = pc.call_function("utf8_length", [table.column("original_id")])
    keys = [(name, "ascending") for name in (*before, "length", "original_id")]
    options = pc.SortOptions(sort_keys=keys)
    rows = table.append_column("length", length)
    return pc.call_function("sort_indices", [rows], options).to_numpy().astype(np.int64)


def _heard(attempts: Table) -> Ints:
    """When each attempt was first heard of: its start, else when it was queued, else its end."""
    heard = column(attempts, "end").astype(np.int64)
    for name in ("queued", "start"):  # the later one wins
        heard = np.where(present(attempts, name), column(attempts, name), heard)
    return heard
