"""Traces with some of their tables or columns replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from failgym.arrow import pa
from failgym.traces import Trace
from failgym.traces.schema import TABLES, make_table

__all__ = ["with_columns", "with_tables"]


def with_tables(trace: Trace, **tables: Mapping[str, Any]) -> Trace:
    """The trace with some tables replaced, each a mapping of columns as `make_table` takes it."""
    kept = {name: trace.table(name) for name in TABLES}
    made = {name: make_table(name, columns) for name, columns in tables.items()}
    return Trace(trace.meta, **{**kept, **made})


def with_columns(
    trace: Trace, end: int | None, columns: Mapping[tuple[str, str], npt.NDArray[Any]]
) -> Trace:
    """The trace with another end of the data and some columns, by table and name, replaced."""
    tables = {name: trace.table(name) for name in TABLES}
    for (name, column), values in columns.items():
        place = tables[name].schema.get_field_index(column)
        field = tables[name].schema.field(column)
        tables[name] = tables[name].set_column(place, field, pa.array(values, field.type))
    return Trace(replace(trace.meta, end=end), **tables)
