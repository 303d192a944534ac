"""Standard Task Graph set: random and application task graphs as workflows."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from failgym.traces.order import in_order
from failgym.traces.readers.archives import ARCHIVES, Member, members
from failgym.traces.readers.counts import Counts
from failgym.traces.readers.sources import Paths, find_files, naming_source, reading
from failgym.traces.readers.stg.graph import Graph, read_graph
from failgym.traces.schema import TraceError
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, Outcome

__all__ = ["read_stg"]

CITATION = (
    "T. Tobita, H. Kasahara, A standard task graph set for fair evaluation of multiprocessor"
    " scheduling algorithms, Journal of Scheduling 5(5), 2002"
)
MOST_BYTES = 40_000_000
"""A graph is not larger: the largest published, of 5,000 tasks, take some 30 MB."""
LONGEST_UNIT = DAY
"""A unit of time is not longer [ms]: a day."""


@naming_source
def read_stg(path: Paths, *, unit_ms: int = 1000, progress: bool = False) -> Trace:
    """Read Standard Task Graphs: one job per graph, one task and stage per node of the graph.

    Parameters: `path`, a .stg file, a folder of them, or an archive (tar, packed or not, or zip),
    which is read where it is; `unit_ms`, the length of the format's unit of time [ms].

    A job's `original_id` is the file's path in its archive, or its name, without the suffix. Tasks
    are by their number; the dummies at entry and exit are tasks of length 0. What the graphs tell
    is how long tasks take, not that they ever ran: every job is submitted at 0, and every task has
    one attempt that never started, CENSORED, with its processing time as `length`.

    Edges have 0 bytes where the format has no communication costs. Where it has, they have a byte
    per millisecond of the cost: transfers over links of 1 byte/ms take as long as the file says.

    Raises TraceError with file, member and line; also for tasks that wait for each other.
    """
    if not 1 <= unit_ms <= LONGEST_UNIT:
        raise TraceError(f"unit_ms is {unit_ms}, expected at least 1 and at most {LONGEST_UNIT}")
    files = find_files(path, (".stg", *ARCHIVES), "task graphs (.stg)")
    jobs = _Jobs()
    with reading(files, "task graphs", progress) as advance:
        for member in members(files, (".stg",), advance):
            graph = read_graph(member.shown, member.lines(most=MOST_BYTES), unit_ms)
            jobs.add(member, graph)
    if not jobs.names:
        raise TraceError(f"{', '.join(map(str, files))}: no task graph: expected files *.stg")
    return jobs.trace(unit_ms)


@dataclass
class _Jobs:
    """The graphs read so far, as columns."""

    names: dict[str, int] = field(default_factory=dict[str, int])  # and how often each occurs
    ids: list[str] = field(default_factory=list[str])
    sizes: array[int] = field(default_factory=lambda: array("q"))
    length: array[int] = field(default_factory=lambda: array("q"))
    parent: array[int] = field(default_factory=lambda: array("q"))
    child: array[int] = field(default_factory=lambda: array("q"))
    cost: array[int] = field(default_factory=lambda: array("q"))
    counts: Counts = field(default_factory=Counts)

    def add(self, member: Member, graph: Graph) -> None:
        """Take in a graph; of the same name as one before it gets a number."""
        name = str(PurePosixPath(member.name))
        for suffix in (".gz", ".bz2", ".xz", ".stg"):
            name = name.removesuffix(suffix)
        again = self.names.get(name, 0)
        self.names[name] = again + 1
        if again:
            self.counts.note("graph of the same name as another")
        self.ids.append(f"{name} ({again + 1})" if again else name)
        first = len(self.length)
        self.sizes.append(len(graph.times))
        self.length.extend(graph.times)
        self.parent.extend(first + parent for parent in graph.parent)
        self.child.extend(first + child for child in graph.child)
        self.cost.extend(graph.cost)
        self.counts.read("graphs")
        self.counts.read("tasks", len(graph.times))
        self.counts.read("edges", len(graph.parent) + graph.repeated)
        if graph.repeated:
            self.counts.drop("predecessor listed twice", graph.repeated)
        if graph.communicates:
            self.counts.note("graph with communication costs")

    def trace(self, unit_ms: int) -> Trace:
        """The graphs as a trace."""
        sizes = np.array(self.sizes, dtype=np.int64)
        job = np.repeat(np.arange(len(sizes)), sizes)
        index = np.arange(len(job)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        tasks = np.arange(len(job))
        meta = Meta(
            source="stg",
            citation=CITATION,
            time_origin="the submission of all graphs",
            end=0,
            rows_read=self.counts.rows_read,
            dropped=self.counts.dropped,
            noted=self.counts.noted,
            remarks={
                "times": f"a unit of time is {unit_ms} ms",
                "bytes": "a byte per millisecond of communication cost",
            },
        )
        columns: dict[str, dict[str, Any]] = {
            "jobs": {
                "original_id": self.ids,
                "submit": 0,
                "width": sizes,
                "name": [name.rsplit("/", 1)[-1] for name in self.ids],
                "outcome": Outcome.CENSORED,
            },
            "stages": {"job": job, "stage": index},
            "tasks": {"job": job, "index": index, "stage": tasks, "width": 1},
            "attempts": {
                "task": tasks,
                "queued": np.zeros(len(tasks), dtype=np.int64),
                "end": 0,
                "outcome": Outcome.CENSORED,
                "length": np.array(self.length, dtype=np.int64),
            },
            "stage_edges": {
                "parent": np.array(self.parent, dtype=np.int64),
                "child": np.array(self.child, dtype=np.int64),
                "bytes": np.array(self.cost, dtype=np.int64),
                "wide": np.zeros(len(self.parent), dtype=np.bool_),
            },
        }
        return in_order(meta, **columns)
