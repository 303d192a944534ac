"""One workflow of Pegasus' DAX, from its XML document, version 2 or 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.dax.elements import Element, elements
from failgym.traces.readers.graphs import acyclic
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.sources import Advance
from failgym.traces.readers.workflows import (
    MOST_BYTES,
    MOST_SECONDS,
    Edge,
    Task,
    Workflow,
    own_sizes,
)
from failgym.traces.schema import TraceError

__all__ = ["read_workflow"]

TASKS: Final = ("job", "dag", "dax")
"""Elements that are tasks; the latter two are workflows of their own."""
LINKS: Final = {"input": (True, False), "output": (False, True), "inout": (True, True)}
"""Whether a task reads a file, and whether it writes it."""
OTHER_LINKS: Final = ("none", "checkpoint")
"""Links of files that no other task waits for."""
MOST_TASKS: Final = 1 << 18
"""A workflow has no more."""


def read_workflow(file: Path, counts: Counts, advance: Advance) -> Workflow:
    """The workflow of a file. Raises TraceError with file, line and field."""
    made = _Reading(file)
    for element in elements(file, advance):
        made.take(element)
    if not made.tasks:
        raise TraceError(f"{file}: no job, expected a workflow in Pegasus' DAX (adag, job)")
    tasks = list(made.tasks.values())
    sizes = own_sizes(tasks)
    for task in tasks:
        task.output_bytes = _written(file, task, sizes, counts)
    untimed = sum(task.runtime is None for task in tasks)
    if untimed:
        counts.note("task without a run time", untimed)
    return Workflow(
        file=file.name,
        name=made.name or file.name,
        version=made.version or "not stated",
        system="",
        executed=None,
        tasks=tasks,
        edges=_edges(file, made, sizes),
        machines=[],
    )


@dataclass
class _Reading:
    """What was read of a workflow so far."""

    file: Path
    name: str = ""
    version: str = ""
    begun: bool = False
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    waits: list[tuple[Fields, Fields]] = field(default_factory=list[tuple[Fields, Fields]])
    task: Task | None = None
    child: Fields | None = None

    def take(self, element: Element) -> None:
        """Take the next element; one that is not known is passed over, with what is in it."""
        if not self.begun and element.name != "adag":
            element.fields.fail("", "the element adag of a workflow in Pegasus' DAX", element.name)
        if element.depth == 2:
            self.task = self.child = None
        self.begun = True
        known = _KNOWN.get((element.depth, element.name))
        if known is not None:
            known(self, element)

    def workflow(self, element: Element) -> None:
        """Adag: the workflow itself."""
        self.name = element.fields.text("name") or ""
        self.version = element.fields.text("version") or ""

    def new_task(self, element: Element) -> None:
        """Job, dag or dax: a task."""
        fields = element.fields
        fields.need("id", "the id of the task")
        name = fields.text("id") or ""
        if name in self.tasks:
            fields.fail("id", "an id that no other task has")
        if len(self.tasks) >= MOST_TASKS:
            fields.fail("id", f"at most {MOST_TASKS} tasks")
        task = Task(name, fields.text("name") or fields.text("file") or element.name)
        task.runtime = _runtime(fields, "runtime")
        self.task = self.tasks[name] = task

    def use(self, element: Element) -> None:
        """Uses: a file that the task reads or writes."""
        fields, task = element.fields, self.task
        if task is None:
            return
        named = "name" if fields.has("name") else "file"
        fields.need(named, "the name of a file")
        name, link = fields.text(named) or "", (fields.text("link") or "none").lower()
        if link in OTHER_LINKS:
            return
        if link not in LINKS:
            fields.fail("link", f"one of {', '.join((*LINKS, *OTHER_LINKS))}")
        size = fields.integer("size", most=MOST_BYTES)
        reads, writes = LINKS[link]
        if reads:
            task.inputs[name] = size
        if writes:
            task.outputs[name] = size

    def profile(self, element: Element) -> None:
        """Profile: a run time may be told in one."""
        task, fields = self.task, element.fields
        if task is None or task.runtime is not None or fields.values.get("key") != "runtime":
            return
        if str(fields.values.get("namespace", "")).lower() == "pegasus":
            task.runtime = _runtime(fields, "text")

    def new_child(self, element: Element) -> None:
        """Child: a task that waits."""
        element.fields.need("ref", "the id of a task")
        self.child = element.fields

    def parent(self, element: Element) -> None:
        """Parent: what the child waits for."""
        if self.child is not None:
            element.fields.need("ref", "the id of a task")
            self.waits.append((element.fields, self.child))


_KNOWN: Final[dict[tuple[int, str], Callable[[_Reading, Element], None]]] = {
    (1, "adag"): _Reading.workflow,
    **{(2, name): _Reading.new_task for name in TASKS},
    (3, "uses"): _Reading.use,
    (3, "profile"): _Reading.profile,
    (2, "child"): _Reading.new_child,
    (3, "parent"): _Reading.parent,
}
"""How deep elements are that are read, their names, and what takes them."""


def _runtime(fields: Fields, name: str) -> int | None:
    seconds = fields.number(name, most=MOST_SECONDS)
    return None if seconds is None else round(seconds * 1000)


def _written(file: Path, task: Task, sizes: dict[str, int | None], counts: Counts) -> int:
    """The bytes that a task writes; files of unknown size count as 0."""
    known = [_size(task, name, sizes) for name in task.outputs]
    unknown = known.count(None)
    if unknown:
        counts.note("file that a task writes, without a size: taken as 0 bytes", unknown)
    total = sum(size or 0 for size in known)
    if total > MOST_BYTES:
        raise TraceError(
            f"{file}: field 'size' of the files that task {task.id[:60]!a} writes is {total} in"
            f" all, expected at most {MOST_BYTES} bytes"
        )
    return total


def _size(writer: Task, name: str, sizes: dict[str, int | None]) -> int | None:
    """The bytes of a file as its writer says, else as others do: several may write one name."""
    own = writer.outputs.get(name)
    return sizes.get(name) if own is None else own


def _passed(parent: Task, child: Task, sizes: dict[str, int | None]) -> int:
    """The bytes that a child reads of what its parent writes."""
    few, many = sorted((parent.outputs, child.inputs), key=len)
    return sum(_size(parent, name, sizes) or 0 for name in few if name in many)


def _edges(file: Path, made: _Reading, sizes: dict[str, int | None]) -> list[Edge]:
    """Who waits for whom. Raises TraceError: no such task, a cycle."""
    place = {name: at for at, name in enumerate(made.tasks)}
    pairs: set[tuple[int, int]] = set()
    for parent, child in made.waits:
        for fields in (parent, child):
            if fields.text("ref") not in place:
                fields.fail("ref", "a task of the workflow")
        pairs.add((place[parent.text("ref") or ""], place[child.text("ref") or ""]))
    tasks = list(made.tasks.values())
    edges = [(p, c, _passed(tasks[p], tasks[c], sizes)) for p, c in sorted(pairs)]
    if not acyclic(len(tasks), [p for p, _, _ in edges], [c for _, c, _ in edges]):
        raise TraceError(
            f"{file}: tasks wait for each other, expected no cycle of child and parent"
        )
    return edges
