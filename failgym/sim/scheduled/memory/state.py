"""Room for the state of episodes of the scheduled world."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.memory.rooms import Rooms
from failgym.sim.scheduled.memory.snapshots import Snapshots
from failgym.sim.scheduled.queue.estimates import EASY, make_history
from failgym.sim.scheduled.records import (
    BINS,
    COUNTED,
    EPISODE,
    LEVELS,
    MACHINE_STATE,
    Part,
    State,
    World,
)
from failgym.sim.scheduled.workflow.dags import DAG_EPISODE

__all__ = ["make_state", "needs_of", "taken_state"]

FIRST_RUNS = 64
"""Attempts in memory at once that there is room for at first; it grows."""
Ints = npt.NDArray[np.int64]


def _of_slices(ufunc: np.ufunc, values: npt.NDArray[Any], at: Ints, none: int) -> Ints:
    """Of each stretch of a list its sum, least or largest value; ``none`` of one without values."""
    found = np.full(len(at) - 1, none, dtype=np.int64)
    filled = np.diff(at) > 0
    if filled.any():
        found[filled] = ufunc.reduceat(values, at[:-1][filled], dtype=np.int64)
    return found


def _dag_needs(world: World, tasks: Ints) -> dict[Part, Ints | int]:
    """Lengths of the arrays about workflows."""
    dags, members, at = world.dags, world.members, world.member_at
    staged = dags.stage[members] >= 0
    stage, stage_at = dags.stage[members[staged]], np.concatenate([[0], np.cumsum(staged)])[at]
    first, last = (_of_slices(f, stage, stage_at, none) for f, none in LOWEST_AND_HIGHEST)
    low, high = (_of_slices(f, members, at, none) for f, none in LOWEST_AND_HIGHEST)
    stages = last - first + 1
    return {
        Part.DAG_TASKS: tasks,
        Part.STAGES: stages,
        Part.HELD: stages * len(world.machines),
        Part.LOCAL_OF: high - low + 1,
        Part.LISTED: tasks,
        Part.WRITTEN: dags.task_at[last + 1] - dags.task_at[first],
    }


LOWEST_AND_HIGHEST = ((np.minimum, 0), (np.maximum, -1))


def _burst(world: World) -> Ints:
    """Most tasks of each slice that arrive at one time: in a workflow all may wait at once."""
    time, at = world.tasks["submit"][world.members], world.member_at
    begins = np.ones(len(time), dtype=np.bool_)
    begins[1:] = time[1:] != time[:-1]
    begins[at[:-1][at[:-1] < len(time)]] = True
    first = np.flatnonzero(begins)
    sizes = np.diff(np.append(first, len(time)))
    return _of_slices(np.maximum, sizes, np.searchsorted(first, at), 0)


def needs_of(world: World, log: bool = False) -> Ints:
    """Lengths of the arrays that an episode begins with, [slices, parts].

    What depends on how many attempts and events there are at once grows from there.
    """
    p, machines = world.parameters[0], len(world.machines)
    slots = int(p["slots"])
    tasks = np.diff(world.member_at)
    standing = _of_slices(np.add, world.member_remaining >= 0, world.member_at, 0)
    runs = FIRST_RUNS + 2 * standing + (_burst(world) if p["stages"] else 0)
    needs: dict[Part, Ints | int] = {
        Part.TASKS: tasks,
        Part.RUNS: runs,
        Part.HEAP: 8 * (FIRST_RUNS + np.minimum(tasks, slots)) + machines,
        Part.LOG: 8 * (runs + tasks) if log else 0,
        Part.PLACEMENTS: runs + (np.minimum(slots, machines * runs) if p["gangs"] else 0),
        Part.JOBS: _of_slices(np.maximum, world.member_job, world.member_at, -1) + 1,
        Part.DURATIONS: tasks,
        Part.QUERIES: runs * machines if log and p["place"] else 0,
        Part.LIVE: runs if p["scheduler"] == EASY else 0,
        **dict.fromkeys((Part.WRITES, Part.RANKED, Part.PICKED), runs),
        **(_dag_needs(world, tasks) if len(world.dags.stages) else {}),
    }
    table = np.zeros((len(tasks), len(Part)), dtype=np.int64)
    for part, lengths in needs.items():
        table[:, part] = lengths
    most = table.max(axis=0, initial=0)
    if len(table) and most[Part.TASKS] <= 2 * table[:, Part.TASKS].mean():
        table[:] = most  # slices of about one size: an episode keeps its arrays
    return table


def make_state(world: World, episodes: int, rooms: Rooms, snapshots: Snapshots) -> State:
    """The state of a number of episodes of a world, of which none has begun."""
    n, machines = episodes, len(world.machines)
    leaves = 1 << max(machines - 1, 1).bit_length()
    over = np.zeros(n, dtype=EPISODE)
    over["done"] = True
    return State(
        episodes=over,
        places=rooms.places,
        needs=rooms.needs,
        most=rooms.most,
        shared=snapshots.wanted,
        machines=np.zeros((n, machines), dtype=MACHINE_STATE),
        tree=np.zeros((n, 2 * leaves), dtype=np.int64),
        queues=np.zeros((n, LEVELS, 2), dtype=np.int32),
        levels=np.zeros((n, LEVELS), dtype=np.int32),
        counters=np.zeros((n, BINS, COUNTED), dtype=np.int64),
        dags=np.zeros(n, dtype=DAG_EPISODE),
        finish=np.zeros((n, machines), dtype=np.int64),
        history=make_history(world.parameters[0], n),
    )


def taken_state(state: State, episodes: Ints, rooms: Rooms) -> State:
    """The state of copies of some episodes, whose other arrays are in these rooms."""
    return state._replace(
        episodes=state.episodes[episodes],
        places=rooms.places,
        machines=state.machines[episodes],
        tree=state.tree[episodes],
        queues=state.queues[episodes],
        levels=state.levels[episodes],
        counters=state.counters[episodes],
        dags=state.dags[episodes],
        finish=state.finish[episodes],
        history=state.history._make(array[episodes] for array in state.history),
    )
