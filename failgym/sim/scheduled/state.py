"""Room for the state of episodes of the scheduled world, and how it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.memory import check_room
from failgym.sim.records import EVENT
from failgym.sim.scheduled.dag_state import make_dag_state
from failgym.sim.scheduled.estimates import make_history
from failgym.sim.scheduled.records import (
    BINS,
    COUNTED,
    EPISODE,
    JOB_STATE,
    LEVELS,
    MACHINE_STATE,
    PLACEMENT,
    QUERY,
    RUN,
    TASK_STATE,
    WRITE,
    Short,
    State,
    World,
)
from failgym.vocabulary import LOG

__all__ = ["grown", "make_state"]

FIRST_RUNS = 64
"""Attempts in memory at once that there is room for at first; it grows."""


def _most(world: World, values: npt.NDArray[Any]) -> int:
    """Largest sum over an episode of a number of each of its tasks."""
    first, last = world.member_at[:-1], world.member_at[1:]
    there = first < last
    if not there.any():
        return 0
    return int(np.add.reduceat(values, first[there], dtype=np.int64).max())


def make_state(world: World, episodes: int, log: bool = False) -> State:
    """Room for a number of episodes of a world; none of them has begun."""
    n, machines = episodes, len(world.machines)
    tasks = max(int(np.diff(world.member_at).max(initial=0)), 1)
    standing = _most(world, world.member_remaining >= 0)
    staged = bool(world.parameters["stages"][0])
    runs = FIRST_RUNS + 2 * (tasks if staged else standing)
    slots = int(world.parameters["slots"][0])
    events = 8 * (FIRST_RUNS + min(tasks, slots)) + machines
    leaves = 1 << max(machines - 1, 1).bit_length()
    gangs, placing = bool(world.parameters["gangs"][0]), bool(world.parameters["place"][0])
    parts = min(slots, machines * runs) if gangs else 0
    over = np.zeros(n, dtype=EPISODE)
    over["done"] = True
    return State(
        episodes=over,
        tasks=np.zeros((n, tasks), dtype=TASK_STATE),
        runs=np.zeros((n, runs), dtype=RUN),
        heap=np.zeros((n, events), dtype=EVENT),
        log=np.zeros((n, 8 * (runs + tasks) if log else 0), dtype=LOG),
        machines=np.zeros((n, machines), dtype=MACHINE_STATE),
        tree=np.zeros((n, 2 * leaves), dtype=np.int64),
        placements=np.zeros((n, runs + parts), dtype=PLACEMENT),
        queues=np.zeros((n, LEVELS, 2), dtype=np.int32),
        levels=np.zeros((n, LEVELS), dtype=np.int32),
        jobs=np.zeros((n, int(world.member_job.max(initial=0)) + 1), dtype=JOB_STATE),
        writes=np.zeros((n, runs), dtype=WRITE),
        counters=np.zeros((n, BINS, COUNTED), dtype=np.int64),
        durations=np.zeros((n, tasks), dtype=np.int64),
        queries=np.zeros((n, runs * machines if log and placing else 0), dtype=QUERY),
        ranked=np.zeros((n, runs), dtype=np.int32),
        picked=np.zeros((n, runs), dtype=np.int32),
        dag=make_dag_state(world.dags, n, machines, world.members, world.member_at),
        history=make_history(world.parameters[0], n, runs),
    )


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array with twice as many columns."""
    return np.concatenate([array, np.zeros_like(array)], axis=1)


_GROWING = {
    Short.RUNS: ("runs", "placements", "writes", "ranked", "picked"),
    Short.EVENTS: ("heap",),
    Short.LOG: ("log",),
    Short.QUERIES: ("queries",),
}
"""The arrays of a `State` that grow together."""


def grown(state: State) -> State:
    """The same state with twice the room for what an episode that is full has too little for.

    Raises MemoryError, in one line, if there is no room for that.
    """
    episodes = state.episodes
    wanted = {Short(short) for short in episodes["short"][episodes["full"] != 0].tolist()}
    names = [name for short in wanted for name in _GROWING[short]]
    needed = sum(2 * getattr(state, name).nbytes for name in names)
    check_room(needed, f"more {' and '.join(sorted(names))} of {len(episodes)} episodes at once")
    more = state._replace(**{name: _doubled(getattr(state, name)) for name in names})
    if Short.RUNS in wanted:
        more = more._replace(history=more.history._replace(live=_doubled(more.history.live)))
    return more
