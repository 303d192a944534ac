"""`Trace`: what happened on a cluster, as a frozen set of columnar tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from failgym.traces.schema import TraceError, make_table
from failgym.traces.split import boundary, split
from failgym.traces.store import content_hash, load_tables, save_trace, table_hashes
from failgym.traces.tables import Meta, Tables
from failgym.vocabulary import Cause, Outcome

__all__ = ["Cause", "Meta", "Outcome", "Trace", "TraceError", "make_table"]


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Tables):
    """A trace: ten immutable tables (columns in `failgym.traces.schema`) and their provenance.

    Attempts are ordered by task, and those of a task as the record lists them, so that an attempt's
    number is its position within its task, never-started rows included; the started attempts of a
    task are in nondecreasing order of start. That is checked, but for the record's own order.

    Jobs and tasks may be in any order, and are not checked for one. Those that our readers and
    generators make have jobs ordered by (submit, original id) and tasks by (`task_submit`, job,
    index); a split keeps the order of what it parts.

    A trace is valid from construction on: TraceError names table, row, column and what was
    expected. Two traces with the same `content_hash` hold the same tables.

    >>> trace = Trace.of(
    ...     Meta("by hand"),
    ...     jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.FINISH},
    ...     tasks={"job": [0], "index": [0], "width": 1},
    ...     attempts={
    ...         "task": [0, 0],
    ...         "start": [0, 70],
    ...         "end": [60, 200],
    ...         "outcome": [Outcome.FAIL, Outcome.FINISH],
    ...         "cause": [Cause.INTRINSIC, None],
    ...     },
    ... )
    >>> trace
    Trace('by hand': 1 jobs, 1 tasks, 2 attempts)
    >>> trace.column("attempts", "end") - trace.column("attempts", "start")
    array([ 60, 130])
    """

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the folder that `save` wrote, checking its format version and its content.

        Raises TraceError, in one line, if the folder is missing or incomplete, of another format
        version, or if a table or the meta data was changed.
        """
        meta, tables = load_tables(Path(path))
        return cls(meta, **tables)

    def save(self, path: str | Path) -> None:
        """Write the trace to the folder `path`: a Parquet file per table, and `meta.json`.

        The folder appears whole or not at all; an older trace there is replaced. Raises TraceError
        if `path` exists and is not a trace (`check_destination`), or cannot be written.
        """
        save_trace(self, Path(path))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of the tables' values, whatever their encoding or chunking."""
        return content_hash(table_hashes(self))

    def boundary(self, share: float = 0.7) -> int:
        """The submit time [ms] by which a `share` of the jobs was submitted."""
        return boundary(self, share)

    def split(self, part: Literal["train", "test"], boundary_share: float = 0.7) -> Trace:
        """The earlier or the later part of the trace, parted by time of job submission.

        `test` holds the jobs submitted after `boundary(boundary_share)`; `train` the others, as
        they were known at the boundary (`failgym.traces.split`). A trace without jobs is parted by
        when its outages began. Raises ValueError for another
        part or a share outside (0, 1).
        """
        return split(self, part, boundary_share).trace

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        """Itself: nothing in a trace can change."""
        return self

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.rows(name)} {name}" for name in ("jobs", "tasks", "attempts"))
        return f"Trace({self.meta.source!r}: {counts})"
