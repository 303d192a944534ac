"""The tables of a trace of workflows, whatever the format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from failgym.traces.order import in_order
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.workflows import Machine, Task, Workflow
from failgym.traces.schema import LATEST, TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["WorkflowTables"]


@dataclass
class WorkflowTables:
    """Workflows on their way to a trace; `source`, `citation` and `remarks` are its meta data's."""

    workflows: Sequence[Workflow]
    counts: Counts
    source: str
    citation: str = ""
    remarks: Mapping[str, str] = field(default_factory=dict[str, str])
    machines: dict[Machine, int] = field(default_factory=dict[Machine, int])  # and their rows

    def trace(self) -> Trace:
        """The trace of the workflows. Raises TraceError if they are too far apart in time."""
        tasks = [task for workflow in self.workflows for task in workflow.tasks]
        self.counts.read("tasks", len(tasks))
        submits = [_submit(workflow) for workflow in self.workflows]
        origin = min((submit for submit in submits if submit is not None), default=None)
        ends = [task.started + (task.runtime or 0) for task in tasks if task.started is not None]
        end = max(ends, default=0) - (origin or 0)
        if end > LATEST:
            raise TraceError(
                f"{self.workflows[0].file}: ends later than {LATEST} ms after its begin"
            )
        placements = self._placements(origin or 0)
        job = np.repeat(np.arange(len(submits)), [len(one.tasks) for one in self.workflows])
        number = [at for workflow in self.workflows for at in range(len(workflow.tasks))]
        since = [0 if one is None else one - (origin or 0) for one in submits]
        attempts = _attempts(tasks, origin or 0, end, self._largest_memory(tasks))
        ran = [start is not None for start in attempts["start"]]
        attempts["queued"] = np.ma.MaskedArray(np.array(since, dtype=np.int64)[job], mask=ran)
        columns: dict[str, dict[str, Any]] = {
            "jobs": self._jobs(since),
            "stages": {"job": job, "stage": number, "name": [task.kind for task in tasks]},
            "stage_edges": self._edges(),
            "tasks": {
                "job": job,
                "index": number,
                "stage": np.arange(len(tasks)),
                "width": [task.cores for task in tasks],
                "output_bytes": [task.output_bytes for task in tasks],
            },
            "attempts": attempts,
            "machines": self._machine_table(),
            "placements": placements,
        }
        return in_order(self._meta(origin, end), **columns)

    def _jobs(self, submits: Sequence[int]) -> dict[str, Any]:
        done = [
            Outcome.FINISH if all(task.finished for task in one.tasks) else Outcome.CENSORED
            for one in self.workflows
        ]
        return {
            "original_id": _ids(one.file for one in self.workflows),
            "submit": submits,
            "width": [len(one.tasks) for one in self.workflows],
            "name": [one.name for one in self.workflows],
            "outcome": done,
        }

    def _edges(self) -> dict[str, Any]:
        first, rows = 0, list[tuple[int, int, int]]()
        for workflow in self.workflows:
            rows += [(first + p, first + c, size) for p, c, size in workflow.edges]
            first += len(workflow.tasks)
        self.counts.read("dependencies", len(rows))
        parent, child, size = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        wide = np.zeros(len(rows), dtype=np.bool_)
        return {"parent": parent, "child": child, "bytes": size, "wide": wide}

    def _placements(self, origin: int) -> dict[str, Any]:
        """Collect the machines, and place on them the attempts that ran."""
        rows: list[tuple[int, int, int]] = []
        at = -1
        for workflow in self.workflows:
            named = {machine.name: machine for machine in workflow.machines}
            for machine in workflow.machines:
                self.machines.setdefault(machine, len(self.machines))
            for task in workflow.tasks:
                at += 1
                hosts = list(dict.fromkeys(task.machines))
                for host in hosts:
                    if host not in named:
                        self.counts.note("machine that only tasks name")
                        named[host] = Machine(host)
                        self.machines.setdefault(named[host], len(self.machines))
                if task.started is not None:
                    slots = _shares(task.cores, len(hosts))
                    rows += [
                        (at, self.machines[named[host]], share)
                        for host, share in zip(hosts, slots, strict=False)
                    ]
        attempt, machine, slots = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return {"attempt": attempt, "machine": machine, "slots": slots}

    def _machine_table(self) -> dict[str, Any]:
        machines = list(self.machines)
        cores = max((machine.cores or 0 for machine in machines), default=0)
        memory = max((machine.memory or 0 for machine in machines), default=0)
        return {
            "original_id": _ids(machine.name for machine in machines),
            "cpu": [machine.cores / cores if machine.cores else None for machine in machines],
            "memory": [machine.memory / memory if machine.memory else None for machine in machines],
            "slots": [machine.cores or None for machine in machines],
            "speed": 1.0,
        }

    def _largest_memory(self, tasks: Sequence[Task]) -> float:
        """What memory is stated as a fraction of [bytes]."""
        of_machines = max((machine.memory or 0 for machine in self.machines), default=0)
        return of_machines or max((task.memory or 0 for task in tasks), default=0) or 1.0

    def _meta(self, origin: int | None, end: int) -> Meta:
        first = None if origin is None else str(np.datetime64(origin, "ms")).replace("T", " ")
        return Meta(
            source=self.source,
            citation=self.citation,
            time_origin="the submission of all workflows" if first is None else f"{first} UTC",
            end=end,
            rows_read=self.counts.rows_read,
            dropped=self.counts.dropped,
            noted=self.counts.noted,
            remarks={
                **self.remarks,
                "memory": "fractions of the largest machine's, else of the largest task's",
            },
            unix_origin=origin,
        )


def _submit(workflow: Workflow) -> int | None:
    """When a workflow of which runs are recorded was executed [ms since 1970], else None."""
    starts = [task.started for task in workflow.tasks if task.started is not None]
    if not starts:
        return None
    return min(starts) if workflow.executed is None else min(*starts, workflow.executed)


def _attempts(tasks: Sequence[Task], origin: int, end: int, memory: float) -> dict[str, Any]:
    starts = [None if task.started is None else task.started - origin for task in tasks]
    return {
        "task": np.arange(len(tasks)),
        "start": starts,
        "end": [
            end if start is None or task.runtime is None else start + task.runtime
            for start, task in zip(starts, tasks, strict=True)
        ],
        "outcome": [Outcome.FINISH if task.finished else Outcome.CENSORED for task in tasks],
        "length": [task.runtime for task in tasks],
        "mean_cpu": [task.cpu for task in tasks],
        "max_memory": [None if task.memory is None else task.memory / memory for task in tasks],
    }


def _shares(slots: int, hosts: int) -> list[int]:
    """Slots on each host, as even as can be; on the first ones only if there are fewer slots."""
    hosts = min(hosts, slots)
    return [slots // hosts + (at < slots % hosts) for at in range(hosts)]


def _ids(names: Iterable[str]) -> list[str]:
    """Names without the suffixes of a file, told apart by a number where they occur again."""
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for name in names:
        for suffix in (".gz", ".bz2", ".xz", ".json", ".xml", ".dax"):
            name = name.removesuffix(suffix)
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return ids
