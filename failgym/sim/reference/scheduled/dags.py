"""Stages and their edges: who needs whose output, and upward ranks (rule 16 of the package)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from failgym.sim.reference.record import round_half_up
from failgym.sim.scheduled.rules import ScheduledRules, check_duration
from failgym.traces import Trace

__all__ = ["Dags"]

Children = dict[int, list[int]]


@dataclass(frozen=True)
class _Edge:
    parent: int
    child: int
    size: int
    """Bytes over the whole edge."""
    wide: bool


@dataclass
class Dags:
    """The dependencies of a trace; tasks and stages are trace rows.

    Raises:
        ValueError: for a task in a stage of another job, an edge between jobs, and stages that form
            a cycle.
    """

    trace: Trace
    rules: ScheduledRules
    parents: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])
    """Task -> the tasks whose outputs it reads -> time of that transfer [ms]."""
    children: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])
    """Task -> the tasks that read its output -> time of that transfer [ms]."""
    narrow: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    """Task -> the tasks whose outputs it reads along narrow edges."""

    def __post_init__(self) -> None:
        self.stage_of = [int(x) for x in self.trace.column("tasks", "stage", missing=-1)]
        self.output_bytes = [int(x) for x in self.trace.column("tasks", "output_bytes", missing=0)]
        self._check_stages()
        self._check_writes()
        for edge in self._edges:
            self._connect(edge)

    def _check_stages(self) -> None:
        job_of_stage = [int(x) for x in self.trace.column("stages", "job")]
        for task, job in enumerate(self.trace.column("tasks", "job")):
            stage = self.stage_of[task]
            if stage >= 0 and job_of_stage[stage] != job:
                raise ValueError(f"task {task}: expected a stage of its job {int(job)}")
        for row, edge in enumerate(self._edges):
            if job_of_stage[edge.parent] != job_of_stage[edge.child]:
                raise ValueError(f"stage edge {row}: expected stages of one job")
        self._parent_stages: Children = {}
        for edge in self._edges:
            self._parent_stages.setdefault(edge.child, []).append(edge.parent)
        for stage, job in enumerate(job_of_stage):
            if stage in self._ancestors(stage):
                raise ValueError(f"stages of job {job} form a cycle")

    @cached_property
    def _edges(self) -> list[_Edge]:
        names = ("parent", "child", "bytes", "wide")
        columns = [self.trace.column("stage_edges", name) for name in names]
        return [
            _Edge(int(parent), int(child), int(size), bool(wide))
            for parent, child, size, wide in zip(*columns, strict=True)
        ]

    def _check_writes(self) -> None:
        bandwidth = self.rules.storage_bandwidth
        for task, size in enumerate(self.output_bytes if bandwidth > 0.0 else []):
            check_duration(f"storage_bandwidth: output of task {task}", size / bandwidth)

    def _ancestors(self, stage: int) -> set[int]:
        return set(_reachable(stage, lambda s: self._parent_stages.get(s, [])))

    def tasks_of(self, stage: int) -> list[int]:
        """The tasks of a stage, by index."""
        index = self.trace.column("tasks", "index")
        tasks = [task for task, of in enumerate(self.stage_of) if of == stage]
        return sorted(tasks, key=lambda task: (int(index[task]), task))

    def _connect(self, edge: _Edge) -> None:
        parents, children = self.tasks_of(edge.parent), self.tasks_of(edge.child)
        pairs = list(_pairs(parents, children, edge.wide))
        for parent, child in pairs:
            if not edge.wide:
                self.narrow.setdefault(child, set()).add(parent)
            time = self._transfer_time(edge.size, len(pairs))
            for table, one, other in (
                (self.parents, child, parent),
                (self.children, parent, child),
            ):
                known = table.setdefault(one, {})
                known[other] = max(time, known.get(other, 0))

    def _transfer_time(self, size: int, pairs: int) -> int:
        bandwidth = self.rules.transfer_bandwidth
        if bandwidth == 0.0:
            return 0
        check_duration("transfer_bandwidth: transfer of a stage edge", size / pairs / bandwidth)
        return round_half_up(size / pairs / bandwidth)

    # --- what is asked of it --------------------------------------------------------------------

    def level(self, task: int) -> int:
        """Stages on the longest way down to the task's; 0 for a task without stage."""
        stage = self.stage_of[task]
        return 0 if stage < 0 else self._stage_level(stage)

    def _stage_level(self, stage: int) -> int:
        parents = self._parent_stages.get(stage, [])
        return 1 + max((self._stage_level(parent) for parent in parents), default=0)

    def bytes_into(self, task: int) -> int:
        """Bytes over all edges into the task's stage."""
        return sum(edge.size for edge in self._edges if edge.child == self.stage_of[task])

    def upward_ranks(self, compute: Callable[[int], Sequence[int]]) -> list[float]:
        """Mean compute time, and the longest way of transfers and compute times behind the task."""
        ranks: dict[int, float] = {}

        def rank(task: int) -> float:
            if task not in ranks:
                times = compute(task)
                onward = [time + rank(child) for child, time in self.children.get(task, {}).items()]
                ranks[task] = sum(times) / len(times) + max(onward, default=0.0)
            return ranks[task]

        return [rank(task) for task in range(len(self.stage_of))]


def _pairs(
    parents: Sequence[int], children: Sequence[int], wide: bool
) -> Iterator[tuple[int, int]]:
    """Who reads whose output over an edge."""
    if wide:
        yield from product(parents, children)
        return
    n, m = len(parents), len(children)
    for i, child in enumerate(children):
        first, beyond = i * n // m, -(-(i + 1) * n // m)
        for parent in parents[first:beyond]:
            yield parent, child


def _reachable(start: int, onward: Callable[[int], Sequence[int]]) -> list[int]:
    """What can be reached from a node in one step or more."""
    found: list[int] = []
    front = list(onward(start))
    while front:
        node = front.pop()
        if node not in found:
            found.append(node)
            front.extend(onward(node))
    return found
