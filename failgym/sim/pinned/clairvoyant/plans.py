"""The cheapest plans of tasks of known fate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.clairvoyant.records import CHOICE, FOUND, Bound
from failgym.sim.pinned.clairvoyant.search import search_all
from failgym.sim.pinned.records import World
from failgym.sim.pinned.state import make_state
from failgym.sim.shared.rules import Rules

__all__ = ["SEARCH_LIMIT", "clairvoyant", "clairvoyant_costs"]

SEARCH_LIMIT = 2_000_000
"""Decisions that the search for the bound of one task may answer, about a second's worth."""


def clairvoyant(
    world: World, rules: Rules, tasks: npt.NDArray[np.int64], limit: int = SEARCH_LIMIT
) -> Bound:
    """Find the cheapest plan of each task, knowing the record.

    Args:
        world: a compiled world; its parameters say what may be decided and what is charged.
        rules: the rules that it was compiled for.
        tasks: trace rows of tasks of known fate [tasks].
        limit: decisions that the search for the plan of one task may answer.

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
    state = make_state(single, rules, depth + 1, "task")
    path, plans = np.zeros(depth, dtype=CHOICE), np.zeros((n, depth), dtype=CHOICE)
    found = np.zeros(n, dtype=FOUND)
    search_all(single, state, path, found, plans, limit)
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
