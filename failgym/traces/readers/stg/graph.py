"""One graph of the Standard Task Graph set, from its lines."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from failgym.traces.readers.graphs import acyclic
from failgym.traces.schema import LATEST, TraceError

__all__ = ["Graph", "read_graph"]

LARGEST = 2**40
"""No number of a graph is larger."""
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{0,15})?")


@dataclass
class Graph:
    """A task graph: the processing time [ms] of each task, and what precedes it.

    Tasks are by their numbers, ascending; so that a task's position is its number where the file
    numbers them from 0 as published. Of each edge there are the positions of parent and child, and
    the cost of communication [ms].
    """

    shown: str
    times: list[int] = field(default_factory=list[int])
    parent: array[int] = field(default_factory=lambda: array("q"))
    child: array[int] = field(default_factory=lambda: array("q"))
    cost: array[int] = field(default_factory=lambda: array("q"))
    repeated: int = 0  # predecessors that are listed twice
    communicates: bool = False  # whether the file states costs of communication


@dataclass
class _Task:
    line: int
    number: int
    time: int
    parents: array[int]  # their numbers
    costs: array[int]  # and the cost of communication with each [ms]


def read_graph(shown: str, lines: Iterable[tuple[int, str]], unit_ms: int) -> Graph:
    """The graph of a file; `shown` names it in errors.

    Its first line holds the number of tasks, with or without the two dummies at entry and exit, and
    may hold that of processors. Each task follows with its number, its time, the number of its
    predecessors, and these; in the variant with communication costs each predecessor is followed by
    its cost, on the same line or each such pair on a line of its own. Lines that begin with `#` say
    something about the graph.

    Raises TraceError with the line: not numbers as expected, fewer or more tasks than stated, a
    number twice, a predecessor that does not exist, tasks that wait for each other.
    """
    reader = _Reader(shown, ((n, text) for n, text in lines if _states(text)), unit_ms)
    line, declared = reader.declared()
    tasks = list(reader.tasks())
    if len(tasks) not in (declared, declared + 2) or not tasks:
        raise TraceError(
            f"{shown}, line {line}: {declared} tasks, expected as many as follow, {len(tasks)},"
            " with or without those at entry and exit"
        )
    tasks.sort(key=lambda task: task.number)
    position: dict[int, int] = {}
    for place, task in enumerate(tasks):
        if position.setdefault(task.number, place) != place:
            raise TraceError(f"{shown}, line {task.line}: task {task.number} is there twice")
    graph = Graph(shown, [task.time for task in tasks], communicates=reader.communicates)
    for child, task in enumerate(tasks):
        costs: dict[int, int] = {}
        for number, cost in zip(task.parents, task.costs, strict=True):
            if number not in position:
                raise TraceError(
                    f"{shown}, line {task.line}: predecessor {number} of task {task.number}"
                    " does not exist"
                )
            costs[position[number]] = max(cost, costs.get(position[number], 0))
        graph.repeated += len(task.parents) - len(costs)
        graph.parent.extend(costs)
        graph.cost.extend(costs.values())
        graph.child.extend([child] * len(costs))
    if not acyclic(len(tasks), graph.parent, graph.child):
        raise TraceError(f"{shown}: tasks that wait for each other: expected no cycle")
    return graph


def _states(text: str) -> bool:
    """Whether a line is neither empty nor says something about the graph."""
    bare = text.strip()
    return bool(bare) and not bare.startswith("#")


@dataclass
class _Reader:
    """The lines of a graph, in turn."""

    shown: str
    lines: Iterator[tuple[int, str]]
    unit_ms: int
    communicates: bool = False

    def declared(self) -> tuple[int, int]:
        """The first line's number, and the number of tasks that it states."""
        line, fields = self._next() or (1, [])
        if len(fields) not in (1, 2):
            self._fail(line, "expected the number of tasks")
        return line, self._whole(line, "number of tasks", fields[0])

    def tasks(self) -> Iterator[_Task]:
        """The tasks, in the order of the file."""
        while (row := self._next()) is not None:
            line, fields = row
            if len(fields) < 3:
                self._fail(line, "expected a task: number, time, number of predecessors")
            number = self._whole(line, "task", fields[0])
            time = self._milliseconds(line, "processing time", fields[1])
            count = self._whole(line, "number of predecessors", fields[2])
            task = _Task(line, number, time, array("q"), array("q"))
            for parent, cost in self._parents(line, count, fields[3:]):
                task.parents.append(parent)
                task.costs.append(cost)
            yield task

    def _parents(self, line: int, count: int, fields: Sequence[str]) -> Iterator[tuple[int, int]]:
        if len(fields) == count:
            for text in fields:
                yield self._whole(line, "predecessor", text), 0
        elif len(fields) == 2 * count:
            for text, cost in zip(fields[::2], fields[1::2], strict=True):
                yield self._pair(line, text, cost)
        elif not fields:
            for _ in range(count):
                row = self._next()
                if row is None:
                    self._fail(line, f"truncated: expected {count} predecessors below")
                if len(row[1]) != 2:
                    self._fail(row[0], "expected a predecessor and its communication cost")
                yield self._pair(row[0], *row[1])
        else:
            self._fail(
                line, f"{len(fields)} fields for predecessors, expected {count} or twice that"
            )

    def _pair(self, line: int, text: str, cost: str) -> tuple[int, int]:
        self.communicates = True
        parent = self._whole(line, "predecessor", text)
        return parent, self._milliseconds(line, "communication cost", cost)

    def _next(self) -> tuple[int, list[str]] | None:
        line, text = next(self.lines, (0, ""))
        return (line, text.split("#")[0].split()) if line else None

    def _whole(self, line: int, what: str, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST):
            self._fail(line, f"{what} is {_shown(text)}, expected an integer of at least 0")
        return int(text)

    def _milliseconds(self, line: int, what: str, text: str) -> int:
        if _NUMBER.fullmatch(text) is None:
            self._fail(line, f"{what} is {_shown(text)}, expected a number of at least 0")
        time = int(text) * self.unit_ms if text.isdigit() else round(float(text) * self.unit_ms)
        if time > LATEST:
            self._fail(line, f"{what} is {_shown(text)}, expected at most {LATEST} ms")
        return time

    def _fail(self, line: int, reason: str) -> NoReturn:
        raise TraceError(f"{self.shown}, line {line}: {reason}")


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:60] + "...")
