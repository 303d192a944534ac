"""The jobs of a Hadoop job history: tasks, attempts, stages, and what ended each attempt."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.growing import Growing
from failgym.traces.readers.json_fields import Fields
from failgym.traces.readers.rumen.attempts import (
    MOST_BYTES,
    Run,
    byte_count,
    close,
    read_run,
    result,
    settle,
    tell_kills_apart,
    time_told,
)
from failgym.traces.readers.rumen.hosts import Hosts
from failgym.traces.readers.rumen.names import told_name
from failgym.traces.schema import LATEST
from failgym.vocabulary import Outcome

__all__ = ["GROUPS", "PRIORITIES", "Jobs", "Task"]

GROUPS = ("mapTasks", "reduceTasks", "otherTasks")
"""Where the tasks of a job are."""

PRIORITIES = ("VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH")
"""Hadoop's priorities; a job's is the position in this list."""
UNSTATED_PRIORITIES = ("DEFAULT", "UNDEFINED_PRIORITY")

USER = ("mapreduce.job.user.name", "user.name")
NAME = ("mapreduce.job.name", "mapred.job.name")
QUEUE = ("mapreduce.job.queuename", "mapred.job.queue.name")
SPECULATION = (
    "mapreduce.map.speculative",
    "mapreduce.reduce.speculative",
    "mapred.map.tasks.speculative.execution",
    "mapred.reduce.tasks.speculative.execution",
    "mapred.speculative.execution",
)
ATTEMPT_LIMIT = (
    "mapreduce.map.maxattempts",
    "mapred.map.max.attempts",
    "mapreduce.reduce.maxattempts",
    "mapred.reduce.max.attempts",
)
SKIP_MODE = ("mapreduce.task.skip.start.attempts", "mapred.skip.attempts.to.start.skipping")
MEMORY = {
    "map": ("mapreduce.map.memory.mb", "mapred.job.map.memory.mb"),
    "reduce": ("mapreduce.reduce.memory.mb", "mapred.job.reduce.memory.mb"),
}
"""Configuration properties, by their newer and older names, the first that is there counts."""

STAGES = {"map": 0, "reduce": 1, "setup": 2, "cleanup": 3, "other": 4}
"""Stage of a task -> its number within the job."""

_NUMBER = re.compile(r"_([0-9]{1,9})$")


@dataclass
class Job:
    """What is said of a job that its tasks' fates depend on."""

    outcome: Outcome
    submit: int
    launch: int | None


@dataclass(slots=True)
class Task:
    """A task as it is told."""

    name: str
    stage: str
    made: int | None
    """its output [bytes]"""
    runs: list[Run]
    timeless: int
    """attempts without any time, which are not among `runs`"""

    @property
    def moved(self) -> int:
        """What it gives to the edge between maps and reduces [bytes]."""
        if self.stage == "map":
            return self.made or 0
        won = (run for run in self.runs if run.told is Outcome.FINISH)
        return next((run.shuffled or 0 for run in won), 0) if self.stage == "reduce" else 0


@dataclass
class Jobs:
    """The tables as they grow; times in ms since 1970."""

    count: Counts
    hosts: Hosts
    jobs: Growing = field(
        default_factory=lambda: Growing(
            integers=(
                *("submit", "width", "outcome", "priority"),
                *("speculation", "skip_mode", "attempt_limit"),
            ),
            texts=("original_id", "user", "name", "queue"),
        )
    )
    tasks: Growing = field(
        default_factory=lambda: Growing(
            integers=("job", "index", "stage", "width", "output_bytes"), numbers=("memory",)
        )
    )
    attempts: Growing = field(
        default_factory=lambda: Growing(
            integers=("task", "queued", "start", "end", "outcome", "cause"),
            numbers=("mean_cpu", "mean_memory"),
        )
    )
    placements: Growing = field(
        default_factory=lambda: Growing(integers=("attempt", "machine", "slots"))
    )
    stages: Growing = field(
        default_factory=lambda: Growing(integers=("job", "stage"), texts=("name",))
    )
    edges: Growing = field(
        default_factory=lambda: Growing(integers=("parent", "child", "bytes", "wide"))
    )
    seen: set[str] = field(default_factory=set[str])
    earliest: int = LATEST
    latest: int = 0

    def add(self, fields: Fields) -> None:
        """Take in a job (LoggedJob). Raises TraceError."""
        count = self.count
        count.read("jobs")
        fields.need("jobID", "the job's id")
        name = told_name(fields, "jobID") or ""
        if name in self.seen:
            count.drop("job that is listed twice")
            return
        self.seen.add(name)
        tasks = self._tasks(fields)
        times = [time_told(fields, key) for key in ("submitTime", "launchTime", "finishTime")]
        ran = [time for task in tasks for run in task.runs for time in run.times]
        submit = next((t for t in (times[0], times[1], min(ran, default=None)) if t), times[2])
        told = result(fields, "outcome")
        if not tasks or submit is None:
            count.drop("job without tasks" if not tasks else "job without any time")
            return
        if times[0] is None:
            count.note("job without a submit time: taken from its launch or first attempt")
        job = Job(Outcome.CENSORED if told is None else told, submit, times[1])
        self._see(submit, *ran, *(time for time in times if time is not None))
        row = self._add_job(fields, name, job, len(tasks))
        self._add_tasks(fields, row, job, tasks)

    def _see(self, *times: int) -> None:
        self.earliest = min(self.earliest, *times)
        self.latest = max(self.latest, *times)

    def task(self, file: Path, group: str, line: int, position: int, value: Any) -> Task:
        """Take in a task (LoggedTask) of a job that is still being read. Raises TraceError."""
        if not isinstance(value, dict):
            Fields(file, line, {}).fail(f"{group}[{position}]", "an object", value)
        fields = Fields(file, line, cast(dict[str, Any], value), f"{group}[{position}]")
        fields.need("taskID", "the task's id")
        stage = {"mapTasks": "map", "reduceTasks": "reduce"}.get(group) or _other_stage(fields)
        name, made = told_name(fields, "taskID") or "", byte_count(fields, "outputBytes")
        told = [read_run(attempt, self.hosts) for attempt in fields.objects("attempts")]
        runs = [run for run in told if run.start is not None or run.end is not None]
        if made is None:
            made = next((run.output for run in runs if run.output is not None), None)
        return Task(name, stage, made, runs, len(told) - len(runs))

    def _tasks(self, job: Fields) -> list[Task]:
        """The tasks in the order of their indices."""
        found: dict[str, tuple[tuple[int, int], Task]] = {}
        for task in itertools.chain.from_iterable(job.array(group) for group in GROUPS):
            self.count.read("tasks")
            self.count.read("attempts", len(task.runs) + task.timeless)
            if task.timeless:
                self.count.drop("attempt without any time", task.timeless)
            if task.name in found:
                self.count.drop("task that is listed twice in its job")
                continue
            number = _NUMBER.search(task.name)
            key = (STAGES[task.stage], int(number[1]) if number else len(found))
            found[task.name] = (key, task)
        return [task for _, task in sorted(found.values(), key=lambda one: one[0])]

    def _add_job(self, fields: Fields, name: str, job: Job, width: int) -> int:
        properties = fields.object("jobProperties")
        return self.jobs.add(
            original_id=name,
            user=told_name(fields, "user") or _property(properties, *USER),
            name=told_name(fields, "jobName") or _property(properties, *NAME),
            queue=told_name(fields, "queue") or _property(properties, *QUEUE),
            submit=job.submit,
            width=width,
            outcome=job.outcome,
            priority=_priority(fields),
            speculation=_speculation(properties),
            skip_mode=_setting(properties, SKIP_MODE),
            attempt_limit=_setting(properties, ATTEMPT_LIMIT),
        )

    def _add_tasks(self, fields: Fields, row: int, job: Job, tasks: Sequence[Task]) -> None:
        stages: dict[str, int] = {}
        moved = dict.fromkeys(STAGES, 0)
        for index, task in enumerate(tasks):
            stage, runs = task.stage, task.runs
            if stage not in stages:
                stages[stage] = self.stages.add(job=row, stage=STAGES[stage], name=stage)
            for run in runs:
                settle(run, self.count)
            close(runs, self.count)
            tell_kills_apart(runs, job.outcome, self.count)
            if not runs:
                self.count.note("task without attempts: CENSORED, it never ran")
                runs = [Run(None, None, None, None)]
            moved[stage] += task.moved
            place = self.tasks.add(
                job=row,
                index=index,
                stage=stages[stage],
                width=1,
                memory=_memory(fields, stage),
                output_bytes=task.made,
            )
            self._add_runs(place, stage, job, runs)
        if "map" in stages and "reduce" in stages:
            size = min(moved["reduce"] or moved["map"], MOST_BYTES)
            self.edges.add(parent=stages["map"], child=stages["reduce"], bytes=size, wide=True)

    def _add_runs(self, task: int, stage: str, job: Job, runs: Sequence[Run]) -> None:
        ready = job.launch or job.submit
        heard = [min(run.times, default=ready) for run in runs]
        first = min(range(len(runs)), key=heard.__getitem__)
        for position, run in enumerate(runs):
            never_told = run.start is None and run.end is None
            waits = never_told or (position == first and stage in ("map", "setup"))
            queued = ready if waits and ready <= heard[position] else None
            if heard[position] < job.submit:
                self.count.note("attempt that begins before its job was submitted (clocks differ)")
                queued = heard[position] if run.start is None else None
            row = self.attempts.add(
                task=task,
                queued=queued,
                start=run.start,
                end=None if run.outcome is Outcome.CENSORED else run.end,
                outcome=run.outcome,
                cause=run.cause,
                mean_cpu=run.mean_cpu,
                mean_memory=run.memory,
            )
            if run.machine is not None and run.start is not None:
                self.placements.add(attempt=row, machine=run.machine, slots=1)


def _other_stage(task: Fields) -> str:
    kind = (task.text("taskType") or "").upper()
    return next((name for name in ("setup", "cleanup") if name.upper() in kind), "other")


def _priority(fields: Fields) -> int | None:
    told = fields.text("priority")
    if told is None or told.upper() in UNSTATED_PRIORITIES:
        return None
    if told.upper() not in PRIORITIES:
        fields.fail("priority", f"one of {', '.join(PRIORITIES)}")
    return PRIORITIES.index(told.upper())


def _property(properties: Fields | None, *names: str) -> str | None:
    """The first of the properties that is there."""
    found = (None if properties is None else properties.text(name) for name in names)
    return next((value for value in found if value is not None), None)


def _speculation(properties: Fields | None) -> bool | None:
    told = [_property(properties, name) for name in SPECULATION]
    known = [value.lower() == "true" for value in told if value is not None]
    return any(known) if known else None


def _setting(properties: Fields | None, names: Sequence[str]) -> int | None:
    told = (_property(properties, *names) or "").strip()
    return int(told) if told.isascii() and told.isdigit() and len(told) < 10 else None


def _memory(job: Fields, stage: str) -> float | None:
    """What a task of the stage asks for [MB]."""
    kind = "reduce" if stage == "reduce" else "map"
    name = "jobReduceMB" if kind == "reduce" else "jobMapMB"
    told = _setting(job.object("jobProperties"), MEMORY[kind])
    asked = (byte_count(job, name), told, byte_count(job, "heapMegabytes"))
    return next((float(value) for value in asked if value), None)
