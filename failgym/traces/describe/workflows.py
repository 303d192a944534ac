"""Workflows: the graphs of stages, their shape and their work.

A workflow is a job that has edges between its stages. A task's time is the run time of its FINISH,
else the true length that the trace knows, else its mean compute time over machines. The critical
path counts computation alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from failgym.ranges import joined_ranges
from failgym.traces.describe.facts import Facts, Flags, Floats, Ints
from failgym.traces.describe.tables import DescriptionTable, Missing, Row
from failgym.vocabulary import SECOND, Outcome

Made = DescriptionTable | Missing


class Shape(NamedTuple):
    """Of each stage; stages on a cycle, or after one, have 0."""

    level: Ints  # stages on the longest chain that ends with it
    finish: Floats  # time of the longest path that ends with it [ms]


def workflows(facts: Facts) -> list[Made]:
    """The table of this file, or what it needs."""
    return [graphs(facts)]


def graphs(facts: Facts) -> Made:
    """Spread over the workflows of their size, depth, width, work, critical path and data."""
    name, title, trace = "workflows", "Workflows", facts.trace
    if not trace.rows("stage_edges"):
        return Missing(name, title, "stages and edges between them")
    quantities = measure(facts)
    rows: list[Row] = []
    for label, values in quantities.items():
        known = values[~np.isnan(values)]
        if not len(known):
            rows.append((label, 0, None, None, None, None))
            continue
        cells = (known.min(), np.median(known), known.mean(), known.max())
        rows.append((label, len(known), *(float(cell) for cell in cells)))
    columns = ("of a workflow", "workflows", "least", "median", "mean", "most")
    return DescriptionTable(name, title, columns, tuple(rows))


def measure(facts: Facts) -> dict[str, Floats]:
    """Each quantity, (workflows,); NaN where the trace does not know it.

    Communication to computation is bytes over seconds of work: at a bandwidth of B bytes per
    second, the ratio of the times is this over B.
    """
    trace = facts.trace
    parent, child = trace.column("stage_edges", "parent"), trace.column("stage_edges", "child")
    stages, job = trace.rows("stages"), trace.column("stages", "job")
    chosen = np.flatnonzero(facts.count(job[child], facts.jobs))
    times = task_times(facts)
    slots = trace.column("tasks", "width").astype(np.float64)
    stage = trace.column("tasks", "stage")
    staged = stage >= 0
    longest = np.zeros(stages)
    np.maximum.at(longest, stage[staged], np.nan_to_num(times[staged]))
    shape = levels(parent, child, longest)
    depth, critical = np.zeros(facts.jobs), np.zeros(facts.jobs)
    np.maximum.at(depth, job, shape.level)
    np.maximum.at(critical, job, shape.finish)
    known = ~np.isnan(times)
    work = facts.sum(facts.job, np.nan_to_num(times) * slots, facts.jobs)
    work[facts.count(facts.job[known], facts.jobs) == 0] = np.nan
    critical[np.isnan(work)] = np.nan
    data = facts.sum(job[child], trace.column("stage_edges", "bytes"), facts.jobs)
    computed = np.where(work > 0, work, np.nan)
    found = {
        "tasks": facts.count(facts.job, facts.jobs),
        "stages": facts.count(job, facts.jobs),
        "edges": facts.count(job[child], facts.jobs),
        "depth [stages]": depth,
        "width [tasks of a level]": _width(facts, shape.level[stage[staged]], staged),
        "work [s]": work / SECOND,
        "critical path [s]": critical / SECOND,
        "parallelism (work / critical path)": work / np.where(critical > 0, critical, np.nan),
        "data [bytes]": data,
        "communication to computation [bytes/s]": data / (computed / SECOND),
    }
    return {label: values[chosen].astype(np.float64) for label, values in found.items()}


def task_times(facts: Facts) -> Floats:
    """Time of each task [ms], NaN where it is not known."""
    trace, tasks = facts.trace, facts.trace.rows("tasks")
    task, cost = trace.column("costs", "task"), trace.column("costs", "time")
    counts = facts.count(task, tasks)
    times = facts.sum(task, cost, tasks) / np.where(counts, counts, np.nan)
    given = trace.present("attempts", "length")
    times[facts.task[given]] = trace.column("attempts", "length")[given]
    finished = facts.timed & (facts.outcome == Outcome.FINISH)
    times[facts.task[finished]] = facts.run_time[finished]
    return times


def levels(parent: Ints, child: Ints, time: Floats) -> Shape:
    """Level and earliest finish of every stage: all whose parents are done, at once, in turn."""
    stages = len(time)
    order = np.argsort(parent, kind="stable")
    parent, child = parent[order], child[order]
    first = np.searchsorted(parent, np.arange(stages + 1))
    waiting = np.bincount(child, minlength=stages)
    level, begin = np.ones(stages, dtype=np.int64), np.zeros(stages)
    done = np.zeros(stages, dtype=np.bool_)
    ready = np.flatnonzero(waiting == 0)
    while len(ready):
        done[ready] = True
        out = joined_ranges(first[ready], first[ready + 1] - first[ready])
        to, source = child[out], parent[out]
        np.maximum.at(level, to, level[source] + 1)
        np.maximum.at(begin, to, begin[source] + time[source])
        np.subtract.at(waiting, to, 1)
        ready = np.unique(to[waiting[to] == 0])
    return Shape(np.where(done, level, 0), np.where(done, begin + time, 0.0))


def _width(facts: Facts, level: Ints, staged: Flags) -> Floats:
    """The most tasks that a level of each job has, (jobs,)."""
    width = np.zeros(facts.jobs)
    if len(level):
        deepest = int(level.max()) + 1
        pair, counts = np.unique(facts.job[staged] * deepest + level, return_counts=True)
        np.maximum.at(width, pair // deepest, counts)
    return width
