"""Episodes of a world, as many as there is memory for."""

from __future__ import annotations

from failgym.memory import SMALL, available, size_text
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.rules import Order, Rules
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = ["batch_of", "lanes_that_fit", "make_batch"]

STATE_BYTES = 1 << 29
"""Memory that episodes which are played side by side may begin with [bytes]."""


def make_batch(
    world: World, rules: Rules, episodes: int, order: Order = "task", threads: int = 1
) -> EpisodeBatch:
    """N episodes of a world; the arguments are those of `World.batch`.

    Raises:
        MemoryError: in one line that says how many fit, if there is no room for so many.
    """
    each = world.batch(rules, 0, order, 1).bytes_each
    free = available()
    if free is not None and each * episodes > max(free, SMALL):
        raise _no_room(episodes, each, free)
    try:
        return world.batch(rules, episodes, order, threads)
    except MemoryError as error:
        raise _no_room(episodes, each, free) from error


def _no_room(episodes: int, each: int, free: int | None) -> MemoryError:
    taken = f"{episodes:,} episodes at once take {size_text(each * episodes)} of memory"
    taken += f" to begin with ({size_text(each)} each)"
    if free is None:
        return MemoryError(f"{taken}, more than there is: expected fewer (num_envs)")
    fit = free // max(each, 1)
    return MemoryError(f"{taken}, {size_text(free)} are free: expected at most {fit:,} (num_envs)")


def lanes_that_fit(world: World, rules: Rules, wanted: int, order: Order = "task") -> int:
    """As many episodes at once as are wanted, or as begin within `STATE_BYTES`; at least one."""
    each = world.batch(rules, 0, order, 1).bytes_each
    return max(1, min(wanted, STATE_BYTES // max(each, 1)))


def batch_of(scenario: Scenario, world: World, episodes: int, threads: int = 1) -> EpisodeBatch:
    """N episodes of the world of a scenario."""
    return make_batch(world, scenario, episodes, scenario.order, threads)
