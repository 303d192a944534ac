"""The columns of Google's tables of 2019 that are read (clusterdata_trace_format_v3.proto)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from failgym.traces.schema import LATEST

__all__ = [
    "AFTER_THE_TRACE",
    "COLLECTION_EVENTS",
    "EVENTS",
    "INSTANCE_EVENTS",
    "INSTANCE_USAGE",
    "MACHINE_EVENTS",
    "MISSING_TYPES",
    "NONE",
    "Column",
    "flat_names",
]

NONE = -(2**63)
"""A missing integer within a column."""
AFTER_THE_TRACE = 2**63 - 1
"""The time of what happened after the end of the trace."""
INT32, INT64 = 2**31 - 1, 2**63 - 1

EVENTS = (
    *("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST"),
    *("UPDATE_PENDING", "UPDATE_RUNNING"),
)
MACHINE_TYPES = ("EVENT_TYPE_UNKNOWN", "ADD", "REMOVE", "UPDATE")
COLLECTION_TYPES = ("JOB", "ALLOC_SET")
LATENCIES = ("MOST_INSENSITIVE", "INSENSITIVE", "SENSITIVE", "MOST_SENSITIVE")
SCALINGS = (
    "VERTICAL_SCALING_SETTING_UNKNOWN",
    "VERTICAL_SCALING_OFF",
    "VERTICAL_SCALING_CONSTRAINED",
    "VERTICAL_SCALING_FULLY_AUTOMATED",
)
MISSING_TYPES = (
    *("MISSING_TYPE_NONE", "SNAPSHOT_BUT_NO_TRANSITION", "NO_SNAPSHOT_OR_TRANSITION"),
    *("EXISTS_BUT_NO_CREATION", "TRANSITION_MISSING_STEP", "TOO_MANY_EVENTS"),
)


@dataclass(frozen=True)
class Column:
    """A column, `structure.field` for one within a structure; `codes` names its numbers.

    Integers are from `least` to `most` (or equal to `also`), numbers are not negative; of a list it
    is only kept whether anything is in it.
    """

    name: str
    kind: Literal["integer", "number", "text", "list"] = "integer"
    needed: bool = False
    least: int = 0
    most: int = INT64
    also: int = NONE
    codes: tuple[str, ...] = ()

    @property
    def dtype(self) -> type[Any]:
        """In what its values are held: integers as narrow as they can be, of texts the codes."""
        if self.kind == "number":
            return np.float64
        if self.kind != "integer":
            return np.int32 if self.kind == "text" else np.int8
        return next(d for d in (np.int8, np.int32, np.int64) if self.most <= np.iinfo(d).max)

    @property
    def missing(self) -> Any:
        """What stands for a missing value: of integers the least that `dtype` can hold."""
        if self.kind == "number":
            return np.nan
        if self.kind != "integer":
            return -1 if self.kind == "text" else 0
        return int(np.iinfo(self.dtype).min)

    @property
    def expected(self) -> str:
        """What an integer must be, in words."""
        if self.codes:
            listed = ", ".join(f"{number} {name}" for number, name in enumerate(self.codes))
            return f"one of {listed}"
        also = "" if self.also == NONE else f" (or {self.also})"
        return f"an integer of at least {self.least} and at most {self.most}{also}"


def flat_names(name: str) -> tuple[str, ...]:
    """The names that the field of a structure may have as a column of its own."""
    return (name, name.replace(".", "_")) if "." in name else ()


def _codes(name: str, codes: tuple[str, ...], *, needed: bool = False) -> Column:
    return Column(name, needed=needed, most=len(codes) - 1, codes=codes)


TIME = Column("time", needed=True, most=LATEST * 1000, also=AFTER_THE_TRACE)
"""[us]"""

MACHINE_EVENTS = (
    TIME,
    Column("machine_id", needed=True),
    _codes("type", MACHINE_TYPES, needed=True),
    Column("switch_id", "text"),
    Column("capacity.cpus", "number"),
    Column("capacity.memory", "number"),
)
INSTANCE_EVENTS = (
    TIME,
    _codes("type", EVENTS, needed=True),
    Column("collection_id", needed=True),
    Column("instance_index", needed=True, most=INT32),
    Column("machine_id", least=-1),
    _codes("collection_type", COLLECTION_TYPES),
    Column("priority", least=-1, most=INT32),
    _codes("scheduling_class", LATENCIES),
    _codes("missing_type", MISSING_TYPES),
    Column("resource_request.cpus", "number"),
    Column("resource_request.memory", "number"),
)
COLLECTION_EVENTS = (
    TIME,
    _codes("type", EVENTS, needed=True),
    Column("collection_id", needed=True),
    _codes("collection_type", COLLECTION_TYPES),
    Column("priority", least=-1, most=INT32),
    _codes("scheduling_class", LATENCIES),
    Column("user", "text"),
    Column("collection_name", "text"),
    Column("collection_logical_name", "text"),
    Column("alloc_collection_id", least=-1),
    Column("parent_collection_id", least=-1),
    Column("start_after_collection_ids", "list"),
    Column("max_per_machine", least=-1, most=INT32),
    _codes("vertical_scaling", SCALINGS),
    _codes("missing_type", MISSING_TYPES),
)
INSTANCE_USAGE = (
    Column("start_time", needed=True, most=LATEST * 1000, also=AFTER_THE_TRACE),
    Column("end_time", needed=True, most=LATEST * 1000, also=AFTER_THE_TRACE),
    Column("collection_id", needed=True),
    Column("instance_index", needed=True, most=INT32),
    Column("average_usage.cpus", "number"),
    Column("average_usage.memory", "number"),
    Column("maximum_usage.memory", "number"),
)
"""The columns of each table; all but the needed may miss."""
