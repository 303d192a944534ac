"""The tables of a submission: a row per slice or trace, and the actions of its decisions."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from failgym.envs.spaces import TERMS
from failgym.files import replacing
from failgym.leaderboard.suite.account import ACCOUNT, REPLAY_ACCOUNT

__all__ = [
    "ACTIONS",
    "ACTIONS_FOLDER",
    "ANCHORS",
    "ANCHOR_BLOCKS",
    "BLOCKS",
    "CELL_RESULTS",
    "COUNTED",
    "CRASHED",
    "NONSENSE",
    "OK",
    "PREDICTORS_FOLDER",
    "RESULTS",
    "RESULTS_FILE",
    "STATUSES",
    "TIMEOUT",
    "lists",
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

ANCHORS: Final = ("replay_cost", "bound_cost", "replay_spent")
"""Costs of replay and of the bound on a slice, which its score is measured between."""

COUNTED: Final = (*ACCOUNT, *REPLAY_ACCOUNT)
"""What is known of a row in plain units, of the policy and of replay
(`failgym.leaderboard.suite.account`)."""

BLOCKS: Final = "cost_blocks"
ANCHOR_BLOCKS: Final = tuple(f"{anchor}_blocks" for anchor in ANCHORS)
"""Columns that hold for each slice how much of its costs is of which block of jobs."""

RESULTS_FILE = "results.parquet"
ACTIONS_FOLDER = "actions"
PREDICTORS_FOLDER = "predictors"
"""Folder of the predictors whose forecasts change what happens, and are needed to replay it."""

MOST_VALUES = 1 << 28
"""Most values of a table that is read: a small file of a stranger may unpack to anything."""
MOST_BYTES = 1 << 31
"""Most bytes of a table that is read, unpacked."""
MOST_TEXT = 4000
"""Bytes of one text in it: a name has at most 1,000 signs."""

_EPISODE = [("slice", pa.int64()), ("seed", pa.int64())]
_MEASURED = [
    *((term, pa.float64()) for term in TERMS),
    *((anchor, pa.float64()) for anchor in ANCHORS),
    *((name, pa.float64()) for name in COUNTED),
    *((blocks, pa.list_(pa.float64())) for blocks in (BLOCKS, *ANCHOR_BLOCKS)),
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
"""A row per slice, or, where a suite has many traces of an environment, or draws slices by what is
at stake on them, per trace: then `slice` is -1, costs are sums over its slices, each as often as it
stands for, and decisions and seconds are those of what was played. `seed` is the suite's number of
the seed. The cost terms and the account are null where the policy failed (`status`, `reason`);
`replay_cost` and `bound_cost` are sums of terms on the same slice, and `replay_spent` is what
replay's machine-time there costs, which says whether there is anything to gain
(`failgym.evaluation.room`); `COUNTED` says in hours and tasks what the policy and replay did. The
columns of blocks share the slice's costs out among the blocks of its trace, as many in each row
(`failgym.leaderboard.suite.cost_blocks`); `cost_blocks` is empty where the policy failed. `seconds`
is wall time of engine and policy, shared among the episodes played together by their decisions
[s]."""
_ACTIONS = [("counts", pa.list_(pa.int64())), ("actions", pa.list_(pa.uint8()))]
ACTIONS: Final = pa.schema([*_EPISODE, *_ACTIONS])
"""A row per row of results: the actions of its slices, slice after slice, in the order in which
they were asked for, and how many are of each slice. After an action other than CONTINUE a decision
may be asked again, so that there may be more of them than decisions."""
CELL_RESULTS: Final = pa.schema([*_EPISODE, *_MEASURED, *_ACTIONS])
"""Results and actions of one policy in one cell, while a run is under way."""


def lists(values: npt.NDArray[np.float64]) -> Any:
    """A matrix as a column with a list per row."""
    offset = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(offset), pa.array(values.ravel()))


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
    if not path.is_file():
        raise ValueError(f"{name}: cannot be read, it is no file")
    texts = [column.name for column in schema if column.type == pa.string()]
    try:
        file = pq.ParquetFile(path)  # one file, whatever its folders are called
        _check_columns(file.schema_arrow, schema, name)
        _check_size(file.metadata, name)
        table = pq.ParquetFile(path, read_dictionary=texts).read()
    except (OSError, pa.ArrowException) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{name}: cannot be read, it may be cut off: {said}") from error
    for text in texts:
        if any(_longest(chunk.dictionary) > MOST_TEXT for chunk in table.column(text).chunks):
            raise ValueError(f"{name}: column {text!r}: expected at most {MOST_TEXT} bytes")
    return table.cast(schema.with_metadata(table.schema.metadata))


def _check_columns(found: Any, schema: Any, name: str) -> None:
    """Raises ValueError if a file has other columns."""
    if found.remove_metadata().equals(schema):
        return
    for column in schema:
        if column.name not in found.names:
            raise ValueError(f"{name}: column {column.name!r} is missing")
        kind = found.types[found.names.index(column.name)]
        if kind != column.type:
            raise ValueError(f"{name}: column {column.name!r} is {kind}, expected {column.type}")
    raise ValueError(f"{name}: expected the columns {', '.join(schema.names)}, in this order")


def _check_size(about: Any, name: str) -> None:
    """Raises ValueError if a file, however small, would not fit into memory."""
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    values = (g.column(i).num_values for g in groups for i in range(g.num_columns))
    if max(sum(values), about.num_rows) > MOST_VALUES:
        raise ValueError(f"{name}: expected at most {MOST_VALUES:,} values")
    if sum(group.total_byte_size for group in groups) > MOST_BYTES:
        raise ValueError(f"{name}: expected at most {MOST_BYTES:,} bytes when unpacked")


def _longest(texts: Any) -> int:
    return pc.max(pc.binary_length(texts)).as_py() or 0
