"""One workflow of WfCommons' WfFormat, from its JSON document, whatever the version."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.graphs import acyclic
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.workflows import (
    MOST_BYTES,
    MOST_SECONDS,
    Edge,
    Machine,
    Task,
    Workflow,
    own_sizes,
    passed,
)
from failgym.traces.schema import LATEST, TraceError

__all__ = ["read_workflow"]

VERSIONS = ("1.2", "1.3", "1.4", "1.5", "1.6")
"""The versions that can be read; 1.6 adds to 1.5 what can be computed from it, and 1.2 is 1.3 with
"jobs" for "tasks"."""
IN_KILOBYTES = ("1.2", "1.3")
"""Versions in which memory may be in these."""

MOST_CORES = 2**31 - 1
KILOBYTE = 1000
"""Up to version 1.3 memory is in these [bytes]."""

_NUMBERED = re.compile(r"[_.-](ID)?[0-9]+$|\s\([^()]*\)$")
"""What tells the tasks of a kind apart: a number, or Nextflow's tag in brackets."""
_US_TIME = "%m-%d-%yT%H:%M:%S%z"
"""How Pegasus' instances write a time, besides ISO 8601."""


def read_workflow(document: Fields, counts: Counts) -> Workflow:
    """The workflow of a document. Raises TraceError with file, line and field."""
    version = document.text("schemaVersion")
    if version not in VERSIONS:
        document.fail("schemaVersion", "one of " + ", ".join(VERSIONS))
    document.need("name", "the name of the workflow")
    workflow = _object(document, "workflow")
    modern = workflow.has("specification")
    specification = _object(workflow, "specification") if modern else workflow
    execution = workflow.object("execution") if modern else workflow
    called = "jobs" if version == "1.2" and not specification.has("tasks") else "tasks"
    given = list(specification.objects(called))
    if not given:
        specification.fail(called, "at least one task")
    tasks: dict[str, Task] = {}
    names: dict[str, str] = {}  # what tasks are called by others, and their ids
    for one in given:
        task = _task(one, modern)
        if task.id in tasks:
            one.fail("id" if one.has("id") else "name", "an id that no other task has", task.id)
        tasks[task.id] = task
        for name in (task.id,) if modern else (one.text("name") or "", task.id):
            names.setdefault(name, task.id)
    sizes = _sizes(specification) if modern else own_sizes(tasks.values())
    for fields in execution.objects(called) if execution else ():
        _execute(tasks, fields, modern, version)
    for task in tasks.values():
        task.output_bytes = _sum(document, task, task.outputs, sizes, counts)
    runtime = document.object("runtimeSystem" if modern else "wms")
    return Workflow(
        file=document.file.name,
        name=document.text("name") or "",
        version=version,
        system=(runtime.text("name") or "") if runtime else "",
        executed=_executed(execution, counts),
        tasks=list(tasks.values()),
        edges=_edges(document, given, tasks, names, sizes, modern, counts),
        machines=[_machine(one, version) for one in execution.objects("machines")]
        if execution
        else [],
    )


def _object(fields: Fields, name: str) -> Fields:
    value = fields.object(name)
    if value is None:
        fields.fail(name, "an object")
    return value


def _texts(fields: Fields, name: str) -> Iterator[str]:
    for place, value in enumerate(fields.array(name)):
        if not isinstance(value, str):
            fields.fail(f"{name}[{place}]", "a text", value)
        yield Fields(fields.file, fields.line, {name: value}, fields.at).text(name) or ""


# --- Tasks and files ------------------------------------------------------------------------------


def _task(fields: Fields, modern: bool) -> Task:
    """A task as it is specified: what it is called, and its files."""
    fields.need("name", "the name of the task")
    for name in ("id", "parents", "children") if modern else ():
        fields.need(name)
    name = fields.text("name") or ""
    task = Task(
        fields.text("id") or name, fields.text("category") or _NUMBERED.sub("", name).rstrip()
    )
    if modern:
        task.inputs = dict.fromkeys(_texts(fields, "inputFiles"))
        task.outputs = dict.fromkeys(_texts(fields, "outputFiles"))
        return task
    for file in fields.objects("files"):
        file.need("name", "the name of a file")
        called = (file.text("path") or "") + (file.text("name") or "")
        link = (file.text("link") or "").lower()
        if link not in ("input", "output"):
            file.fail("link", "input or output")
        size = _bytes(file, "sizeInBytes" if file.has("sizeInBytes") else "size")
        (task.inputs if link == "input" else task.outputs)[called] = size
    return task


def _bytes(fields: Fields, name: str) -> int | None:
    size = fields.number(name, most=MOST_BYTES)
    return None if size is None else int(size)


def _sizes(specification: Fields) -> dict[str, int | None]:
    """The sizes of the files of a workflow."""
    sizes: dict[str, int | None] = {}
    for file in specification.objects("files"):
        file.need("id", "the id of a file")
        sizes[file.text("id") or ""] = _bytes(file, "sizeInBytes")
    return sizes


def _sum(
    document: Fields,
    task: Task,
    files: Iterable[str],
    sizes: Mapping[str, int | None],
    counts: Counts,
) -> int:
    """The bytes of files; those of unknown size count as 0."""
    total = 0
    for file in files:
        size = sizes.get(file)
        if size is None:
            counts.note("file that a task writes, without a size: taken as 0 bytes")
        total += size or 0
    if total > MOST_BYTES:
        document.fail("workflow", f"at most {MOST_BYTES} bytes of files of task {task.id!a}")
    return total


# --- Edges ----------------------------------------------------------------------------------------


def _edges(
    document: Fields,
    given: Iterable[Fields],
    tasks: Mapping[str, Task],
    names: Mapping[str, str],
    sizes: Mapping[str, int | None],
    modern: bool,
    counts: Counts,
) -> list[Edge]:
    """The dependencies that a parent or a child lists. Raises TraceError: no such task, a cycle."""
    place = {one: at for at, one in enumerate(tasks)}
    said: dict[tuple[int, int], set[str]] = {}  # by which of the two
    for child, fields in enumerate(given):
        for side in ("parents", "children"):
            for other in _texts(fields, side):
                if other not in names:
                    fields.fail(side, "tasks of the workflow", other)
                at = place[names[other]]
                pair = (at, child) if side == "parents" else (child, at)
                said.setdefault(pair, set()).add(side)
    lone = sum(len(sides) == 1 for sides in said.values())
    if lone and modern:
        counts.note("dependency that only one of its two tasks lists", lone)
    listed = list(tasks.values())
    edges = [(p, c, passed(listed[p], listed[c], sizes)) for p, c in sorted(said)]
    if not acyclic(len(listed), [p for p, _, _ in edges], [c for _, c, _ in edges]):
        raise TraceError(
            f"{document.file}, line {document.line}: field 'workflow' has tasks that wait for each"
            " other, expected no cycle"
        )
    return edges


# --- Execution ------------------------------------------------------------------------------------


def _execute(tasks: Mapping[str, Task], fields: Fields, modern: bool, version: str) -> None:
    """Take in how a task was executed."""
    called = fields.text("id") or ("" if modern else fields.text("name") or "")
    if called not in tasks:
        fields.fail("id", "the id of a specified task")
    task = tasks[called]
    name = "runtimeInSeconds" if fields.has("runtimeInSeconds") else "runtime"
    runtime = fields.number(name, most=MOST_SECONDS)
    task.runtime = None if runtime is None else round(runtime * 1000)
    if fields.has("executedAt"):
        task.started = _moment(fields.text("executedAt") or "")
        if task.started is None or not 0 <= task.started <= LATEST:
            fields.fail("executedAt", "a time in ISO 8601")
    cores = fields.number("coreCount" if fields.has("coreCount") else "cores", most=MOST_CORES)
    task.cores = max(math.ceil(cores or 1), 1)
    used = fields.number("avgCPU", most=1e9)
    task.cpu = None if used is None else used / 100 / task.cores
    task.memory = _memory(fields, version)
    task.machines = list(_texts(fields, "machines"))
    if fields.has("machine"):
        task.machines.append(fields.text("machine") or "")


def _memory(fields: Fields, version: str) -> float | None:
    memory = fields.number("memoryInBytes", most=MOST_BYTES)
    if memory is None and version in IN_KILOBYTES:
        kilobytes = fields.number("memory", most=MOST_BYTES)
        memory = None if kilobytes is None else kilobytes * KILOBYTE
    return memory


def _machine(fields: Fields, version: str) -> Machine:
    fields.need("nodeName", "the name of a machine")
    cpu = fields.object("cpu") or Fields(fields.file, fields.line, {}, fields.at)
    cores = cpu.number("coreCount" if cpu.has("coreCount") else "count", most=MOST_CORES)
    memory = _memory(fields, version)
    name = fields.text("nodeName") or ""
    return Machine(name, None if cores is None else int(cores), memory or None)


def _executed(execution: Fields | None, counts: Counts) -> int | None:
    """When the workflow was executed [ms since 1970]; None where it is not known."""
    if execution is None or not execution.has("executedAt"):
        return None
    moment = _moment(execution.text("executedAt") or "")
    if moment is None or not 0 <= moment <= LATEST:
        counts.note("workflow executed at a time that is none")
        return None
    return moment


def _moment(text: str) -> int | None:
    """A time [ms since 1970-01-01 UTC], UTC unless it says otherwise; None if it is none."""
    moment = None
    for parse in (datetime.datetime.fromisoformat, _us_time):
        try:
            moment = parse(text)
            break
        except (ValueError, OverflowError):
            continue
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    try:
        return (moment - epoch) // datetime.timedelta(milliseconds=1)
    except OverflowError:
        return None


def _us_time(text: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, _US_TIME)
