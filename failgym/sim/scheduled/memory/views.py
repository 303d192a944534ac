"""One episode of a state, as kernels see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from failgym.sim.scheduled.queue.estimates import LIVE, history_of
from failgym.sim.scheduled.records import (
    JOB_STATE,
    PLACEMENT,
    QUERY,
    RUN,
    TASK_STATE,
    WRITE,
    Part,
    View,
)
from failgym.sim.scheduled.workflow.dags import DAG_STAGE, DAG_TASK, HELD, DagState
from failgym.sim.shared.jit import kernel, list_at, pasted, table_at
from failgym.sim.shared.records import EVENT
from failgym.vocabulary import LOG

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import State

__all__ = ["view_of"]

_TASKS, _RUNS, _HEAP, _LOG = int(Part.TASKS), int(Part.RUNS), int(Part.HEAP), int(Part.LOG)
_PLACEMENTS, _JOBS, _WRITES = int(Part.PLACEMENTS), int(Part.JOBS), int(Part.WRITES)
_DURATIONS, _QUERIES, _LIVE = int(Part.DURATIONS), int(Part.QUERIES), int(Part.LIVE)
_RANKED, _PICKED, _DAG_TASKS = int(Part.RANKED), int(Part.PICKED), int(Part.DAG_TASKS)
_STAGES, _HELD, _LOCAL_OF = int(Part.STAGES), int(Part.HELD), int(Part.LOCAL_OF)
_LISTED, _WRITTEN = int(Part.LISTED), int(Part.WRITTEN)


@kernel
def _dags_of(s: State, e: int, at: Any) -> DagState:
    """The workflows of one episode, whose arrays are at these places."""
    machines = s.machines.shape[1]
    return DagState(
        s.dags[e : e + 1],
        list_at(at[_DAG_TASKS, 0], at[_DAG_TASKS, 1], DAG_TASK),
        list_at(at[_STAGES, 0], at[_STAGES, 1], DAG_STAGE),
        table_at(at[_HELD, 0], at[_HELD, 1] // machines, machines, HELD),
        list_at(at[_LOCAL_OF, 0], at[_LOCAL_OF, 1], np.int32),
        s.finish[e],
        list_at(at[_LISTED, 0], at[_LISTED, 1], np.int32),
        list_at(at[_WRITTEN, 0], at[_WRITTEN, 1], np.int64),
    )


@pasted
def view_of(s: State, e: int) -> View:
    """One episode of a state."""
    at = s.places[e]
    return View(
        s.episodes[e],
        at,
        s.needs,
        s.most,
        s.shared,
        list_at(at[_TASKS, 0], at[_TASKS, 1], TASK_STATE),
        list_at(at[_RUNS, 0], at[_RUNS, 1], RUN),
        list_at(at[_HEAP, 0], at[_HEAP, 1], EVENT),
        list_at(at[_LOG, 0], at[_LOG, 1], LOG),
        s.machines[e],
        s.tree[e],
        list_at(at[_PLACEMENTS, 0], at[_PLACEMENTS, 1], PLACEMENT),
        s.queues[e],
        s.levels[e],
        list_at(at[_JOBS, 0], at[_JOBS, 1], JOB_STATE),
        list_at(at[_WRITES, 0], at[_WRITES, 1], WRITE),
        s.counters[e],
        list_at(at[_DURATIONS, 0], at[_DURATIONS, 1], np.int64),
        list_at(at[_QUERIES, 0], at[_QUERIES, 1], QUERY),
        list_at(at[_RANKED, 0], at[_RANKED, 1], np.int64),
        list_at(at[_PICKED, 0], at[_PICKED, 1], np.int32),
        _dags_of(s, e, at),
        history_of(s.history, e),
        list_at(at[_LIVE, 0], at[_LIVE, 1], LIVE),
    )
