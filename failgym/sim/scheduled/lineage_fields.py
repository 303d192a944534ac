"""The lineage fields of the observation (`failgym.sim.fields`)."""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from failgym.sim.fields import HIGH, INDEX, LOW
from failgym.sim.jit import called
from failgym.sim.records import Decision
from failgym.sim.scheduled.dags import children, has_dags, local_of, stage_of

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["observe_lineage"]

_LEVEL, _WAITING, _SIZE = INDEX["level"], INDEX["waiting_children"], INDEX["output_size"]
_BUDGET, _RUNTIME = INDEX["stage_budget"], INDEX["runtime_over_median"]
_P95, _AGAIN = INDEX["checkpoint_p95"], INDEX["recomputation_cost"]
_OUTPUT = int(Decision.OUTPUT)
_MINUTE = 60_000.0


@called
def _put(obs: Any, i: int, value: float) -> None:
    """Store a field, clipped to its bounds."""
    obs[i] = min(max(np.float32(value), LOW[i]), HIGH[i])


@called
def _waiting_children(w: World, x: View, local: int) -> int:
    """Child tasks that have not settled."""
    task = x.dag.tasks[local]
    stage = task.stage + x.dag.ep[0].first_stage
    waiting = 0
    for k in range(w.dags.out_at[stage], w.dags.out_at[stage + 1]):
        edge = w.dags.out[k]
        place = stage_of(x, w.dags.child[edge])
        if place < 0:
            continue
        if w.dags.wide[edge]:
            waiting += x.dag.stages[place].unsettled
            continue
        first, past = children(w, edge, task.position)
        for position in range(first, past):
            child = local_of(w, x, w.dags.child[edge], position)
            if child >= 0 and not x.tasks[child].settled:
                waiting += 1
    return waiting


@called
def observe_lineage(w: World, x: View, local: int, age: int, median: int, obs: Any) -> None:
    """Write the lineage fields of the open decision.

    Args:
        age: time since the attempt started [ms].
        median: of the run times of the job's finished tasks [ms], 0 if there are none.
    """
    if not has_dags(w) or x.dag.tasks[local].stage < 0:
        for field in range(_LEVEL, _AGAIN + 1):
            obs[field] = 0.0
        return
    task = x.dag.tasks[local]
    stage, row = x.dag.stages[task.stage], task.stage + x.dag.ep[0].first_stage
    budget, p95, again = 1.0, 0.0, 0.0
    if w.dags.bytes_in[row] > 0:
        budget = min(stage.saving / w.dags.bytes_in[row], 1.0)
    if stage.writes > 0:
        p95 = x.dag.written[w.dags.task_at[row] - w.dags.task_at[x.dag.ep[0].first_stage]]
    if x.ep.decision == _OUTPUT:
        again = task.recomputation
    _put(obs, _LEVEL, math.log2(1.0 + w.dags.level[row]))
    _put(obs, _WAITING, math.log2(1.0 + _waiting_children(w, x, local)))
    _put(obs, _SIZE, math.log2(1.0 + max(w.tasks[x.tasks[local].task].output, 0)))
    _put(obs, _BUDGET, budget)
    _put(obs, _RUNTIME, age / median if median > 0 else 0.0)
    _put(obs, _P95, math.log2(1.0 + p95 / _MINUTE))
    _put(obs, _AGAIN, math.log2(1.0 + again / _MINUTE))
