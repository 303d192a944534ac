"""Outputs of tasks: made, saved, lost; and the counters by stage that follow.

Only tasks of stages with outgoing edges are followed: nobody reads the output of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.workflow.dags import (
    IN_MEMORY,
    LOST,
    NOT_MADE,
    SAVED,
    children,
    has_children,
    has_dags,
    local_of,
    maker_of,
    parents,
    repeated,
    stage_of,
)
from failgym.sim.scheduled.workflow.quantiles import insert
from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = [
    "lose_outputs_of",
    "output_ready",
    "output_saved",
    "output_unwritten",
    "output_wanted",
    "output_writing",
    "recomputation_lost",
    "recomputation_started",
    "settled",
    "wanted_again",
]

NOT, WANTED, STARTED = 0, 1, 2
"""States of a recomputation."""


@called
def _tell_children(w: World, x: View, local: int, missing: int) -> None:
    """Count an output that child tasks by narrow edges miss (1) or get (-1)."""
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        if not edge.wide and stage_of(x, edge.stage) >= 0:
            first, past = children(edge, task.position)
            for position in range(first, past):
                child = local_of(w, x, edge, position)
                if 0 <= child < x.ep.prepared:  # the others count what they miss when they are
                    x.dag.tasks[child].missing += missing


@called
def _link(x: View, local: int, machine: int) -> None:
    """Put an output into the memory of a machine."""
    task = x.dag.tasks[local]
    held = x.dag.held[task.stage, machine]
    task.machine, task.before, task.next = machine, -1, held.head
    if held.head >= 0:
        x.dag.tasks[held.head].before = local
    held.head = local
    held.outputs += 1
    held.recomputation = max(held.recomputation, task.recomputation)
    x.dag.stages[task.stage].in_memory += 1


@called
def _unlink(x: View, local: int) -> None:
    """Take an output out of the memory of its machine."""
    task = x.dag.tasks[local]
    held = x.dag.held[task.stage, task.machine]
    if task.before >= 0:
        x.dag.tasks[task.before].next = task.next
    else:
        held.head = task.next
    if task.next >= 0:
        x.dag.tasks[task.next].before = task.before
    held.outputs -= 1
    x.dag.stages[task.stage].in_memory -= 1
    if task.recomputation == held.recomputation:
        held.recomputation = 0
        i = held.head
        while i >= 0:
            held.recomputation = max(held.recomputation, x.dag.tasks[i].recomputation)
            i = x.dag.tasks[i].next


@called
def _longest_input(w: World, x: View, local: int, machine: int) -> int:
    """Largest time to make one of a task's inputs again that only a machine's memory holds [ms]."""
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    longest = 0
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        place = stage_of(x, edge.stage)
        if place < 0:
            continue
        if edge.wide:
            longest = max(longest, x.dag.held[place, machine].recomputation)
            continue
        first, past = parents(edge, task.position)
        for position in range(first, past):
            local_p = maker_of(w, x, edge, position)
            if local_p >= 0:
                parent = x.dag.tasks[local_p]
                if parent.output == IN_MEMORY and parent.machine == machine:
                    longest = max(longest, parent.recomputation)
    return longest


@called
def output_ready(w: World, x: View, local: int, i: int) -> None:
    """A run of a task, its first success or a recomputation, has put its output into memory."""
    if not has_dags(w) or x.dag.tasks[local].stage < 0:
        return
    task, run = x.dag.tasks[local], x.runs[i]
    task.again = NOT
    if not has_children(w, task.stage + x.dag.ep[0].first_stage):
        return
    if task.output in (NOT_MADE, SAVED):
        x.dag.ep[0].unsaved += 1
    task.output, task.run, task.number = IN_MEMORY, run.row, run.number
    task.recomputation = x.ep.now - run.start + _longest_input(w, x, local, run.machine)
    if w.parameters[0].unpersist:
        task.chain = run.length if run.recomputes else run.length + repeated(w, x, local)
    _link(x, local, run.machine)
    x.dag.stages[task.stage].available += 1
    _tell_children(w, x, local, -1)


@called
def lose_outputs_of(w: World, x: View, place: int, machine: int) -> None:
    """The outputs of a stage in the memory of a machine are gone; they stay in its list."""
    stage, held = x.dag.stages[place], x.dag.held[place, machine]
    local = held.head
    while local >= 0:
        x.dag.tasks[local].output = LOST
        _tell_children(w, x, local, 1)
        local = x.dag.tasks[local].next
    stage.available -= held.outputs
    stage.in_memory -= held.outputs
    stage.lost += held.outputs
    x.dag.ep[0].lost += held.outputs
    held.outputs, held.head, held.recomputation = 0, -1, 0


@called
def settled(w: World, x: View, local: int) -> None:
    """A task has settled: it waits for no output any more."""
    if not has_dags(w) or x.dag.tasks[local].stage < 0:
        return
    task = x.dag.tasks[local]
    x.dag.stages[task.stage].unsettled -= 1
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        if not edge.wide and stage_of(x, edge.stage) >= 0:
            first, past = parents(edge, task.position)
            for position in range(first, past):
                parent = maker_of(w, x, edge, position)
                if parent >= 0:  # the others count who waits for them when they have their states
                    x.dag.tasks[parent].waiting -= 1


@called
def wanted_again(x: View, local: int) -> None:
    """A lost output is to be made again."""
    task = x.dag.tasks[local]
    task.again = WANTED
    x.dag.stages[task.stage].again += 1
    x.dag.stages[task.stage].lost -= 1
    x.dag.ep[0].lost -= 1


@called
def recomputation_started(w: World, x: View, local: int) -> None:
    """A recomputation starts: it reads its inputs, and needs them no more."""
    x.dag.tasks[local].again = STARTED
    x.dag.stages[x.dag.tasks[local].stage].again -= 1


@called
def recomputation_lost(w: World, x: View, local: int) -> None:
    """A recomputation ends without its output, or is not wanted any more: it may be demanded."""
    task = x.dag.tasks[local]
    if task.again == NOT:
        return
    if task.again == WANTED:
        x.dag.stages[task.stage].again -= 1
    task.again = NOT
    x.dag.stages[task.stage].lost += 1
    x.dag.ep[0].lost += 1


@called
def _needed(w: World, x: View, local: int) -> bool:
    """Has a child task not settled, or is one to be recomputed and has not started yet?"""
    task = x.dag.tasks[local]
    if task.waiting > 0:
        return True
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        place = stage_of(x, edge.stage)
        if place < 0:
            continue
        if edge.wide and (x.dag.stages[place].unsettled > 0 or x.dag.stages[place].again > 0):
            return True
        if edge.wide or x.dag.stages[place].again == 0:
            continue
        first, past = children(edge, task.position)
        for position in range(first, past):
            child = local_of(w, x, edge, position)
            if child >= 0 and x.dag.tasks[child].again == WANTED:
                return True
    return False


@called
def output_wanted(w: World, x: View, local: int) -> bool:
    """Is the agent asked whether to save the output that a task has just put into memory?"""
    if not w.parameters[0].save_outputs or not has_dags(w) or not x.tasks[local].asked:
        return False
    return x.dag.tasks[local].output == IN_MEMORY and _needed(w, x, local)


@called
def output_writing(w: World, x: View, local: int) -> None:
    """The output of a task begins to be written."""
    x.dag.stages[x.dag.tasks[local].stage].saving += w.tasks[x.tasks[local].task].output


@called
def output_unwritten(w: World, x: View, local: int) -> None:
    """The write of an output is lost."""
    x.dag.stages[x.dag.tasks[local].stage].saving -= w.tasks[x.tasks[local].task].output


@called
def output_saved(w: World, x: View, local: int, duration: int) -> None:
    """An output is on stable storage, after a write of so many ms: nothing can take it away."""
    task = x.dag.tasks[local]
    task.output, task.saved_at = SAVED, x.ep.now
    x.dag.ep[0].unsaved -= 1
    x.dag.held[task.stage, task.machine].saved_at = x.ep.now
    _unlink(x, local)
    stage = x.dag.stages[task.stage]
    begin = (
        w.dags.task_at[task.stage + x.dag.ep[0].first_stage]
        - w.dags.task_at[x.dag.ep[0].first_stage]
    )
    wanted = (19 * (stage.writes + 1) + 19) // 20  # the 95th percentile
    stage.low = insert(
        x.dag.written, begin, begin + stage.tasks, stage.low, stage.writes, duration, wanted
    )
    stage.writes += 1
