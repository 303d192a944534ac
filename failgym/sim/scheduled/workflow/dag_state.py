"""How the workflows of an episode begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.workflow.dags import has_dags
from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["begin_dags"]


@called
def _clear_stages(w: World, x: View) -> None:
    """Find the stages of the episode and put them at their beginning."""
    d, at = x.dag.ep[0], w.member_at[x.ep.slice]
    first, last = len(w.dags.stages), -1
    for local in range(x.ep.tasks):
        stage = w.dags.stage[w.members[at + local]]
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
def _enter_task(w: World, x: View, local: int) -> None:
    """Count a task in its stage, and say where it is."""
    row = w.members[w.member_at[x.ep.slice] + local]
    if not x.dag.ep[0].in_order:
        x.dag.local_of[row - x.ep.first_row] = local
    stage = w.dags.stage[row]
    if stage >= 0:
        place = stage - x.dag.ep[0].first_stage
        x.dag.stages[place].tasks += 1
        x.dag.stages[place].unsettled += 1


@called
def _in_order(w: World, x: View) -> bool:
    """Are the tasks of the episode all rows between its first and its last, in their order?"""
    at, local = w.member_at[x.ep.slice], 0
    while local < x.ep.tasks and w.members[at + local] == x.ep.first_row + local:
        local += 1
    return local == x.ep.tasks


@called
def begin_dags(w: World, x: View) -> None:
    """Begin an episode on its slice: no output has been made."""
    d = x.dag.ep[0]
    d.ranked, d.aside, d.one_job = 0, 0, False
    d.unsaved = 0
    if not has_dags(w):
        return
    d.lost, d.mark, d.stack = 0, 0, -1
    d.number = 0
    _clear_stages(w, x)
    d.in_order = _in_order(w, x)
    if not d.in_order:
        for row in range(x.ep.last_row - x.ep.first_row + 1):
            x.dag.local_of[row] = -1
    for local in range(x.ep.tasks):
        _enter_task(w, x, local)
