"""Episodes of a world, as many as there is memory for."""

from __future__ import annotations

import math
from typing import Any

from failgym.memory import SMALL, available, size_text
from failgym.sim.batch import EpisodeBatch
from failgym.sim.rules import Rules
from failgym.sim.state import Order
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = ["batch_of", "make_batch"]


def make_batch(
    world: World, rules: Rules, episodes: int, order: Order = "task", threads: int = 1
) -> EpisodeBatch:
    """N episodes of a world; the arguments are those of `World.batch`.

    Raises:
        MemoryError: in one line that says how many fit, if there is no room for so many.
    """
    each = _room_of(world.batch(rules, 0, order, 1))
    free = available()
    if free is not None and each * episodes > max(free, SMALL):
        raise _no_room(episodes, each, free)
    try:
        return world.batch(rules, episodes, order, threads)
    except MemoryError as error:
        raise _no_room(episodes, each, free) from error


def _no_room(episodes: int, each: int, free: int | None) -> MemoryError:
    taken = f"{episodes:,} episodes at once may take {size_text(each * episodes)} of memory"
    taken += f" ({size_text(each)} each)"
    if free is None:
        return MemoryError(f"{taken}, more than there is: expected fewer (num_envs)")
    fit = free // max(each, 1)
    return MemoryError(f"{taken}, {size_text(free)} are free: expected at most {fit:,} (num_envs)")


def _room_of(batch: EpisodeBatch) -> int:
    """Memory that an episode of a batch may take, whatever is played in it [bytes]."""
    return sum(_row_bytes(arrays) for arrays in (batch.state, *batch.outputs))


def _row_bytes(arrays: Any) -> int:
    """Bytes for one more row of an array, or of each in a tuple of arrays and tuples."""
    if hasattr(arrays, "dtype"):
        return math.prod(arrays.shape[1:]) * arrays.dtype.itemsize
    return sum(_row_bytes(part) for part in arrays)


def batch_of(scenario: Scenario, world: World, episodes: int, threads: int = 1) -> EpisodeBatch:
    """N episodes of the world of a scenario."""
    return make_batch(world, scenario, episodes, scenario.order, threads)
