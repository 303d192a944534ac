"""LANL's systems as the rows of the failure data tell them: nodes and failures."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.lanl.rows import CAUSES, Row
from failgym.vocabulary import MINUTE

__all__ = ["NO_NODE", "Node", "System"]

MOST_NODES = 10_000
"""A system has no more nodes (LANL's largest 1,024): bounds the memory that a file can take."""

NO_NODE = -1
"""The node of a row that names none."""


@dataclass(frozen=True)
class Node:
    """What the rows say of a node: processors, memory [GB], months in the file's own words."""

    processors: int | None
    memory: int | None
    months: tuple[str, str, str]  # installed, in production, decommissioned


@dataclass
class System:
    """A system and its failures; times in ms since 1970-01-01 as the file's local times stand."""

    number: int
    size: int = 0  # its number of nodes
    zero: int | None = None  # the number of its node zero
    nodes: dict[int, Node] = field(default_factory=dict[int, Node])
    node: array[int] = field(default_factory=lambda: array("q"))
    down: array[int] = field(default_factory=lambda: array("q"))
    up: array[int] = field(default_factory=lambda: array("q"))
    cause: list[str | None] = field(default_factory=list[str | None])
    counts: Counts = field(default_factory=Counts)

    def add(self, row: Row) -> None:
        """Take in a row. Raises TraceError."""
        self.counts.read("failures")
        self._count_nodes(row)
        number, zero_based = row.integer("nodenum"), row.integer("nodenumz")
        if number is None:
            number = NO_NODE
        elif zero_based is not None and number >= zero_based:
            offset = number - zero_based
            self.zero = offset if self.zero is None else min(self.zero, offset)
        if number not in self.nodes:
            self.nodes[number] = _node(row)
        times = _times(row, self.counts)
        if times is not None:
            self.node.append(number)
            self.down.append(times[0])
            self.up.append(times[1])
            self.cause.append(_cause(row, self.counts))

    def _count_nodes(self, row: Row) -> None:
        size = row.integer("nodes", least=1) or 0
        if size > MOST_NODES:
            row.fail("nodes", f"at most {MOST_NODES} nodes")
        if self.size and size not in (0, self.size):
            self.counts.note("row with another number of nodes than a row of its system before")
        self.size = max(self.size, size)

    @property
    def rows(self) -> int:
        """How many rows it has, dropped ones too."""
        return self.counts.rows_read.get("failures", 0)

    @property
    def moments(self) -> tuple[int, int] | None:
        """The first and the last moment that its rows tell of; None without any."""
        if not self.down:
            return None
        return min(self.down), max(max(self.down), max(self.up))

    @property
    def numbers(self) -> list[int]:
        """The numbers of its nodes, ascending; `NO_NODE` only if no row names a node."""
        named = self.named
        if not named:
            return [NO_NODE]
        return sorted({*self.regular, *named})

    @property
    def named(self) -> set[int]:
        """The numbers of the nodes that rows name."""
        return self.nodes.keys() - {NO_NODE}

    @property
    def regular(self) -> range:
        """As many consecutive numbers as the system has nodes.

        They begin with that of node zero; or they end with the highest that a row names, if that
        is beyond them and the numbers of all rows are among them so.
        """
        named = self.named
        first = min(named) if self.zero is None else self.zero
        if first + self.size <= max(named) < min(named) + self.size:
            first = max(named) - self.size + 1
        return range(first, first + self.size)

    def of_most(self, column: str) -> int | None:
        """The most frequent value of a node's number column, of several the least."""
        values = Counter(getattr(node, column) for node in self.nodes.values())
        del values[None]
        return min(values, key=lambda value: (-values[value], value)) if values else None

    def failures(self, position: Mapping[int, int]) -> tuple[npt.NDArray[np.int64], ...]:
        """Machine row, down, up (-1: none) and row of the failures of nodes in `position`."""
        rows = [row for row, node in enumerate(self.node) if node in position]
        machine = [position[self.node[row]] for row in rows]
        down, up = ([values[row] for row in rows] for values in (self.down, self.up))
        return tuple(np.array(values, dtype=np.int64) for values in (machine, down, up, rows))


def _node(row: Row) -> Node:
    months = (row.text("node install"), row.text("node prod"), row.text("node decom"))
    return Node(row.integer("procsinnode"), row.integer("mem"), months)


def _times(row: Row, counts: Counts) -> tuple[int, int] | None:
    """When the node went down and came back (-1: it did not); None if the row cannot be used."""
    down, up, minutes = row.time("prob started"), row.time("prob fixed"), row.integer("down time")
    if down is None:
        counts.drop("row without a start of the problem")
        return None
    known = -1 if minutes is None else down + minutes * MINUTE
    if up is None:
        counts.note("row without an end of the problem: its down time taken, if it has one")
        return down, known
    if up < down:
        if known < 0:
            counts.drop("row fixed before it started, without a down time")
            return None
        counts.note("row fixed before it started: its down time taken")
        return down, known
    if known not in (-1, up):
        counts.note("row whose down time is not that of its times: its times taken")
    return down, up


def _cause(row: Row, counts: Counts) -> str | None:
    said = [(name, row.text(name)) for name in CAUSES if row.text(name)]
    if row.text("same event").lower() == "yes":
        counts.note("row of the same event as another")
    if not said:
        counts.note("row without a cause")
        return None
    if len(said) > 1:
        counts.note("row with several causes")
    return "; ".join(name if name == what.lower() else f"{name}: {what}" for name, what in said)
