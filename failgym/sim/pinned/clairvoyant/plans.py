"""The cheapest plans of tasks of known fate."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import local

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.clairvoyant.records import CHOICE, FOUND, Bound
from failgym.sim.pinned.clairvoyant.search import search_all
from failgym.sim.pinned.records import World
from failgym.sim.pinned.state import make_state
from failgym.sim.shared.rules import Rules

__all__ = ["SEARCH_LIMIT", "clairvoyant", "clairvoyant_costs"]

SEARCH_LIMIT = 2_000_000
"""Decisions that the search for the bound of one task may answer, about a tenth of a second's
worth."""
_TOGETHER = 64
"""Tasks that a thread searches before it asks for more (chosen): a few of many take nearly all the
time."""
_MOST_THREADS = 8


def clairvoyant(
    world: World,
    rules: Rules,
    tasks: npt.NDArray[np.int64],
    limit: int = SEARCH_LIMIT,
    threads: int = 0,
) -> Bound:
    """Find the cheapest plan of each task, knowing the record.

    What is found depends on the task alone, not on how many threads look for it.

    Args:
        world: a compiled world; its parameters say what may be decided and what is charged.
        rules: the rules that it was compiled for.
        tasks: trace rows of tasks of known fate [tasks].
        limit: decisions that the search for the plan of one task may answer.
        threads: as many search; 0 for as many as there are processors, at most 8.

    Raises:
        ValueError: if the fate of a task is not known.
    """
    tasks = np.asarray(tasks, dtype=np.int64)
    if world.tasks["censored"][tasks].any():
        raise ValueError("tasks: expected tasks of known fate, got one cut by the end of the data")
    n = len(tasks)
    single = world._replace(order=tasks, slices=np.arange(n + 1, dtype=np.int64))
    longest = int(world.tasks["rows"][tasks].max(initial=1))
    depth = 2 * (longest + rules.max_extra + rules.most_unrecorded) + 32
    plans, found, room = np.zeros((n, depth), dtype=CHOICE), np.zeros(n, dtype=FOUND), local()

    def search(first: int) -> None:
        """Search the plans of some tasks, with room of the thread's own."""
        if not hasattr(room, "state"):
            room.state = make_state(single, rules, depth + 1, "task")
            room.path = np.zeros(depth, dtype=CHOICE)
        some = slice(first, first + _TOGETHER)
        part = single._replace(order=tasks[some])
        search_all(part, room.state, room.path, found[some], plans[some], limit)

    first, *others = range(0, max(n, 1), _TOGETHER)
    search(first)  # alone: it may be compiled
    with ThreadPoolExecutor(threads or min(os.cpu_count() or 1, _MOST_THREADS), "failgym") as pool:
        list(pool.map(search, others))
    return Bound(
        costs=found["terms"].copy(),
        exact=found["exact"].copy(),
        lowest=found["lowest"].copy(),
        decisions=found["decisions"].copy(),
        choices=found["choices"].copy(),
        searched=found["nodes"].copy(),
        plans=plans[:, : int(found["choices"].max(initial=0))].copy(),
    )


def clairvoyant_costs(
    world: World, rules: Rules, tasks: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Cost terms of each task under its cheapest plan, [tasks, 5]: `Bound.costs`."""
    return clairvoyant(world, rules, tasks).costs
