"""The lineage fields of the observation (`failgym.sim.shared.fields`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.workflow.dags import has_dags, stage_of
from failgym.sim.shared.fields import AT, group_of
from failgym.sim.shared.jit import called
from failgym.sim.shared.observe import log_count, log_minutes, put, ratio
from failgym.vocabulary import Decision

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["observe_lineage"]

_LINEAGE, _LINEAGE_END = group_of("lineage").start, group_of("lineage").stop
_OUTPUT = int(Decision.OUTPUT)


@called
def _waiting_children(w: World, x: View, local: int) -> int:
    """Child tasks that have not settled."""
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    waiting = int(task.waiting)
    for k in range(w.dags.stages[stage].outputs_from, w.dags.stages[stage].outputs_to):
        edge = w.dags.outputs[k]
        if edge.wide and stage_of(x, edge.stage) >= 0:
            waiting += x.dag.stages[stage_of(x, edge.stage)].unsettled
    return waiting


@called
def observe_lineage(w: World, x: View, local: int, age: int, median: int, obs: Any) -> None:
    """Write the lineage fields of the open decision.

    Args:
        age: time since the attempt started [ms].
        median: of the run times of the job's finished tasks [ms], 0 if there are none.
    """
    if not has_dags(w) or x.dag.tasks[local].stage < 0:
        obs[_LINEAGE:_LINEAGE_END] = 0.0
        return
    task = x.dag.tasks[local]
    stage, row = x.dag.stages[task.stage], task.stage + x.dag.ep[0].first_stage
    budget, p95, again = 1.0, 0.0, 0.0
    if w.dags.stages[row].bytes_in > 0:
        budget = min(stage.saving / w.dags.stages[row].bytes_in, 1.0)
    if stage.writes > 0:
        p95 = x.dag.written[w.dags.task_at[row] - w.dags.task_at[x.dag.ep[0].first_stage]]
    if x.ep.decision == _OUTPUT:
        again = task.recomputation
    put(obs, AT.level, log_count(w.dags.stages[row].level))
    put(obs, AT.waiting_children, log_count(_waiting_children(w, x, local)))
    put(obs, AT.output_size, log_count(max(w.tasks[x.tasks[local].task].output, 0)))
    put(obs, AT.stage_budget, budget)
    put(obs, AT.runtime_over_median, ratio(age, median))
    put(obs, AT.checkpoint_p95, log_minutes(p95))
    put(obs, AT.recomputation_cost, log_minutes(again))
