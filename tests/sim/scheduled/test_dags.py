"""Workflows compiled from a trace: levels, transfers, ranks, who reads whom, bad input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from failgym.sim.scheduled.records import MACHINE, TASK
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.scheduled.workflow.dags import Dags
from failgym.sim.scheduled.workflow.workflows import compile_dags
from failgym.sim.shared.records import ROW
from failgym.traces import Meta, Outcome, Trace

FLAW_COSTS = ((25, 40, 45), (30, 35, 40), (35, 40, 25), (50, 35, 45), (40, 45, 50))
FLAW_EDGES = ((0, 1, 10), (0, 2, 10), (0, 3, 10), (1, 4, 15), (2, 4, 10), (3, 4, 10))

Edge = tuple[int, int, int, bool]


def workflow(
    stages: Sequence[int],
    edges: Sequence[Edge] = (),
    *,
    lengths: Sequence[int] | None = None,
    speeds: Sequence[float] = (1.0,),
    costs: Sequence[Sequence[int]] = (),
    jobs: Sequence[int] | None = None,
    tasks_of: Sequence[int] | None = None,
) -> Trace:
    """A trace of workflows: tasks in each stage, edges (parent, child, bytes, wide)."""
    stage = [s for s, tasks in enumerate(stages) for _ in range(tasks)]
    jobs = jobs or [0] * len(stages)
    job = tasks_of or [jobs[s] for s in stage]
    rows = [(t, m, time) for t, row in enumerate(costs) for m, time in enumerate(row)]
    count = max(jobs) + 1
    lengths = lengths or [10] * len(stage)
    return Trace.of(
        Meta("workflow"),
        jobs={
            "original_id": [str(j) for j in range(count)],
            "submit": [0] * count,
            "width": [max(job.count(j), 1) for j in range(count)],
            "outcome": [Outcome.CENSORED] * count,
        },
        tasks={
            "job": job,
            "index": [job[:t].count(j) for t, j in enumerate(job)],
            "width": [1] * len(stage),
            "stage": stage,
        },
        attempts={
            "task": range(len(stage)),
            "queued": [0] * len(stage),
            "end": [0] * len(stage),
            "outcome": [Outcome.CENSORED] * len(stage),
            "length": lengths,
        },
        machines={
            "original_id": [f"m{m}" for m in range(len(speeds))],
            "speed": list(speeds),
        },
        stages={"job": jobs, "stage": [jobs[:s].count(j) for s, j in enumerate(jobs)]},
        stage_edges={
            "parent": [edge[0] for edge in edges],
            "child": [edge[1] for edge in edges],
            "bytes": [edge[2] for edge in edges],
            "wide": [edge[3] for edge in edges],
        },
        costs={
            "task": [row[0] for row in rows],
            "machine": [row[1] for row in rows],
            "time": [row[2] for row in rows],
        },
    )


def compiled(trace: Trace, **rules: Any) -> Dags:
    """Its workflows, under RANK_HYBD unless told otherwise."""
    count = trace.rows("tasks")
    tasks = np.zeros(count, dtype=TASK)
    tasks["rows"], tasks["rows_at"] = 1, np.arange(count)
    rows = np.zeros(count, dtype=ROW)
    rows["length"] = trace.column("attempts", "length", missing=0)
    machines = np.zeros(trace.rows("machines"), dtype=MACHINE)
    machines["speed"] = trace.column("machines", "speed")
    kept = np.arange(len(machines))
    options: dict[str, Any] = {"scheduler": "rank_hybd", "transfer_bandwidth": 1.0, **rules}
    return compile_dags(trace, ScheduledRules(**options), tasks, rows, machines, kept)


def test_upward_ranks_of_flaws_example() -> None:
    edges = [(p, c, time, False) for p, c, time in FLAW_EDGES]
    dags = compiled(workflow([1] * 5, edges, costs=FLAW_COSTS, speeds=(1.0,) * 3))
    assert dags.rank.tolist() == pytest.approx([145.0, 95.0, 88 + 1 / 3, 98 + 1 / 3, 45.0])
    assert dags.transfer.tolist() == [10, 10, 10, 15, 10, 10]
    assert dags.stages["level"].tolist() == [1, 2, 2, 2, 3]
    assert dags.falling.tolist() == [0, 2, 3, 1, 4]
    assert dags.rising.tolist() == [4, 2, 1, 3, 0]
    assert dags.costs.tolist() == [list(row) for row in FLAW_COSTS]


def test_ranks_from_lengths_and_speeds() -> None:
    trace = workflow([1, 2], [(0, 1, 30, True)], lengths=[10, 5, 8], speeds=(1.0, 4.0))
    dags = compiled(trace)
    # 30 bytes to two tasks: 15 ms; 10 / 4 and 5 / 4 rounded half up: 3 and 1 ms
    assert dags.rank.tolist() == [(10 + 3) / 2 + 15 + 5.0, (5 + 1) / 2, (8 + 2) / 2]


def test_without_rank_hybd_no_ranks() -> None:
    dags = compiled(workflow([1, 1], [(0, 1, 5, True)]), scheduler="fifo")
    assert not dags.rank.any()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 2), (2, 4), (3, 5), (5, 3), (7, 1), (1, 7)])
def test_narrow_edges(n: int, m: int) -> None:
    """A transfer is the edge's bytes over the pairs of tasks of which one reads the other."""
    pairs = sum(-(-(i + 1) * n // m) - i * n // m for i in range(m))
    dags = compiled(workflow([n, m], [(0, 1, 7 * pairs, False)]))
    assert dags.transfer.tolist() == [7]


def test_narrow_ranks_follow_each_childs_parents() -> None:
    trace = workflow([4, 2], [(0, 1, 0, False)], lengths=[1, 2, 3, 4, 100, 200])
    assert compiled(trace).rank.tolist() == [101.0, 102.0, 203.0, 204.0, 100.0, 200.0]


def test_wide_edges() -> None:
    dags = compiled(workflow([3, 4], [(0, 1, 100, True)]))
    assert dags.transfer.tolist() == [8]  # 100 / 12 = 8.33
    assert dags.stages["bytes_in"].tolist() == [0, 100]
    assert dags.tasks.tolist() == list(range(7))
    assert dags.position.tolist() == [0, 1, 2, 0, 1, 2, 3]


def test_transfers_take_no_time_without_a_bandwidth() -> None:
    dags = compiled(workflow([3, 4], [(0, 1, 100, True)]), transfer_bandwidth=0.0)
    assert dags.transfer.tolist() == [0]


def test_cycle() -> None:
    edges = [(1, 2, 0, True), (2, 3, 0, True), (3, 1, 0, False)]
    trace = workflow([1] * 4, edges, jobs=[0, 1, 1, 1])
    with pytest.raises(ValueError, match=r"^stages of job 1 form a cycle$"):
        compiled(trace)


def test_edge_between_jobs() -> None:
    trace = workflow([1, 1], [(0, 1, 0, True)], jobs=[0, 1])
    with pytest.raises(ValueError, match=r"^stage edge 0: expected stages of one job$"):
        compiled(trace)


def test_task_in_a_stage_of_another_job() -> None:
    trace = workflow([1, 1], jobs=[0, 1], tasks_of=[0, 0])
    with pytest.raises(ValueError, match=r"^task 1: expected a stage of its job 0$"):
        compiled(trace)


def test_incomplete_compute_times() -> None:
    trace = workflow([1, 1], speeds=(1.0, 1.0), costs=[(3, 4), (5,)])
    with pytest.raises(ValueError, match="costs: expected a time of task 1 on machine 1"):
        compiled(trace)
