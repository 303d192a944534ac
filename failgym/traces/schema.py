"""The tables of a trace: names, columns, types, and the two enumerations stored in them.

Conventions, the same in every table:

- a row's id is its position; a foreign key is the position of a row in another table;
- times and durations are int64 milliseconds, times counted from the trace's origin;
- requested and used resources are fractions of the largest machine, but for graphics processors,
  which are counted;
- a missing value is null, never a magic number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from failgym.arrow import pa
from failgym.memory import check_room

Table: TypeAlias = Any
"""A `pyarrow.Table` (pyarrow publishes no annotations)."""


VERSION = 2
"""Version of the format that traces are stored in."""
LATEST = 2**46
"""Times and durations are at most this [ms], some 2,200 years: nothing real is later, and a sum of
many of them still fits into int64."""
MOST_TOTAL = 2**60
"""Times, times by slots, and bytes come to at most this over a whole trace: some 37 million slots
over a year. What a policy adds to it still fits into int64."""


class TraceError(ValueError):
    """A trace or a source file that cannot be used; the message is one line that says why."""


def _table(*, required: Mapping[str, Any], optional: Mapping[str, Any]) -> Any:
    fields = [pa.field(name, kind, nullable=False) for name, kind in required.items()]
    fields += [pa.field(name, kind, nullable=True) for name, kind in optional.items()]
    return pa.schema(fields)


SCHEMAS: dict[str, Any] = {
    "jobs": _table(
        required={
            "original_id": pa.string(),
            "submit": pa.int64(),
            "width": pa.int32(),  # number of tasks
            "outcome": pa.int8(),
        },
        optional={
            "user": pa.string(),
            "group": pa.string(),
            "name": pa.string(),  # of the application: executable, logical name
            "queue": pa.string(),
            "shared": pa.bool_(),
            "priority": pa.int32(),
            "scheduling_class": pa.int32(),
            "walltime": pa.int64(),  # requested [ms]
            "speculation": pa.bool_(),
            "skip_mode": pa.int32(),
            "attempt_limit": pa.int32(),
            "exit_category": pa.string(),
        },
    ),
    "tasks": _table(
        required={
            "job": pa.int64(),
            "index": pa.int64(),
            "width": pa.int32(),  # slots
        },
        optional={
            "stage": pa.int64(),
            "cpu": pa.float64(),
            "memory": pa.float64(),
            "disk": pa.float64(),
            "anti_affinity": pa.bool_(),
            "output_bytes": pa.int64(),
            "gpu": pa.float64(),  # graphics processors of the whole task, a number
        },
    ),
    "attempts": _table(
        required={
            "task": pa.int64(),
            "outcome": pa.int8(),
        },
        optional={
            "queued": pa.int64(),
            "start": pa.int64(),  # null: never ran
            "end": pa.int64(),  # never null; of what still waits or runs, the end of the data
            "cause": pa.int8(),
            "exit_code": pa.int32(),
            "length": pa.int64(),  # undisturbed length L [ms], where the source knows it
            "mean_cpu": pa.float32(),  # of the whole attempt, known when it has ended: processor
            "mean_memory": pa.float32(),  # time over time and slots; memory in the unit of the
            "max_memory": pa.float32(),  # task's request
        },
    ),
    "placements": _table(
        required={"attempt": pa.int64(), "machine": pa.int64(), "slots": pa.int32()},
        optional={},
    ),
    "windows": _table(
        required={
            "attempt": pa.int64(),
            "offset": pa.int64(),  # after the attempt's start [ms]
        },
        optional={
            "cpu": pa.float32(),
            "memory": pa.float32(),
            "local_io": pa.float32(),
            "remote_io": pa.float32(),
            "network": pa.float32(),
            "max_memory": pa.float32(),
        },
    ),
    "machines": _table(
        required={"original_id": pa.string(), "speed": pa.float64()},
        optional={
            "cpu": pa.float64(),
            "memory": pa.float64(),
            "slots": pa.int32(),
            "domain": pa.string(),  # failure domain
        },
    ),
    "outages": _table(
        required={"machine": pa.int64(), "down": pa.int64()},
        optional={
            "up": pa.int64(),  # null: not back by the end of the data
            "cause": pa.string(),
            "group": pa.int64(),  # failures that are correlated in space share one
        },
    ),
    "stages": _table(
        required={"job": pa.int64(), "stage": pa.int64()},  # number within the job
        optional={"name": pa.string()},
    ),
    "stage_edges": _table(
        required={
            "parent": pa.int64(),
            "child": pa.int64(),
            "bytes": pa.int64(),
            "wide": pa.bool_(),
        },
        optional={},
    ),
    "costs": _table(
        required={"task": pa.int64(), "machine": pa.int64(), "time": pa.int64()},
        optional={},
    ),
}
"""Table name -> columns, in the order in which they are stored and hashed."""

TABLES: tuple[str, ...] = tuple(SCHEMAS)

ADDED: frozenset[tuple[str, str]] = frozenset({("tasks", "gpu")})
"""(table, column) of optional columns that came within a format version: a stored trace may be
without them, and where nothing is in them the content is hashed as if they were not there."""

FOREIGN_KEYS: dict[tuple[str, str], str] = {
    ("tasks", "job"): "jobs",
    ("tasks", "stage"): "stages",
    ("attempts", "task"): "tasks",
    ("placements", "attempt"): "attempts",
    ("placements", "machine"): "machines",
    ("windows", "attempt"): "attempts",
    ("outages", "machine"): "machines",
    ("stages", "job"): "jobs",
    ("stage_edges", "parent"): "stages",
    ("stage_edges", "child"): "stages",
    ("costs", "task"): "tasks",
    ("costs", "machine"): "machines",
}
"""(table, column) -> the table whose row positions the column holds."""


def make_table(name: str, columns: Mapping[str, Any] | None = None) -> Table:
    """A table of the trace from columns; optional columns that are left out are null throughout.

    `columns` maps a column's name to a list (None = missing), a numpy array (NaN = missing), a
    numpy masked array (masked = missing) or a pyarrow array, all of one length; a single number,
    string or bool stands for a column that holds it in every row, None for one that is missing.

    Raises TraceError for an unknown table or column, a missing required column, columns of
    different lengths, and values that do not fit the column's type.
    """
    if name not in SCHEMAS:
        raise TraceError(f"unknown table {name!r}: expected one of {', '.join(TABLES)}")
    schema = SCHEMAS[name]
    given = {key: value for key, value in (columns or {}).items() if value is not None}
    for unknown in given.keys() - set(schema.names):
        raise TraceError(f"table {name}: unknown column {unknown!r}")
    rows = _row_count(name, given)
    arrays: list[Any] = []
    for field in schema:
        if field.name not in given and not field.nullable and rows:
            raise TraceError(f"table {name}: column {field.name!r} is required")
        arrays.append(_as_array(name, field, given.get(field.name), rows))
    return pa.Table.from_arrays(arrays, schema=schema)


def column(
    table: Table, name: str, *, missing: int | float | bool | str | None = None
) -> npt.NDArray[Any]:
    """One column as a read-only numpy array, nulls replaced by `missing`.

    By default a missing integer is -1, a float NaN, a bool False, a string "".
    """
    values = table.column(name).combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.chunks else pa.array([], values.type)
    if values.null_count:
        values = values.fill_null(_stand_in(values.type) if missing is None else missing)
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    array.flags.writeable = False
    return array


def fixed_width(texts: npt.NDArray[Any]) -> npt.NDArray[np.str_]:
    """Texts (objects) as an array of numpy's own, each taking as much room as the longest.

    Raises MemoryError, in one line, if there is not so much.
    """
    longest = max(map(len, texts), default=0)
    check_room(
        4 * longest * len(texts), f"{len(texts):,} names as long as the longest, {longest:,}"
    )
    return texts.astype(np.str_)


def present(table: Table, name: str) -> npt.NDArray[np.bool_]:
    """Where a column is not null (bool, one per row)."""
    values = table.column(name)
    if not values.null_count:
        return np.ones(len(values), dtype=np.bool_)
    mask: npt.NDArray[np.bool_] = values.is_valid().combine_chunks().to_numpy(zero_copy_only=False)
    return mask


def _stand_in(kind: Any) -> int | float | bool | str:
    if pa.types.is_floating(kind):
        return float("nan")
    if pa.types.is_boolean(kind):
        return False
    return "" if pa.types.is_string(kind) else -1


def _row_count(name: str, columns: Mapping[str, Any]) -> int:
    lengths = {key: len(value) for key, value in columns.items() if not np.isscalar(value)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise TraceError(f"table {name}: columns of different lengths: {listed}")
    return next(iter(lengths.values()), 0)


def _as_array(table: str, field: Any, values: Any, rows: int) -> Any:
    if values is None:
        return pa.nulls(rows, field.type)
    if np.isscalar(values):
        values = [values] * rows
    try:
        if np.ma.isMaskedArray(values):
            masked: Any = values
            data = pa.array(masked.data, mask=np.ma.getmaskarray(masked), from_pandas=True)
            return data.cast(field.type)
        if isinstance(values, np.ndarray):
            return pa.array(values, from_pandas=True).cast(field.type)
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.chunks else pa.array([], values.type)
        if isinstance(values, pa.Array):
            return values.cast(field.type)
        return pa.array(values, type=field.type, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise TraceError(
            f"table {table}: column {field.name!r} expects {field.type}: {reason}"
        ) from error
