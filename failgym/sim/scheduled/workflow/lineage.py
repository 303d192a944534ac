"""Lineage: who waits for whose output, and which outputs are made again.

A lost output that something waits for is demanded: its task runs again, and if its own inputs are
lost too, they are demanded before it. What would be a recursion is a list of lost outputs yet to be
demanded, in the order in which the recursion would come to them; none is in it twice, since the
earlier demand leaves nothing for the later one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.attempts import create
from failgym.sim.scheduled.queue.queues import block, join
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.tasks import prepare
from failgym.sim.scheduled.workflow.dags import (
    LOST,
    OFF_STACK,
    children,
    has_dags,
    inputs_available,
    local_in_row,
    local_of,
    maker_of,
    parents,
    stage_of,
)
from failgym.sim.scheduled.workflow.outputs import lose_outputs_of, wanted_again
from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["admit", "demand_blocked", "descendants", "lose_outputs", "unblock_children"]

_BLOCKED, _QUEUED = int(RunState.BLOCKED), int(RunState.QUEUED)


# --- Lists of tasks in x.dag.listed ---------------------------------------------------------------


@called
def _new_mark(x: View) -> int:
    """A mark that no task and no stage bears."""
    x.dag.ep[0].mark += 1
    return x.dag.ep[0].mark


@called
def _get(x: View, at: int) -> int:
    return x.dag.listed[at]


@called
def _put(x: View, at: int, local: int) -> None:
    x.dag.listed[at] = local


@called
def _later(x: View, a: int, b: int) -> bool:
    return x.tasks[a].task > x.tasks[b].task


_heap_sort = make_heap(_get, _put, _later).sort


@called
def _sort(x: View, n: int) -> None:
    """Put the first n tasks of the list in order of trace row (most often they are)."""
    sorted_up_to = 1
    while sorted_up_to < n:
        before = x.tasks[x.dag.listed[sorted_up_to - 1]].task
        if x.tasks[x.dag.listed[sorted_up_to]].task < before:
            break
        sorted_up_to += 1
    if sorted_up_to < n:
        _heap_sort(x, n)


# --- Joining the queue and leaving it -------------------------------------------------------------


@called
def _join(w: World, x: View, i: int) -> None:
    """Let a run join the queue, compiled once."""
    join(w, x, i)


@called
def _join_blocked(w: World, x: View, local: int) -> None:
    """All blocked runs of a task join the queue, in order of number."""
    i = x.tasks[local].first_run
    while i >= 0 and x.tasks[local].blocked > 0:
        if x.runs[i].state == _BLOCKED:
            _join(w, x, i)
        i = x.runs[i].next


@called
def _block_queued(w: World, x: View, local: int) -> None:
    """All queued runs of a task wait for its inputs again, silently."""
    if x.tasks[local].remaining >= 0:  # what stands at the beginning has its inputs with it
        return
    i = x.tasks[local].first_run
    while i >= 0 and x.tasks[local].queued > 0:
        if x.runs[i].state == _QUEUED:
            block(w, x, i)
        i = x.runs[i].next


@called
def unblock_children(w: World, x: View, local: int) -> None:
    """Children of a task, whose output has just been made, join the queue if they miss nothing."""
    if not has_dags(w) or x.dag.tasks[local].stage < 0:
        return
    task, mark, n = x.dag.tasks[local], _new_mark(x), 0
    complete = x.dag.stages[task.stage].available == x.dag.stages[task.stage].tasks
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        if stage_of(x, edge.stage) < 0 or (edge.wide and not complete):
            continue
        first, past = children(edge, task.position)
        for position in range(first, past):
            child = local_of(w, x, edge, position)
            if child < 0 or child >= x.ep.prepared:
                continue
            if x.tasks[child].blocked == 0 or x.dag.tasks[child].mark == mark:
                continue
            if inputs_available(w, x, child):
                x.dag.tasks[child].mark = mark
                x.dag.listed[n] = child
                n += 1
    _sort(x, n)
    for at in range(n):
        _join_blocked(w, x, x.dag.listed[at])


@called
def _block_narrow_children(w: World, x: View, local: int) -> None:
    """Children by narrow edges of a task, whose output is lost, leave the queue."""
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        if not edge.wide and stage_of(x, edge.stage) >= 0:
            first, past = children(edge, task.position)
            for position in range(first, past):
                child = local_of(w, x, edge, position)
                if 0 <= child < x.ep.prepared:
                    _block_queued(w, x, child)


@called
def _block_wide_children(w: World, x: View, place: int) -> None:
    """Children by wide edges of a stage, of which an output is lost, leave the queue."""
    stage = place + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        if edge.wide and stage_of(x, edge.stage) >= 0:
            for position in range(edge.children):
                child = local_of(w, x, edge, position)
                if 0 <= child < x.ep.prepared:
                    _block_queued(w, x, child)


@called
def lose_outputs(w: World, x: View, machine: int) -> None:
    """What a machine kept in memory is gone; queued runs that would read it are blocked."""
    if not has_dags(w):
        return
    for place in range(x.dag.ep[0].stages):
        local = x.dag.held[place, machine].head
        if local < 0:
            continue
        complete = x.dag.stages[place].available == x.dag.stages[place].tasks
        lose_outputs_of(w, x, place, machine)
        while local >= 0:
            _block_narrow_children(w, x, local)
            local = x.dag.tasks[local].next
        if complete:
            _block_wide_children(w, x, place)


# --- Demand ---------------------------------------------------------------------------------------


@called
def _is_lost(x: View, local: int) -> bool:
    """Is an output lost, and not being made again?"""
    return x.dag.tasks[local].output == LOST and x.dag.tasks[local].again == 0


@called
def _unstack(x: View, local: int) -> None:
    """Take a task out of the list of those to be demanded."""
    task = x.dag.tasks[local]
    if task.stack_before >= 0:
        x.dag.tasks[task.stack_before].stack_next = task.stack_next
    else:
        x.dag.ep[0].stack = task.stack_next
    if task.stack_next >= 0:
        x.dag.tasks[task.stack_next].stack_before = task.stack_before
    task.stack_before = OFF_STACK


@called
def _stack(x: View, local: int) -> None:
    """Put a task first in the list of those to be demanded, wherever it was."""
    task = x.dag.tasks[local]
    if task.stack_before != OFF_STACK:
        _unstack(x, local)
    task.stack_before, task.stack_next = -1, x.dag.ep[0].stack
    if x.dag.ep[0].stack >= 0:
        x.dag.tasks[x.dag.ep[0].stack].stack_before = local
    x.dag.ep[0].stack = local


@called
def _stack_inputs(w: World, x: View, local: int) -> None:
    """Put the lost inputs of a task first in the list, in ascending order of trace row."""
    task, mark, n = x.dag.tasks[local], _new_mark(x), 0
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        place = stage_of(x, edge.stage)
        if place < 0 or x.dag.stages[place].lost == 0:
            continue
        first, past = parents(edge, task.position)
        for position in range(first, past):
            parent = maker_of(w, x, edge, position)
            if parent >= 0 and _is_lost(x, parent) and x.dag.tasks[parent].mark != mark:
                x.dag.tasks[parent].mark = mark
                x.dag.listed[n] = parent
                n += 1
    _sort(x, n)
    for at in range(n - 1, -1, -1):
        _stack(x, x.dag.listed[at])


@called
def _demand(w: World, x: View, local: int) -> None:
    """The lost inputs of a task are made again, and theirs, and so on."""
    _stack_inputs(w, x, local)
    while x.dag.ep[0].stack >= 0:
        parent = x.dag.ep[0].stack
        _unstack(x, parent)
        if not _is_lost(x, parent):
            continue
        task = x.dag.tasks[parent]
        i = create(w, x, parent, task.run, False, True, task.number)
        wanted_again(x, parent)
        if inputs_available(w, x, parent):
            _join(w, x, i)
        else:
            _stack_inputs(w, x, parent)


@called
def admit(w: World, x: View, i: int) -> None:
    """A new run joins the queue if its inputs are available; else it demands those that are lost.

    Runs that are blocked already have demanded theirs, or will when the loss is noticed.
    """
    local = x.runs[i].local
    if inputs_available(w, x, local):
        _join(w, x, i)
    elif x.dag.ep[0].lost > 0:
        _demand(w, x, local)


@called
def demand_blocked(w: World, x: View) -> None:
    """A loss is noticed: what every blocked run waits for and has been lost is made again."""
    if not has_dags(w):
        return
    row = x.ep.first_row
    while x.dag.ep[0].lost > 0 and row <= x.ep.last_row:
        local = local_in_row(x, row)
        if 0 <= local < x.ep.prepared and x.tasks[local].blocked > 0:
            _demand(w, x, local)
        row += 1


# --- Settling -------------------------------------------------------------------------------------


@called
def _add_children(w: World, x: View, local: int, mark: int, n: int) -> int:
    """Append the unsettled children of a task to the list; the new length."""
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        place = stage_of(x, edge.stage)
        if place < 0:
            continue
        if edge.wide:
            if x.dag.stages[place].mark == mark:
                continue
            x.dag.stages[place].mark = mark
        first, past = children(edge, task.position)
        for position in range(first, past):
            child = local_of(w, x, edge, position)
            if child < 0:
                continue
            prepare(w, x, child)
            if x.tasks[child].settled or x.dag.tasks[child].mark == mark:
                continue
            if x.tasks[child].remaining >= 0:  # what stands at the beginning waits for nothing
                continue
            x.dag.tasks[child].mark = mark
            x.dag.listed[n] = child
            n += 1
    return n


@called
def descendants(w: World, x: View, local: int) -> int:
    """List in ``x.dag.listed`` the unsettled tasks that wait for a task, directly or not.

    Returns:
        How many; they are in order of trace row.
    """
    if not has_dags(w) or x.dag.tasks[local].stage < 0:
        return 0
    mark = _new_mark(x)
    n = _add_children(w, x, local, mark, 0)
    done = 0
    while done < n:
        n = _add_children(w, x, x.dag.listed[done], mark, n)
        done += 1
    _sort(x, n)
    return n
