"""States of tasks at the beginning: a task has one from when something first happens to it.

Until then it is as the world says, has not settled, and has no attempt and no output. So an episode
that has just begun costs little, however many tasks are to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.workflow.dags import (
    IN_MEMORY,
    NOT_MADE,
    OFF_STACK,
    SAVED,
    children,
    has_dags,
    local_of,
    parents,
    stage_of,
)
from failgym.sim.shared.jit import called
from failgym.vocabulary import NEVER

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["clear_account", "prepare"]


@called
def clear_account(ep: Any) -> None:
    """Put the accounts of a task, or of an episode, at 0."""
    ep.useful, ep.lost, ep.redundant, ep.ghost = 0, 0, 0, 0
    ep.checkpoint, ep.restore, ep.transfer = 0, 0, 0


@called
def _clear_task(w: World, task: Any, at: int) -> None:
    """Put a task state at its beginning; ``at`` is the task's place among the members."""
    record, own = w.tasks[w.members[at]], w.member_own[at]
    task.task, task.own, task.job = w.members[at], own, w.member_job[at]
    task.remaining = w.member_remaining[at]
    task.asked = own and not record.censored and not record.background
    task.next, task.live, task.first_run, task.last_run, task.ended = 0, 0, -1, -1, -1
    task.queued, task.blocked, task.due = 0, 0, 0
    task.departed, task.settled, task.given_up = True, False, False
    task.armed, task.killed, task.pending, task.failed = False, False, False, False
    task.declined, task.own_failures, task.drawn_failures = False, 0, 0
    task.last_outcome, task.outcome, task.end, task.last_ending = -1, -1, -1, 0
    task.ghosts, task.extra, task.clones, task.retries = 0, 0, 0, 0
    task.checkpoints, task.failures, task.attempts, task.decisions = 0, 0, 0, 0
    task.owed_external, task.owed_failure, task.stamp = 0, 0, 0
    task.flagged, task.durable, task.durable_work, task.most_durable = 0.0, 0.0, 0, 0
    task.best_run, task.best_amount = -1, 0
    task.first_start, task.waited, task.loss = NEVER, 0, 0
    task.evictions, task.outages, task.recomputations = 0, 0, 0
    task.output_saved = False
    clear_account(task)
    task.unknown = 0
    for kind in range(3):
        task.saved[kind] = 0


@called
def _clear_output(w: World, x: View, local: int) -> None:
    """Put what is known of the output of a task at its beginning."""
    row = x.tasks[local].task
    task, stage = x.dag.tasks[local], w.dags.stage[row]
    task.stage, task.position = -1, w.dags.position[row]
    task.missing, task.waiting, task.output, task.again = 0, 0, NOT_MADE, 0
    task.machine, task.next, task.before = -1, -1, -1
    task.stack_next, task.stack_before, task.mark = -1, OFF_STACK, 0
    task.saved_at, task.recomputation, task.run, task.number = -1, 0, -1, -1
    if stage >= 0:
        task.stage = stage - x.dag.ep[0].first_stage


@called
def _is_missing(x: View, local: int) -> bool:
    """Has a task of the episode no output that can be read?"""
    return local >= x.ep.prepared or x.dag.tasks[local].output not in (IN_MEMORY, SAVED)


@called
def _count_missing(w: World, x: View, local: int) -> None:
    """Count the parent tasks by narrow edges that have no output as yet."""
    task = x.dag.tasks[local]
    if task.stage < 0:
        return
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].inputs_from, w.dags.stages[stage].inputs_to):
        edge = w.dags.inputs[k]
        if not edge.wide and stage_of(x, edge.stage) >= 0:
            first, past = parents(edge, task.position)
            for position in range(first, past):
                parent = local_of(w, x, edge, position)
                if parent >= 0 and _is_missing(x, parent):
                    task.missing += 1


@called
def _count_waiting(w: World, x: View, local: int) -> None:
    """Count the child tasks by narrow edges that have not settled."""
    task = x.dag.tasks[local]
    if task.stage < 0:
        return
    stage = task.stage + x.dag.ep[0].first_stage
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        if not edge.wide and stage_of(x, edge.stage) >= 0:
            first, past = children(edge, task.position)
            for position in range(first, past):
                child = local_of(w, x, edge, position)
                if child >= x.ep.prepared or (child >= 0 and not x.tasks[child].settled):
                    task.waiting += 1


@called
def prepare(w: World, x: View, local: int) -> None:
    """Give a task its state, and those before it."""
    at = w.member_at[x.ep.slice]
    while x.ep.prepared <= local:
        this = x.ep.prepared
        _clear_task(w, x.tasks[this], at + this)
        if has_dags(w):
            _clear_output(w, x, this)
            _count_missing(w, x, this)
            _count_waiting(w, x, this)
        x.ep.prepared += 1
