"""Memory that the next episodes will read, asked for in time, as in the pinned world."""

from __future__ import annotations

import numpy as np

from failgym.sim.scheduled.cluster.ranking import run_of
from failgym.sim.scheduled.records import RUN, TASK_STATE, Part, State, World
from failgym.sim.scheduled.rules import SCHEDULERS
from failgym.sim.scheduled.workflow.dags import DAG_TASK
from failgym.sim.shared.ahead import PARTS, RECORDS, STATES
from failgym.sim.shared.jit import LINE, kernel, list_at, prefetch
from failgym.sim.shared.records import EVENT

__all__ = ["look_ahead"]

_TASKS, _RUNS, _HEAP = int(Part.TASKS), int(Part.RUNS), int(Part.HEAP)
_DAG_TASKS, _RANKED = int(Part.DAG_TASKS), int(Part.RANKED)
_BY_RANK = SCHEDULERS.index("rank_hybd")


@kernel
def _states(w: World, s: State, e: int) -> None:
    """What an episode holds of its decision, and its calendar."""
    ep, at = s.episodes[e], s.places[e]
    prefetch(list_at(at[_TASKS, 0], at[_TASKS, 1], TASK_STATE), ep.local)
    prefetch(list_at(at[_RUNS, 0], at[_RUNS, 1], RUN), ep.run)
    prefetch(list_at(at[_DAG_TASKS, 0], at[_DAG_TASKS, 1], DAG_TASK), ep.local)
    heap = list_at(at[_HEAP, 0], at[_HEAP, 1], EVENT)
    prefetch(heap, 0)
    prefetch(heap, 2)
    prefetch(s.dags, e)
    if w.parameters[0].scheduler == _BY_RANK:
        prefetch(list_at(at[_RANKED, 0], at[_RANKED, 1], np.int64), 0)


@kernel
def _records(w: World, s: State, e: int) -> None:
    """What the next event is about, and what the world holds of the decision."""
    ep, at = s.episodes[e], s.places[e]
    if ep.done:
        return
    tasks = list_at(at[_TASKS, 0], at[_TASKS, 1], TASK_STATE)
    runs = list_at(at[_RUNS, 0], at[_RUNS, 1], RUN)
    prefetch(w.tasks, tasks[ep.local].task)
    prefetch(w.request, tasks[ep.local].task)
    prefetch(w.rows, runs[ep.run].row)
    if ep.events > 0:
        event = list_at(at[_HEAP, 0], at[_HEAP, 1], EVENT)[0]
        prefetch(tasks, event.local)
        prefetch(runs, event.run)
        prefetch(list_at(at[_DAG_TASKS, 0], at[_DAG_TASKS, 1], DAG_TASK), event.local)
    if w.parameters[0].scheduler == _BY_RANK and s.dags[e].ranked > 0:
        prefetch(runs, run_of(list_at(at[_RANKED, 0], at[_RANKED, 1], np.int64)[0]))


@kernel
def _next_by_rank(w: World, s: State, e: int) -> None:
    """What is read when a pass turns to the run that comes first by rank."""
    ep, at = s.episodes[e], s.places[e]
    first = run_of(list_at(at[_RANKED, 0], at[_RANKED, 1], np.int64)[0])
    run = list_at(at[_RUNS, 0], at[_RUNS, 1], RUN)[first]
    task = w.members[w.member_at[ep.slice] + run.local]
    prefetch(list_at(at[_TASKS, 0], at[_TASKS, 1], TASK_STATE), run.local)
    prefetch(list_at(at[_DAG_TASKS, 0], at[_DAG_TASKS, 1], DAG_TASK), run.local)
    prefetch(w.rows, run.row)
    prefetch(w.tasks, task)
    prefetch(w.request, task)
    prefetch(w.dags.rank, task)
    prefetch(w.dags.stages, w.dags.stage[task])
    if len(w.dags.costs) > 0:
        costs = w.dags.costs[task]
        for machine in range(0, len(costs), LINE // 8):
            prefetch(costs, machine)


@kernel
def _parts(w: World, s: State, e: int) -> None:
    """What the world holds of the next event, and of the run that is next in the queue."""
    ep, at = s.episodes[e], s.places[e]
    if ep.done:
        return
    runs = list_at(at[_RUNS, 0], at[_RUNS, 1], RUN)
    if ep.events > 0:
        event = list_at(at[_HEAP, 0], at[_HEAP, 1], EVENT)[0]
        if event.run >= 0:
            row = runs[event.run].row
            prefetch(w.rows, row)
            prefetch(w.tasks, list_at(at[_TASKS, 0], at[_TASKS, 1], TASK_STATE)[event.local].task)
    first = s.queues[e, 0, 0]
    if w.parameters[0].scheduler == _BY_RANK:
        if s.dags[e].ranked > 0:
            _next_by_rank(w, s, e)
    elif first >= 0:
        prefetch(runs, first)
        prefetch(list_at(at[_TASKS, 0], at[_TASKS, 1], TASK_STATE), runs[first].local)


@kernel
def look_ahead(w: World, s: State, e: int, end: int) -> None:
    """Before episode ``e`` goes on: ask for what the next ones, up to ``end``, will read."""
    if e + STATES < end:
        _states(w, s, e + STATES)
    if e + RECORDS < end:
        _records(w, s, e + RECORDS)
    if e + PARTS < end:
        _parts(w, s, e + PARTS)
