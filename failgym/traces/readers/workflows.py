"""Workflows that were read, whatever the format: tasks, their files, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from failgym.traces.schema import LATEST

__all__ = [
    "MOST_BYTES",
    "MOST_SECONDS",
    "Edge",
    "Machine",
    "Task",
    "Workflow",
    "own_sizes",
    "passed",
]

Edge = tuple[int, int, int]
"""Position of the parent, position of the child, bytes that the child reads of the parent."""

MOST_SECONDS = LATEST // 1000
"""No task runs longer."""
MOST_BYTES = 2**62
"""Neither a file nor the files of a task are larger."""


@dataclass(frozen=True)
class Machine:
    """A machine: its name, cores and memory [bytes], as far as they are known."""

    name: str
    cores: int | None = None
    memory: float | None = None


@dataclass
class Task:
    """A task of a workflow; times in ms, `started` since 1970-01-01 UTC."""

    id: str
    kind: str
    inputs: dict[str, int | None] = field(default_factory=dict[str, int | None])  # file, bytes
    outputs: dict[str, int | None] = field(default_factory=dict[str, int | None])
    runtime: int | None = None
    started: int | None = None
    cores: int = 1
    cpu: float | None = None  # share of its cores
    memory: float | None = None  # resident set [bytes]
    machines: list[str] = field(default_factory=list[str])
    output_bytes: int = 0

    @property
    def finished(self) -> bool:
        """Whether it is known when it ran, and for how long."""
        return self.started is not None and self.runtime is not None


@dataclass
class Workflow:
    """A workflow, its tasks in the order of the document."""

    file: str
    name: str
    version: str
    system: str
    executed: int | None
    tasks: list[Task]
    edges: list[Edge]
    machines: list[Machine]


def own_sizes(tasks: Iterable[Task]) -> dict[str, int | None]:
    """The sizes that tasks state of their files; what the writer says counts."""
    sizes: dict[str, int | None] = {}
    for task in tasks:
        for file, size in task.inputs.items():
            sizes.setdefault(file, size)
    for task in tasks:
        sizes |= {file: size for file, size in task.outputs.items() if size is not None}
    return sizes


def passed(parent: Task, child: Task, sizes: Mapping[str, int | None]) -> int:
    """The bytes that a child reads of what its parent writes."""
    few, many = sorted((parent.outputs, child.inputs), key=len)
    return sum(sizes.get(file) or 0 for file in few if file in many)
