"""Room for the state of workflows, and how an episode begins there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from failgym.sim.jit import called
from failgym.sim.scheduled.dags import (
    DAG_EPISODE,
    DAG_STAGE,
    DAG_TASK,
    HELD,
    NOT_MADE,
    OFF_STACK,
    Dags,
    DagState,
    has_dags,
    local_of,
    parents,
    stage_of,
)

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["begin_dags", "make_dag_state", "view_dags"]

Ints = npt.NDArray[np.int64]


def _spans(values: Ints, at: Ints) -> tuple[Ints, Ints]:
    """Least and largest value of each stretch of a list (those without values: 0, -1)."""
    low, high = np.zeros(len(at) - 1, np.int64), np.full(len(at) - 1, -1)
    filled = np.flatnonzero(np.diff(at) > 0)
    if len(filled):
        low[filled] = np.minimum.reduceat(values, at[:-1][filled])
        high[filled] = np.maximum.reduceat(values, at[:-1][filled])
    return low, high


def make_dag_state(
    dags: Dags, episodes: int, machines: int, members: Ints, member_at: Ints
) -> DagState:
    """Room for a number of episodes.

    Args:
        members: trace rows of the tasks of slice i at ``member_at[i]:member_at[i + 1]``.
    """
    tasks, rows, stages, written = 0, 0, 0, 0
    if len(dags.level):
        tasks = int(np.diff(member_at).max(initial=0))
        low, high = _spans(members, member_at)
        rows = int((high - low).max(initial=-1)) + 1
        staged = dags.stage[members] >= 0
        before = np.concatenate([[0], np.cumsum(staged)])[member_at]
        low, high = _spans(dags.stage[members[staged]], before)
        stages = int((high - low).max(initial=-1)) + 1
        written = int((dags.task_at[high + 1] - dags.task_at[low]).max(initial=0))
    return DagState(
        ep=np.zeros(episodes, dtype=DAG_EPISODE),
        tasks=np.zeros((episodes, tasks), dtype=DAG_TASK),
        stages=np.zeros((episodes, stages), dtype=DAG_STAGE),
        held=np.zeros((episodes, stages, machines), dtype=HELD),
        local_of=np.zeros((episodes, rows), dtype=np.int32),
        finish=np.zeros((episodes, machines), dtype=np.int64),
        listed=np.zeros((episodes, tasks), dtype=np.int32),
        written=np.zeros((episodes, written), dtype=np.int64),
    )


@called
def view_dags(d: DagState, e: int) -> DagState:
    """The part of one episode."""
    return DagState(
        d.ep[e : e + 1],
        d.tasks[e],
        d.stages[e],
        d.held[e],
        d.local_of[e],
        d.finish[e],
        d.listed[e],
        d.written[e],
    )


@called
def _clear_stages(w: World, x: View) -> None:
    """Find the stages of the episode and put them at their beginning."""
    d = x.dag.ep[0]
    first, last = len(w.dags.level), -1
    for local in range(x.ep.tasks):
        stage = w.dags.stage[x.tasks[local].task]
        if stage >= 0:
            first, last = min(first, stage), max(last, stage)
    d.first_stage, d.stages = first, max(last - first + 1, 0)
    for place in range(d.stages):
        stage = x.dag.stages[place]
        stage.tasks, stage.available, stage.in_memory = 0, 0, 0
        stage.lost, stage.again, stage.unsettled, stage.mark = 0, 0, 0, 0
        stage.saving, stage.writes, stage.low = 0, 0, 0
        for machine in range(x.dag.held.shape[1]):
            held = x.dag.held[place, machine]
            held.outputs, held.head, held.recomputation, held.saved_at = 0, -1, 0, -1


@called
def _clear_task(w: World, x: View, local: int) -> None:
    """Put a task at its beginning, and count it in its stage."""
    row = x.tasks[local].task
    task, stage = x.dag.tasks[local], w.dags.stage[row]
    x.dag.local_of[row - x.ep.first_row] = local
    task.stage, task.position = -1, w.dags.position[row]
    task.missing, task.output, task.again = 0, NOT_MADE, 0
    task.machine, task.next, task.before = -1, -1, -1
    task.stack_next, task.stack_before, task.mark = -1, OFF_STACK, 0
    task.saved_at, task.recomputation, task.run, task.number = -1, 0, -1, -1
    if stage >= 0:
        task.stage = stage - x.dag.ep[0].first_stage
        x.dag.stages[task.stage].tasks += 1
        x.dag.stages[task.stage].unsettled += 1


@called
def _count_missing(w: World, x: View, local: int) -> None:
    """Count the parent tasks by narrow edges, none of which has an output as yet."""
    task = x.dag.tasks[local]
    if task.stage < 0:
        return
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.in_at[stage], w.dags.in_at[stage + 1]):
        edge = w.dags.into[k]
        if not w.dags.wide[edge] and stage_of(x, w.dags.parent[edge]) >= 0:
            first, past = parents(w, edge, task.position)
            for position in range(first, past):
                if local_of(w, x, w.dags.parent[edge], position) >= 0:
                    task.missing += 1


@called
def begin_dags(w: World, x: View) -> None:
    """Begin an episode over the tasks that stand in ``x.tasks``: no output has been made."""
    d = x.dag.ep[0]
    d.ranked, d.aside, d.one_job = 0, 0, False
    if not has_dags(w):
        return
    d.lost, d.mark, d.stack = 0, 0, -1
    d.number = 0
    _clear_stages(w, x)
    for row in range(x.ep.last_row - x.ep.first_row + 1):
        x.dag.local_of[row] = -1
    for local in range(x.ep.tasks):
        _clear_task(w, x, local)
    for local in range(x.ep.tasks):
        _count_missing(w, x, local)
