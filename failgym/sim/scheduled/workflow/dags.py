"""Workflows: stages with narrow and wide edges, where outputs are, what an attempt can read.

What never changes is compiled from the trace into `Dags`; the state of an episode is a `DagState`.
Both count by stage, so that an event costs as much as its task has parent stages, not parent tasks.
The output of a task lives in the memory of its first machine until it is saved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.jit import called
from failgym.sim.shared.records import Records
from failgym.vocabulary import NEVER

__all__ = [
    "DAG_EPISODE",
    "DAG_STAGE",
    "DAG_TASK",
    "EDGE",
    "HELD",
    "IN_MEMORY",
    "LOST",
    "NOT_MADE",
    "OFF_STACK",
    "SAVED",
    "STAGE",
    "DagState",
    "Dags",
    "children",
    "compute_time",
    "has_children",
    "has_dags",
    "inputs_available",
    "inputs_reachable",
    "local_in_row",
    "local_of",
    "maker_of",
    "parents",
    "repeated",
    "stage_of",
    "still_transferring_from",
    "transfer_time",
]

Ints = npt.NDArray[np.int64]

NOT_MADE, IN_MEMORY, SAVED, LOST = 0, 1, 2, 3
"""Where the output of a task is; one that is lost may be under recomputation."""
OFF_STACK = -2
"""Link of a task that is not among the outputs to be demanded."""

DAG_TASK = np.dtype(
    [
        ("stage", "i4"),  # counted from the episode's first stage, -1 none
        ("position", "i4"),  # in the stage
        ("missing", "i4"),  # parent tasks by narrow edges without an available output
        ("waiting", "i4"),  # child tasks by narrow edges that have not settled
        ("output", "i1"),
        ("again", "i1"),  # recomputation: 0 none, 1 wanted, 2 started
        ("machine", "i4"),  # that made the output
        ("next", "i4"),  # outputs of the stage in memory on the same machine
        ("before", "i4"),
        ("stack_next", "i4"),  # lost outputs to be demanded, see lineage.py
        ("stack_before", "i4"),
        ("mark", "i4"),
        ("number", "i4"),  # of the attempt that made it
        ("saved_at", "i8"),
        ("recomputation", "i8"),  # time to make the output again, as of when it was made [ms]
        ("chain", "i8"),  # length of the run that made it and of what it would repeat first [ms]
        ("run", "i8"),  # row of the attempt that made it
    ],
    align=True,
)
"""A task of the episode, by its position there."""

EDGE = np.dtype(
    [
        ("stage", "i4"),  # row of the stage at the other end
        ("parents", "i4"),  # tasks of the parent stage in the trace
        ("children", "i4"),
        ("wide", "?"),
        ("row", "i8"),  # first task of the other stage, where its rows follow each other, else -1
        ("transfer", "i8"),  # time from one parent task to one child task [ms]
    ],
    align=True,
)
"""An edge as one of its stages sees it: all that is asked of it, in one line of memory."""

STAGE = np.dtype(
    [
        ("level", "i4"),  # 1 without parents, else 1 + the largest of the parents
        ("inputs_from", "i4"),  # its incoming edges are Dags.inputs[inputs_from:inputs_to]
        ("inputs_to", "i4"),
        ("outputs_from", "i4"),  # its outgoing edges are Dags.outputs[outputs_from:outputs_to]
        ("outputs_to", "i4"),
        ("bytes_in", "i8"),  # sum over incoming edges
    ],
    align=True,
)
"""A stage of the trace."""

DAG_STAGE = np.dtype(
    [
        ("tasks", "i4"),  # of the episode
        ("available", "i4"),  # outputs in memory or saved
        ("in_memory", "i4"),
        ("lost", "i4"),  # outputs lost and not being recomputed
        ("again", "i4"),  # recomputations wanted, not started
        ("unsettled", "i4"),
        ("mark", "i4"),
        ("saving", "i8"),  # bytes of outputs saved or being written
        ("writes", "i4"),  # outputs written
        ("low", "i4"),  # of their durations in the lower heap, see quantiles.py
    ],
    align=True,
)
"""A stage of the episode."""

HELD = np.dtype(
    [("outputs", "i4"), ("head", "i4"), ("recomputation", "i8"), ("saved_at", "i8")], align=True
)
"""Outputs of a stage in the memory of a machine: how many, the first of the list, the largest time
to make one again; and when one of them was last saved."""

DAG_EPISODE = np.dtype(
    [
        ("first_stage", "i8"),
        ("stages", "i4"),
        ("lost", "i4"),  # outputs lost and not being recomputed
        ("unsaved", "i4"),  # outputs made that are not saved: those that can be lost
        ("mark", "i4"),
        ("stack", "i4"),  # top of the lost outputs to be demanded
        ("ranked", "i4"),  # runs in the heap of the queue by rank, see ranking.py
        ("aside", "i4"),  # runs that the open pass has looked at
        ("offers", "i4"),  # machines that could start the task on offer
        ("one_job", "?"),  # are all queued tasks of one job, as far as the order goes?
        (
            "in_order",
            "?",
        ),  # are its tasks all between its first and last trace row, in their order?
        ("number", "i8"),  # of the open pass
    ],
    align=True,
)


class Dags(NamedTuple):
    """The workflows of a trace; tasks by trace row, stages and edges by their rows too."""

    stage: Ints
    """[tasks] row of the stage, -1 none"""
    position: Ints
    """[tasks] in the stage, by index"""
    task_at: Ints
    """[stages + 1] the tasks of stage s are ``tasks[task_at[s]:task_at[s + 1]]``"""
    tasks: Ints
    stages: Records
    """STAGE [stages]"""
    inputs: Records
    """EDGE [edges] by child stage, as it sees them"""
    outputs: Records
    """EDGE [edges] by parent stage, as it sees them"""
    parent: Ints
    """[edges]"""
    child: Ints
    wide: npt.NDArray[np.bool_]
    transfer: Ints
    """[edges] time from one parent task to one child task [ms]"""
    rank: npt.NDArray[np.float64]
    """[tasks] upward rank [ms] (Topcuoglu, Hariri and Wu 2002); 0 where nobody asks"""
    rising: Ints
    """[tasks] place in the order of (rank, trace row)"""
    falling: Ints
    """[tasks] place in the order of (-rank, trace row)"""
    costs: Ints
    """[tasks, machines] compute times [ms], or [0, 0]"""


class DagState(NamedTuple):
    """The state of the workflows of an episode."""

    ep: Records
    """DAG_EPISODE [1]"""
    tasks: Records
    """DAG_TASK [tasks]"""
    stages: Records
    """DAG_STAGE [stages]"""
    held: Records
    """HELD [stages, machines]"""
    local_of: npt.NDArray[np.int32]
    """[span of trace rows] position in the episode of the task of a trace row, counted from the
    first one; -1 where it is not of the episode. Only where ``ep.in_order`` is False"""
    finish: Ints
    """[machines] when the task on offer would finish there, -1 where it cannot start"""
    listed: npt.NDArray[np.int32]
    """[tasks] room for lists of tasks"""
    written: Ints
    """[tasks] durations of completed writes of outputs by stage"""


@called
def has_dags(w: Any) -> bool:
    """Has the trace stages?"""
    return len(w.dags.stages) > 0


@called
def stage_of(x: Any, stage: int) -> int:
    """Place of a stage (row) in the episode's state; -1 if no task of the episode is near it.

    What is made outside the episode is taken to be at hand, on stable storage.
    """
    place = stage - x.dag.ep[0].first_stage
    return place if 0 <= place < x.dag.ep[0].stages else -1


@called
def maker_of(w: Any, x: Any, edge: Any, position: int) -> int:
    """As `local_of`, but -1 too where the task cannot have made its output yet."""
    local = local_of(w, x, edge, position)
    return local if local < x.ep.prepared else -1


@called
def local_of(w: Any, x: Any, edge: Any, position: int) -> int:
    """Place in the episode of a task at the other end of an edge, -1 if it is not of the episode.

    Args:
        edge: EDGE.
        position: of the task in its stage.
    """
    row = edge.row + position
    if edge.row < 0:
        row = w.dags.tasks[w.dags.task_at[edge.stage] + position]
    if row < x.ep.first_row or row > x.ep.last_row:
        return -1
    return local_in_row(x, row)


@called
def local_in_row(x: Any, row: int) -> int:
    """Place in the episode of a task (trace row between its first and its last), else -1."""
    at = row - x.ep.first_row
    return at if x.dag.ep[0].in_order else int(x.dag.local_of[at])


@called
def _opposite(wide: bool, here: int, there: int, position: int) -> tuple[int, int]:
    """Tasks of a stage of ``there`` tasks that an edge joins to one of a stage of ``here``."""
    if wide:
        return 0, there
    if here == there:
        return position, position + 1
    return position * there // here, ((position + 1) * there + here - 1) // here


@called
def parents(edge: Any, position: int) -> tuple[int, int]:
    """Of a child task the positions of its parent tasks: the first, and one past the last."""
    return _opposite(edge.wide, edge.children, edge.parents, position)


@called
def children(edge: Any, position: int) -> tuple[int, int]:
    """Of a parent task the positions of its child tasks: the first, and one past the last."""
    return _opposite(edge.wide, edge.parents, edge.children, position)


@called
def has_children(w: Any, stage: int) -> bool:
    """Has a stage (row) outgoing edges?"""
    return w.dags.stages[stage].outputs_to > w.dags.stages[stage].outputs_from


@called
def _reads_nothing(w: Any, x: Any, local: int) -> bool:
    """Is a task without stage, or does it stand at the beginning, its inputs with it?"""
    return not has_dags(w) or x.dag.tasks[local].stage < 0 or x.tasks[local].remaining >= 0


@called
def inputs_available(w: Any, x: Any, local: int) -> bool:
    """Have all parent tasks of the episode an output, in memory or saved?"""
    if _reads_nothing(w, x, local):
        return True
    if x.dag.tasks[local].missing > 0:
        return False
    stage = x.dag.tasks[local].stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        place = stage_of(x, edge.stage)
        if edge.wide and place >= 0:
            parent = x.dag.stages[place]
            if parent.available < parent.tasks:
                return False
    return True


@called
def _out_of_reach(w: Any, x: Any, edge: Any, position: int) -> bool:
    """Is an output of an edge, which a child task reads, on a machine that is down?"""
    place = stage_of(x, edge.stage)
    if place < 0:
        return False
    if edge.wide:
        for m in range(len(x.machines)):
            if x.machines[m].down and x.dag.held[place, m].outputs > 0:
                return True
        return False
    first, past = parents(edge, position)
    for p in range(first, past):
        local = maker_of(w, x, edge, p)
        if local >= 0:
            parent = x.dag.tasks[local]
            if parent.output == IN_MEMORY and x.machines[parent.machine].down:
                return True
    return False


@called
def inputs_reachable(w: Any, x: Any, local: int) -> bool:
    """Is none of the inputs in the memory of a machine that is down?"""
    if x.ep.down == 0 or _reads_nothing(w, x, local):
        return True
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        if _out_of_reach(w, x, w.dags.inputs[k], task.position):
            return False
    return True


@called
def _reads_from_afar(w: Any, x: Any, edge: Any, position: int, machine: int) -> bool:
    """Would a child task on a machine read an output of an edge from another machine?"""
    place = stage_of(x, edge.stage)
    if place < 0:
        return False
    if edge.wide:
        return x.dag.stages[place].in_memory > x.dag.held[place, machine].outputs
    first, past = parents(edge, position)
    for p in range(first, past):
        local = maker_of(w, x, edge, p)
        if local >= 0:
            parent = x.dag.tasks[local]
            if parent.output == IN_MEMORY and parent.machine != machine:
                return True
    return False


@called
def transfer_time(w: Any, x: Any, local: int, machine: int) -> int:
    """Time until all inputs of a task have been brought to a machine [ms]."""
    longest = 0
    if not w.parameters[0].transfers or _reads_nothing(w, x, local):
        return int(longest)
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        time = edge.transfer
        if time > longest and _reads_from_afar(w, x, edge, task.position, machine):
            longest = time
    return int(longest)


@called
def _read_from(w: Any, x: Any, edge: Any, position: int, machine: int, start: int) -> bool:
    """Was an output of an edge in the memory of a machine when a child task started to read it?"""
    place = stage_of(x, edge.stage)
    if place < 0:
        return False
    if edge.wide:
        held = x.dag.held[place, machine]
        return held.outputs > 0 or held.saved_at > start
    first, past = parents(edge, position)
    for p in range(first, past):
        local = maker_of(w, x, edge, p)
        if local >= 0 and x.dag.tasks[local].machine == machine:
            parent = x.dag.tasks[local]
            if parent.output == IN_MEMORY or parent.saved_at > start:
                return True
    return False


@called
def repeated(w: Any, x: Any, local: int) -> int:
    """Time that a recomputation of a task takes before its own work [ms].

    That of the longest chain of unsaved outputs which narrow edges lead to.
    """
    longest = 0
    if _reads_nothing(w, x, local):
        return int(longest)
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        if edge.wide or stage_of(x, edge.stage) < 0:
            continue
        first, past = parents(edge, task.position)
        for p in range(first, past):
            parent = maker_of(w, x, edge, p)
            if parent >= 0 and x.dag.tasks[parent].output in (IN_MEMORY, LOST):
                longest = max(longest, x.dag.tasks[parent].chain)
    return int(longest)


@called
def still_transferring_from(w: Any, x: Any, i: int, machine: int, now: int) -> bool:
    """Does a transfer from a machine to a run on another one end after ``now``?

    Transfers are fixed when the run starts: an output that is saved meanwhile does not end them.
    """
    run = x.runs[i]
    if run.transferred <= now or run.machine == machine:
        return False
    task = x.dag.tasks[run.local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        later = run.start + edge.transfer > now
        if later and _read_from(w, x, edge, task.position, machine, run.start):
            return True
    return False


@called
def compute_time(w: Any, task: int, machine: int) -> int:
    """Time that a task (trace row) needs on a machine, undisturbed [ms]."""
    if len(w.dags.costs) > 0:
        return int(w.dags.costs[task, machine])
    if w.tasks[task].rows == 0:
        return 0
    row, speed = w.rows[w.tasks[task].rows_at], w.machines[machine].speed
    length = row.length if row.length < NEVER else row.duration
    return int(length) if speed == 1.0 else math.floor(length / speed + 0.5)
