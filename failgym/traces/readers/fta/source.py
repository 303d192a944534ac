"""What the tables of a trace of the Failure Trace Archive say, taken in row by row."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.archives import Member
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.fta.tables import Columns, Table
from failgym.traces.schema import LATEST

__all__ = ["NO_REASON", "Events", "Node", "Source"]

Ints = npt.NDArray[np.int64]

UNAVAILABLE, AVAILABLE = 0, 1
NO_REASON = -1
MOST_SLOTS = 2**31 - 1
OF_ANOTHER = "row that lays its node to another platform than one before: the same node"
"""Noted: nodes have ids of their own in a trace, so these may be of two."""

_EVENT = ("node_id", "event_type", "event_start_time")
_STOPS = ("event_stop_time", "event_end_time")
_COLUMNS = (
    "event_id",
    "component_id",
    "node_id",
    "platform_id",
    "node_name",
    "event_type",
    "event_start_time",
    "event_stop_time",
    "event_end_reason",
)
"""The columns of event_trace as published, for a table that does not name them."""


@dataclass
class Node:
    """A node as the tables tell it; memory in the table's unit."""

    platform: int | None = None
    slots: int | None = None
    memory: float | None = None


class _Event(NamedTuple):
    node: int
    kind: int
    begin: int | None  # [ms]
    end: int  # [ms]; -1: none
    reason: int


@dataclass
class Events:
    """Events of one type, (events,): node, begin and end (-1: none) [ms], reason of the end."""

    node: array[int] = field(default_factory=lambda: array("q"))
    begin: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    reason: array[int] = field(default_factory=lambda: array("q"))

    def add(self, node: int, begin: int, end: int, reason: int) -> None:
        """Take in an event."""
        self.node.append(node)
        self.begin.append(begin)
        self.end.append(end)
        self.reason.append(reason)

    def extend(self, node: Ints, begin: Ints, end: Ints, reason: Ints) -> None:
        """Take in events, (events,) each."""
        self.node.frombytes(node.tobytes())
        self.begin.frombytes(begin.tobytes())
        self.end.frombytes(end.tobytes())
        self.reason.frombytes(reason.tobytes())

    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Node, begin, end and reason."""
        columns = (self.node, self.begin, self.end, self.reason)
        node, begin, end, reason = (np.array(column, dtype=np.int64) for column in columns)
        return node, begin, end, reason


@dataclass
class Source:
    """All that was read; times in ms since 1970."""

    counts: Counts = field(default_factory=Counts)
    nodes: dict[int, Node] = field(default_factory=dict[int, Node])
    platforms: dict[int, str] = field(default_factory=dict[int, str])
    unavailable: Events = field(default_factory=Events)
    available: Events = field(default_factory=Events)
    first: int = LATEST
    last: int = -1

    def read(self, member: Member, *, alone: bool) -> None:
        """Take in a table, known by its name; a file `alone` may have any. Raises TraceError."""
        table = member.name.rsplit("/", 1)[-1].split(".")[0].lower()
        if table.endswith("node"):
            self._read_nodes(member)
        elif table.endswith("component"):
            self._read_components(member)
        elif table.endswith("platform"):
            self._read_platforms(member)
        elif alone or "event_trace" in table:
            self._read_events(member)

    def _read_nodes(self, member: Member) -> None:
        table = Table.of(member, ("node_id",), exact=False)
        columns = table.columns
        for line, fields in table.rows():
            self.counts.read("nodes")
            node = self._node(columns, line, fields)
            processors = _count(columns, fields, "num_procs")
            cores = _count(columns, fields, "cores_per_proc")
            if processors is not None and processors * (cores or 1) <= MOST_SLOTS:
                node.slots = processors * (cores or 1)
            memory = Columns.number(columns.text(fields, "mem_size"))
            node.memory = memory if memory is not None and memory > 0 else None

    def _read_components(self, member: Member) -> None:
        table = Table.of(member, ("node_id",), exact=False)
        for line, fields in table.rows():
            self.counts.read("components")
            self._node(table.columns, line, fields)
            for name in ("trace_start", "trace_end"):
                time = table.columns.milliseconds(line, fields, name)
                if time:  # 0 is none either
                    self._span(time, time)

    def _read_platforms(self, member: Member) -> None:
        table = Table.of(member, ("platform_id",), exact=False)
        for line, fields in table.rows():
            platform = table.columns.identity(line, fields, "platform_id")
            self.platforms[platform] = table.columns.text(fields, "platform_name")

    def _read_events(self, member: Member) -> None:
        table = Table.of(member, _EVENT, _COLUMNS, exact=True)
        if "events" in self.counts.rows_read:
            self.counts.note("table of events besides another: nodes of one id are the same")
        stop = next((name for name in _STOPS if table.columns.has(name)), _STOPS[0])
        for first, block in table.blocks:
            if not self._read_block(table, stop, block):
                for line, fields in table.rows_of(first, block):
                    self.counts.read("events")
                    self._node(table.columns, line, fields)
                    self._add(_event(table.columns, line, fields, stop))

    def _read_block(self, table: Table, stop: str, block: bytes) -> bool:
        """Take in a block of regular rows at once; False if it is none, or has odd events."""
        names = (*_EVENT, stop, "event_end_reason", "platform_id")
        if not all(map(table.columns.has, names)):
            return False
        columns = table.integers(block, names)
        if columns is None:
            return False
        node, kind, begin, end, reason, platform = columns
        if (kind > AVAILABLE).any() or (end < begin).any() or end.max() > LATEST // 1000:
            return False
        fresh, first, of = np.unique(node, return_index=True, return_inverse=True)
        for one, at in zip(fresh.tolist(), first.tolist(), strict=True):
            self.nodes.setdefault(one, Node())
            if self.nodes[one].platform is None:
                self.nodes[one].platform = int(platform[at])
        others = np.array([self.nodes[one].platform for one in fresh.tolist()])[of] != platform
        if others.any():
            self.counts.note(OF_ANOTHER, int(others.sum()))
        for events, rows in (
            (self.unavailable, kind == UNAVAILABLE),
            (self.available, kind == AVAILABLE),
        ):
            events.extend(node[rows], begin[rows] * 1000, end[rows] * 1000, reason[rows])
        self._span(int(begin.min()) * 1000, int(end.max()) * 1000)
        self.counts.read("events", len(node))
        return True

    def _add(self, event: _Event) -> None:
        if event.kind not in (UNAVAILABLE, AVAILABLE):
            self.counts.drop(f"event of type {event.kind}: the node is up")
        elif event.begin is None:
            self.counts.drop("event without a start")
        elif -1 < event.end < event.begin:
            self.counts.drop("event that ends before it begins")
        else:
            events = self.available if event.kind else self.unavailable
            events.add(event.node, event.begin, event.end, event.reason)
            self._span(event.begin, max(event.end, event.begin))

    def _node(self, columns: Columns, line: int, fields: list[str]) -> Node:
        node = self.nodes.setdefault(columns.identity(line, fields, "node_id"), Node())
        platform = columns.integer(line, fields, "platform_id")
        if node.platform is None:
            node.platform = platform
        elif platform not in (None, node.platform):
            self.counts.note(OF_ANOTHER)
        return node

    def _span(self, first: int, last: int) -> None:
        self.first = min(self.first, first)
        self.last = max(self.last, last)


def _event(columns: Columns, line: int, fields: list[str], stop: str) -> _Event:
    """An event, each field checked. Raises TraceError."""
    kind = columns.integer(line, fields, "event_type")
    if kind is None:
        columns.fail(line, "event_type", "", "0 (unavailable) or 1 (available)")
    end = columns.milliseconds(line, fields, stop)
    reason = columns.integer(line, fields, "event_end_reason")
    return _Event(
        columns.identity(line, fields, "node_id"),
        kind,
        columns.milliseconds(line, fields, "event_start_time"),
        -1 if end is None else end,
        NO_REASON if reason is None or not 0 <= reason <= LATEST else reason,
    )


def _count(columns: Columns, fields: list[str], name: str) -> int | None:
    number = Columns.number(columns.text(fields, name))
    return int(number) if number is not None and 1 <= number <= MOST_SLOTS else None
