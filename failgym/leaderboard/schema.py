"""The tables of a submission: a row per episode, and the actions of its decisions in order."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from failgym.envs.spaces import TERMS
from failgym.files import replacing

__all__ = [
    "ACTIONS",
    "ACTIONS_FOLDER",
    "CRASHED",
    "NONSENSE",
    "OK",
    "PREDICTORS_FOLDER",
    "RESULTS",
    "RESULTS_FILE",
    "STATUSES",
    "TIMEOUT",
    "UNIT",
    "read_table",
    "write_table",
]

Table = Any
"""`pyarrow.Table`, which comes without types."""

OK: Final = "ok"
CRASHED: Final = "crashed"
"""the policy raised, or its process ended"""
TIMEOUT: Final = "timeout"
"""it did not answer in time"""
NONSENSE: Final = "nonsense"
"""its answer was no action for each question"""
STATUSES = (OK, CRASHED, TIMEOUT, NONSENSE)

RESULTS_FILE = "results.parquet"
ACTIONS_FOLDER = "actions"
PREDICTORS_FOLDER = "predictors"
"""Of those that change what happens: without them what happened could not be played again."""

_EPISODE = [("slice", pa.int64()), ("seed", pa.int64())]
_MEASURED = [
    *((term, pa.float64()) for term in TERMS),
    *(("replay_cost", pa.float64()), ("bound_cost", pa.float64())),
    *(("decisions", pa.int64()), ("illegal", pa.int64())),
    *(("seconds", pa.float64()), ("status", pa.string()), ("reason", pa.string())),
]
RESULTS: Final = pa.schema(
    [
        *(("policy", pa.string()), ("env", pa.string()), ("forecast", pa.string())),
        ("training_seed", pa.int64()),
        *_EPISODE,
        *_MEASURED,
    ]
)
"""A row per episode. `seed` is the suite's number of the seed. The cost terms are null where the
policy failed (`status`, `reason`); `replay_cost` and `bound_cost` are sums of terms on the same
slice. `seconds` is wall time of engine and policy, shared among the episodes played together by
their decisions [s]."""
ACTIONS: Final = pa.schema([*_EPISODE, ("actions", pa.list_(pa.uint8()))])
"""A row per episode: its actions in the order in which they were asked for; after an action other
than CONTINUE a decision may be asked again, so that there may be more of them than decisions."""
UNIT: Final = pa.schema([*_EPISODE, *_MEASURED, ("actions", pa.list_(pa.uint8()))])
"""Both, for the episodes of one policy in one cell, while a run is under way."""


def write_table(table: Table, path: Path) -> None:
    """Write a table to a temporary name beside the file and rename. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        pq.write_table(table, partial, compression="zstd")


def read_table(path: Path, schema: Any, name: str) -> Table:
    """Read a table and check its columns and their types.

    Args:
        path: the file.
        schema: the columns that it must have, in this order.
        name: what errors call it.

    Raises:
        ValueError: in one line, if it cannot be read or holds other columns.
    """
    try:
        table = pq.ParquetFile(path).read()  # one file, whatever its folders are called
    except (OSError, pa.ArrowException) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{name}: cannot be read, it may be cut off: {said}") from error
    if table.schema.remove_metadata().equals(schema):
        return table
    for column in schema:
        if column.name not in table.column_names:
            raise ValueError(f"{name}: column {column.name!r} is missing")
        if table.schema.field(column.name).type != column.type:
            found = table.schema.field(column.name).type
            raise ValueError(f"{name}: column {column.name!r} is {found}, expected {column.type}")
    raise ValueError(f"{name}: expected the columns {', '.join(schema.names)}, in this order")
