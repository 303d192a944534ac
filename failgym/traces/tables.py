"""`Tables`: the tables of a trace and where they come from, frozen and valid."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from failgym.traces import schema
from failgym.traces.schema import TABLES, Table, TraceError, make_table
from failgym.traces.submission import task_submits
from failgym.traces.validate import validate
from failgym.vocabulary import Outcome

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Meta", "Tables"]


@dataclass(frozen=True)
class Meta:
    """Where a trace comes from, and what was left out of it.

    The counts are by reason: `rows_read` of the source files, `dropped` rows that the format
    allows and the model cannot use, `noted` rows that were kept and repaired or are peculiar.
    `remarks` is what else the source says of itself: header fields, units, rules applied.
    """

    source: str
    licence: str = ""
    citation: str = ""
    time_origin: str = ""
    end: int | None = None  # end of the data [ms]; null where the source has no horizon
    rows_read: Mapping[str, int] = field(default_factory=dict[str, int])
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    noted: Mapping[str, int] = field(default_factory=dict[str, int])
    remarks: Mapping[str, str] = field(default_factory=dict[str, str])
    unix_origin: int | None = None  # time 0 in ms since 1970-01-01 UTC, where it is known


def _empty(name: str) -> Any:
    return field(default_factory=lambda: make_table(name))


@dataclass(frozen=True, eq=False, repr=False)
class Tables:
    """What a `failgym.traces.Trace` holds; valid from construction on, else TraceError."""

    meta: Meta
    jobs: Table = _empty("jobs")
    tasks: Table = _empty("tasks")
    attempts: Table = _empty("attempts")
    placements: Table = _empty("placements")
    windows: Table = _empty("windows")
    machines: Table = _empty("machines")
    outages: Table = _empty("outages")
    stages: Table = _empty("stages")
    stage_edges: Table = _empty("stage_edges")
    costs: Table = _empty("costs")

    def __post_init__(self) -> None:
        self.validate()

    @classmethod
    def of(cls, meta: Meta, **tables: Mapping[str, Any]) -> Self:
        """A trace from columns: `Trace.of(meta, jobs={"submit": [...], ...}, tasks=...)`.

        Each table is a mapping as `make_table` takes it. Raises TraceError.
        """
        return cls(meta, **{name: make_table(name, columns) for name, columns in tables.items()})

    def table(self, name: str) -> Table:
        """The table of that name. Raises TraceError if there is none."""
        if name not in TABLES:
            raise TraceError(f"unknown table {name!r}: expected one of {', '.join(TABLES)}")
        table: Table = getattr(self, name)
        return table

    def column(
        self, table: str, name: str, *, missing: int | float | bool | str | None = None
    ) -> npt.NDArray[Any]:
        """One column as a read-only numpy array of shape (rows,), nulls replaced by `missing`.

        By default a missing integer is -1, a float NaN, a bool False, a string "".
        """
        return schema.column(self.table(table), name, missing=missing)

    def present(self, table: str, name: str) -> npt.NDArray[np.bool_]:
        """Where a column is not null, shape (rows,)."""
        return schema.present(self.table(table), name)

    def frame(self, table: str) -> pd.DataFrame:
        """A copy of a table as a pandas data frame, its index the row ids."""
        return self.table(table).to_pandas()

    def rows(self, table: str) -> int:
        """The number of rows of a table."""
        return self.table(table).num_rows

    @cached_property
    def task_first(self) -> npt.NDArray[np.int64]:
        """First attempt row of each task, and the number of attempts at the end, (tasks + 1,)."""
        tasks = np.arange(self.rows("tasks") + 1)
        return np.searchsorted(self.column("attempts", "task"), tasks).astype(np.int64)

    @cached_property
    def task_submit(self) -> npt.NDArray[np.int64]:
        """When each task was submitted [ms], (tasks,).

        The first attempt's queued time, else its start, else the job's submission; but no later
        than any attempt started.
        """
        return task_submits(self.table("jobs"), self.table("tasks"), self.table("attempts"))

    @cached_property
    def task_outcome(self) -> npt.NDArray[np.int8]:
        """The recorded `Outcome` of each task, (tasks,).

        FINISH if any attempt FINISHes; else CENSORED if any attempt is; else the outcome of the
        attempt that ends last (of several, the later row).
        """
        task, outcome = self.column("attempts", "task"), self.column("attempts", "outcome")
        end = self.column("attempts", "end")
        order = np.lexsort((np.arange(len(task)), end, task))
        result = np.full(self.rows("tasks"), Outcome.CENSORED, dtype=np.int8)
        result[task[order]] = outcome[order]  # the last one written stays
        result[task[outcome == Outcome.CENSORED]] = Outcome.CENSORED
        result[task[outcome == Outcome.FINISH]] = Outcome.FINISH
        return result

    @cached_property
    def sampling_window(self) -> int | None:
        """How long usage is sampled for [ms]: the shortest time between windows of one attempt.

        None where no attempt has two windows.
        """
        attempt, offset = self.column("windows", "attempt"), self.column("windows", "offset")
        order = np.lexsort((offset, attempt))
        later = np.diff(offset[order])
        apart = later[(np.diff(attempt[order]) == 0) & (later > 0)]
        return int(apart.min()) if len(apart) else None

    def validate(self) -> None:
        """Check every table and the end; construction does it already. Raises TraceError."""
        end = self.meta.end
        if end is not None and not 0 <= end <= schema.LATEST:
            raise TraceError(f"meta: end is {end}, expected at least 0 and at most {schema.LATEST}")
        validate({name: self.table(name) for name in TABLES}, end)
