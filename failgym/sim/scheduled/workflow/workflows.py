"""Compile the workflows of a trace: stages, edges, upward ranks, compute times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.rules import check_duration
from failgym.sim.scheduled.workflow.dags import EDGE, STAGE, Dags
from failgym.sim.shared.records import Records
from failgym.traces import Trace
from failgym.vocabulary import NEVER

if TYPE_CHECKING:
    from failgym.sim.scheduled.rules import ScheduledRules

__all__ = ["compile_dags"]

Ints = npt.NDArray[np.int64]


def _first_of(at: Ints, of: int) -> Ints:
    """Where each of a number of groups begins in a sorted list of group numbers, and its end."""
    return np.concatenate([[0], np.cumsum(np.bincount(at, minlength=of))]).astype(np.int64)


def _check_edges(job: Ints, parent: Ints, child: Ints) -> None:
    for edge, ends in enumerate(zip(parent.tolist(), child.tolist(), strict=True)):
        for stage in ends:
            if not 0 <= stage < len(job):
                raise ValueError(
                    f"stage edge {edge}: unknown stage {stage}: expected 0 to {len(job) - 1}"
                )
        if job[ends[0]] != job[ends[1]]:
            raise ValueError(f"stage edge {edge}: expected stages of one job")


def _topological(job: Ints, parent: Ints, child: Ints) -> tuple[list[int], Ints]:
    """The stages, parents first, and their levels."""
    children: list[list[int]] = [[] for _ in range(len(job))]
    for edge in range(len(parent)):
        children[int(parent[edge])].append(int(child[edge]))
    waits = np.bincount(child, minlength=len(job)).tolist()
    level = np.ones(len(job), dtype=np.int64)
    order: list[int] = [stage for stage in range(len(job)) if waits[stage] == 0]
    for stage in order:
        for c in children[stage]:
            level[c] = max(level[c], level[stage] + 1)
            waits[c] -= 1
            if waits[c] == 0:
                order.append(c)
    if len(order) < len(job):
        stuck = min(stage for stage in range(len(job)) if waits[stage] > 0)
        raise ValueError(f"stages of job {job[stuck]} form a cycle")
    return order, level


def _rounded(x: npt.NDArray[np.float64]) -> Ints:
    """Round half up to whole milliseconds."""
    return np.floor(x + 0.5).astype(np.int64)


def _pairs(n: Ints, m: Ints, wide: npt.NDArray[np.bool_]) -> Ints:
    """Pairs of a parent and a child task on edges from n to m tasks."""
    return np.where(wide, n * m, np.where((n > 0) & (m > 0), n + m - np.gcd(n, m), 0))


def _transfer(size: Ints, pairs: Ints, bandwidth: float) -> Ints:
    """Time from one parent task to one child task of each edge [ms]."""
    if bandwidth == 0.0:
        return np.zeros(len(size), dtype=np.int64)
    with np.errstate(over="ignore"):
        time = np.where(pairs > 0, size / np.maximum(pairs, 1) / bandwidth, 0.0)
    if len(time):
        check_duration("transfer_bandwidth: transfer of a stage edge", time.max())
    return _rounded(time)


def _costs(trace: Trace, kept: Ints) -> Ints:
    """[tasks, machines] compute times, or [0, 0] where the trace has none."""
    task, machine = trace.column("costs", "task"), trace.column("costs", "machine")
    if len(task) == 0:
        return np.zeros((0, 0), dtype=np.int64)
    pair = task * len(kept) + np.searchsorted(kept, machine)
    given, times = np.unique(pair, return_counts=True)
    again = given[times > 1]
    missing = np.flatnonzero(np.append(given, -1) != np.arange(len(given) + 1))
    pairs = len(trace.tasks) * len(kept)
    for wrong, expected in ((again, "one"), (missing[missing < pairs], "a")):
        if len(wrong):
            t, m = divmod(int(wrong[0]), len(kept))
            raise ValueError(f"costs: expected {expected} time of task {t} on machine {kept[m]}")
    costs = np.empty(pairs, dtype=np.int64)
    costs[pair] = trace.column("costs", "time")
    return costs.reshape(len(trace.tasks), len(kept))


def _mean_compute(length: Ints, speed: npt.NDArray[np.float64], costs: Ints) -> Any:
    """Mean compute time of each task over the machines [ms]."""
    if costs.size:
        return costs.sum(axis=1) / len(speed)
    total = np.zeros(len(length))
    for value, machines in zip(*np.unique(speed, return_counts=True), strict=True):
        total += machines * (length if value == 1.0 else _rounded(length / value))
    return total / len(speed)


def _first_rows(task_at: Ints, tasks: Ints) -> Ints:
    """First task of each stage whose tasks have rows that follow each other, else -1, [stages]."""
    first = np.full(len(task_at) - 1, -1, dtype=np.int64)
    breaks = np.concatenate([[0], np.cumsum(np.diff(tasks) != 1)])
    filled = np.flatnonzero(np.diff(task_at))
    begin, last = task_at[filled], task_at[filled + 1] - 1
    whole = breaks[begin] == breaks[last]
    first[filled[whole]] = tasks[begin[whole]]
    return first


def _seen_from(dags: Dags, edges: Ints, ends: Ints) -> Records:
    """EDGE of edges in this order, of which ``ends`` are the stages at the other end."""
    size, seen = np.diff(dags.task_at), np.zeros(len(edges), dtype=EDGE)
    seen["stage"], seen["wide"] = ends[edges], dags.wide[edges]
    seen["parents"], seen["children"] = size[dags.parent[edges]], size[dags.child[edges]]
    seen["row"] = _first_rows(dags.task_at, dags.tasks)[ends[edges]]
    seen["transfer"] = dags.transfer[edges]
    return seen


def _edges_from(dags: Dags, stage: int) -> Records:
    """The outgoing edges of a stage."""
    here = dags.stages[stage]
    return dags.outputs[here["outputs_from"] : here["outputs_to"]]


def _stages(level: Ints, bytes_in: Ints, parent: Ints, child: Ints) -> Records:
    """STAGE of every stage."""
    stages = np.zeros(len(level), dtype=STAGE)
    stages["level"], stages["bytes_in"] = level, bytes_in
    for kind, ends in (("inputs", child), ("outputs", parent)):
        at = _first_of(ends, len(level))
        stages[f"{kind}_from"], stages[f"{kind}_to"] = at[:-1], at[1:]
    return stages


def _upward_ranks(dags: Dags, order: list[int], mean: Any) -> npt.NDArray[np.float64]:
    """Upward rank of each task: its mean compute time, and the longest way from there to the end.

    H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for
    heterogeneous computing. IEEE TPDS 13(3), 2002.
    """
    rank = np.array(mean, dtype=np.float64)
    for stage in reversed(order):
        parents = dags.tasks[dags.task_at[stage] : dags.task_at[stage + 1]]
        longest = np.zeros(len(parents))
        for edge in _edges_from(dags, stage):
            child = int(edge["stage"])
            children = dags.tasks[dags.task_at[child] : dags.task_at[child + 1]]
            n, m = len(parents), len(children)
            if n == 0 or m == 0:
                continue
            ways = edge["transfer"] + rank[children]
            if edge["wide"]:
                longest = np.maximum(longest, ways.max())
                continue
            for p in range(n):
                most = ways[p * m // n : -(-(p + 1) * m // n)].max()
                longest[p] = max(longest[p], most)
        rank[parents] += longest
    return rank


def compile_dags(
    trace: Trace,
    rules: ScheduledRules,
    tasks: Records,
    rows: Records,
    machines: Records,
    kept: Ints,
) -> Dags:
    """Compile the workflows of a trace.

    Args:
        trace: its tables tasks, stages, stage_edges and costs are read.
        rules: of the scenario.
        tasks: TASK of every task (the first row of each).
        rows: ROW of every attempt that can run (their lengths).
        machines: MACHINE of the cluster (their speeds).
        kept: trace rows of these machines, ascending.

    Raises:
        ValueError: if stages of a job form a cycle, an edge names a stage that does not exist or
            joins two jobs, a task is in a stage of another job, or the compute times are not
            complete. One line.
    """
    stage = trace.column("tasks", "stage", missing=-1).astype(np.int64)
    job = trace.column("stages", "job").astype(np.int64)
    parent = trace.column("stage_edges", "parent").astype(np.int64)
    child = trace.column("stage_edges", "child").astype(np.int64)
    wide = trace.column("stage_edges", "wide").astype(np.bool_)
    size = trace.column("stage_edges", "bytes").astype(np.int64)
    _check_edges(job, parent, child)
    staged = np.flatnonzero(stage >= 0)
    foreign = staged[job[stage[staged]] != trace.column("tasks", "job")[staged]]
    if len(foreign):
        t = foreign[0]
        raise ValueError(f"task {t}: expected a stage of its job {trace.column('tasks', 'job')[t]}")
    order, level = _topological(job, parent, child)
    index = trace.column("tasks", "index")
    members = staged[np.lexsort((staged, index[staged], stage[staged]))]
    task_at = _first_of(stage[staged], len(job))
    position = np.full(len(stage), -1, dtype=np.int64)
    position[members] = np.arange(len(members)) - task_at[stage[members]]
    count = np.diff(task_at)
    pairs = _pairs(count[parent], count[child], wide)
    bytes_in = np.zeros(len(job), dtype=np.int64)
    np.add.at(bytes_in, child, size)
    dags = Dags(
        stage=stage,
        position=position,
        task_at=task_at,
        tasks=members,
        stages=_stages(level, bytes_in, parent, child),
        inputs=np.zeros(0, dtype=EDGE),
        outputs=np.zeros(0, dtype=EDGE),
        parent=parent,
        child=child,
        wide=wide,
        transfer=_transfer(size, pairs, rules.transfer_bandwidth),
        rank=np.zeros(len(stage)),
        rising=np.zeros(0, dtype=np.int64),
        falling=np.zeros(0, dtype=np.int64),
        costs=_costs(trace, kept),
    )
    dags = dags._replace(
        inputs=_seen_from(dags, np.argsort(child, kind="stable"), parent),
        outputs=_seen_from(dags, np.argsort(parent, kind="stable"), child),
    )
    if rules.scheduler != "rank_hybd":
        return dags
    length = np.zeros(len(stage), dtype=np.int64)
    runs = tasks["rows"] > 0
    first = rows[tasks["rows_at"][runs]]
    length[runs] = np.where(first["length"] < NEVER, first["length"], first["duration"])
    rank = _upward_ranks(dags, order, _mean_compute(length, machines["speed"], dags.costs))
    return dags._replace(rank=rank, rising=_places(rank), falling=_places(-rank))


def _places(key: npt.NDArray[np.float64]) -> Ints:
    """Place of each in ascending order, ties in their own order."""
    place = np.empty(len(key), dtype=np.int64)
    place[np.argsort(key, kind="stable")] = np.arange(len(key))
    return place
