"""Outputs of tasks: where they are, who can read them, who still needs them (rules 16 to 19)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from failgym.sim.reference.scheduled.attempts import Attempt, ClusterTask, Status
from failgym.sim.reference.scheduled.cluster import Machine
from failgym.sim.reference.scheduled.dags import Dags
from failgym.sim.scheduled.rules import ScheduledRules

__all__ = ["Lineage", "Output"]


@dataclass(eq=False)
class Output:
    """What a task has made."""

    machine: Machine
    """In whose memory it is."""
    recomputation: int
    """Time to make it again, with what would be lost with it [ms]."""
    chain: int
    """Length of the attempt that made it, with what it would repeat first [ms]."""
    saved: bool = False
    """In stable storage, for good."""
    lost: bool = False
    """It was in the memory of a machine that died."""

    @property
    def in_memory(self) -> bool:
        """Is its machine what readers depend on?"""
        return not self.saved and not self.lost


@dataclass
class Lineage:
    """The outputs of one episode; tasks that are no part of it count as saved."""

    rules: ScheduledRules
    dags: Dags
    tasks: Mapping[int, ClusterTask]
    """Trace row -> task of the episode."""
    outputs: dict[int, Output] = field(default_factory=dict[int, Output])
    """Trace row -> output, of the tasks that have succeeded."""
    written: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Stage -> how long each write of an output took that became durable [ms]."""

    def parents(self, task: ClusterTask) -> Iterator[tuple[ClusterTask, int]]:
        """The tasks of the episode whose outputs it reads, in trace order; times of transfers."""
        parents = self.dags.parents.get(task.record.task, {})
        for parent in sorted(parents):
            if parent in self.tasks:
                yield self.tasks[parent], parents[parent]

    def children(self, task: ClusterTask) -> list[ClusterTask]:
        """The tasks of the episode that read its output, in trace order."""
        children = self.dags.children.get(task.record.task, {})
        return [self.tasks[child] for child in sorted(children) if child in self.tasks]

    def descendants(self, task: ClusterTask) -> list[ClusterTask]:
        """All tasks that need its output, directly or not, in trace order; not those that stand."""
        found: list[ClusterTask] = []
        front = [task]
        while front:
            children = [child for child in self.children(front.pop()) if not child.standing]
            front += [child for child in children if child not in found]
            found += [child for child in children if child not in found]
        return sorted(found, key=lambda other: other.record.task)

    def output(self, task: ClusterTask) -> Output | None:
        """What the task has made; None before its first success."""
        return self.outputs.get(task.record.task)

    # --- can it run? ----------------------------------------------------------------------------

    def are_available(self, task: ClusterTask) -> bool:
        """Does every input of the task exist?"""
        inputs = [self.output(parent) for parent, _ in self.parents(task)]
        return all(output is not None and not output.lost for output in inputs)

    def are_reachable(self, task: ClusterTask) -> bool:
        """Is no input of the task on a machine that is down? What stands needs none."""
        if task.standing:
            return True
        inputs = [self.output(parent) for parent, _ in self.parents(task)]
        return all(o is not None and (o.machine.up or not o.in_memory) for o in inputs)

    def transfers(self, task: ClusterTask, machine: Machine) -> dict[Machine, int]:
        """Machines from which inputs must come if the task starts there, and how long it takes.

        None for what stands: its inputs are with it.
        """
        if task.standing:
            return {}
        times: dict[Machine, int] = {}
        for parent, time in self.parents(task):
            output = self.output(parent)
            if output is not None and output.in_memory and output.machine is not machine:
                times[output.machine] = max(time, times.get(output.machine, 0))
        return times

    # --- outputs come and go --------------------------------------------------------------------

    def make(self, attempt: Attempt) -> Output:
        """An attempt has finished its task: the output is in memory on its first machine."""
        assert attempt.end is not None
        near = [self.output(parent) for parent, _ in self.parents(attempt.task)]
        near = [o for o in near if o is not None and o.in_memory and o.machine is attempt.machine]
        behind = max((output.recomputation for output in near), default=0)
        chain = attempt.length + (0 if attempt.recomputes else self.repeated(attempt.task))
        output = Output(attempt.machine, attempt.end - attempt.start + behind, chain)
        self.outputs[attempt.task.record.task] = output
        return output

    def repeated(self, task: ClusterTask) -> int:
        """Rule 18: time that its recomputation takes before its own work [ms]."""
        if not self.rules.unpersist or task.standing:
            return 0
        narrow = self.dags.narrow.get(task.record.task, ())
        made = [self.outputs[parent] for parent in narrow if parent in self.outputs]
        return max((output.chain for output in made if not output.saved), default=0)

    def save(self, attempt: Attempt) -> None:
        """The write of an output is durable."""
        task = attempt.task
        assert attempt.write is not None
        assert attempt.write.end is not None
        self.outputs[task.record.task].saved = True
        stage = self.dags.stage_of[task.record.task]
        self.written.setdefault(stage, []).append(attempt.write.end - attempt.write.start)

    def lose(self, machine: Machine) -> None:
        """A machine died, and the outputs in its memory with it."""
        for output in self.outputs.values():
            if output.machine is machine and not output.saved:
                output.lost = True

    # --- who needs what -------------------------------------------------------------------------

    def is_missed(self, task: ClusterTask) -> bool:
        """Is its output lost, and does nothing make it again yet?"""
        output = self.output(task)
        return output is not None and output.lost and task.recomputation is None

    def is_needed(self, task: ClusterTask) -> bool:
        """Will a task still read its output?"""
        return any(_will_read(child) for child in self.children(task))

    def unsettled_children(self, task: ClusterTask) -> int:
        """Tasks that read its output and have not settled."""
        return sum(child.settled is None for child in self.children(task))

    def bytes_saved(self, task: ClusterTask) -> int:
        """Bytes of outputs of the task's stage that are saved or being written."""
        stage = self.dags.stage_of[task.record.task]
        return sum(
            self.dags.output_bytes[other.record.task]
            for other in self._with_output()
            if self.dags.stage_of[other.record.task] == stage
            and (self.outputs[other.record.task].saved or _is_being_written(other))
        )

    def _with_output(self) -> Iterable[ClusterTask]:
        return (self.tasks[row] for row in self.outputs)


def _will_read(child: ClusterTask) -> bool:
    if child.settled is None:
        return True
    again = child.recomputation
    return again is not None and again.status in (Status.BLOCKED, Status.QUEUED)


def _is_being_written(task: ClusterTask) -> bool:
    return any(attempt.is_writing for attempt in task.attempts)
