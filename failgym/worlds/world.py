"""One interface to the batches of both worlds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from failgym.memory import SMALL, available, size_text
from failgym.sim import records as pinned
from failgym.sim.batch import Batch
from failgym.sim.outcomes import outcome_table
from failgym.sim.rules import Rules
from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.state import Order
from failgym.worlds.scenario import Scenario

if TYPE_CHECKING:  # whoever stays in the pinned world loads nothing of the other
    from failgym.sim.scheduled import records as scheduled
    from failgym.sim.scheduled.batch import ScheduledBatch

__all__ = [
    "AnyBatch",
    "AnyWorld",
    "batch_of",
    "make_batch",
    "outcomes_of",
    "own_sizes",
    "own_states",
    "own_tasks",
    "slice_count",
]

Ints = npt.NDArray[np.int64]

AnyWorld: TypeAlias = Union[pinned.World, "scheduled.World"]
"""A compiled world of either kind."""
AnyBatch: TypeAlias = Union[Batch, "ScheduledBatch"]
"""Episodes of either world; what they share is what environments and evaluation use."""


def make_batch(
    world: AnyWorld, rules: Rules, episodes: int, order: Order = "task", threads: int = 1
) -> AnyBatch:
    """N episodes of a world; the arguments are those of `Batch`.

    Raises:
        MemoryError: in one line that says how many fit, if there is no room for so many.
    """
    each = _room_of(_batch(world, rules, 0, order, 1))
    free = available()
    if free is not None and each * episodes > max(free, SMALL):
        raise _no_room(episodes, each, free)
    try:
        return _batch(world, rules, episodes, order, threads)
    except MemoryError as error:
        raise _no_room(episodes, each, free) from error


def _no_room(episodes: int, each: int, free: int | None) -> MemoryError:
    taken = f"{episodes:,} episodes at once may take {size_text(each * episodes)} of memory"
    taken += f" ({size_text(each)} each)"
    if free is None:
        return MemoryError(f"{taken}, more than there is: expected fewer (num_envs)")
    fit = free // max(each, 1)
    return MemoryError(f"{taken}, {size_text(free)} are free: expected at most {fit:,} (num_envs)")


def _room_of(batch: AnyBatch) -> int:
    """Memory that an episode of a batch may take, whatever is played in it [bytes]."""
    return sum(_row_bytes(arrays) for arrays in (batch.state, *batch.outputs))


def _row_bytes(arrays: Any) -> int:
    """Bytes for one more row of an array, or of each in a tuple of arrays and tuples."""
    if hasattr(arrays, "dtype"):
        return math.prod(arrays.shape[1:]) * arrays.dtype.itemsize
    return sum(_row_bytes(part) for part in arrays)


def _batch(world: AnyWorld, rules: Rules, episodes: int, order: Order, threads: int) -> AnyBatch:
    if isinstance(world, pinned.World):
        return Batch(world, rules, episodes, order, threads)
    if not isinstance(rules, ScheduledRules):
        raise TypeError("rules: expected ScheduledRules for a scheduled world")
    from failgym.sim.scheduled.batch import ScheduledBatch

    return ScheduledBatch(world, rules, episodes, threads)


def batch_of(scenario: Scenario, world: AnyWorld, episodes: int, threads: int = 1) -> AnyBatch:
    """N episodes of the world of a scenario."""
    return make_batch(world, scenario, episodes, scenario.order, threads)


def slice_count(world: AnyWorld) -> int:
    """How many slices a world has."""
    at = world.slices if isinstance(world, pinned.World) else world.member_at
    return len(at) - 1


def own_sizes(world: AnyWorld) -> Ints:
    """Tasks of each slice that are asked about and charged, [slices]."""
    if isinstance(world, pinned.World):
        return np.diff(world.slices)
    counted = np.concatenate([[0], np.cumsum(world.member_own)])
    return np.diff(counted[world.member_at]).astype(np.int64)


def own_tasks(world: AnyWorld) -> Ints:
    """Trace rows of the tasks that slices ask about, slice after slice."""
    if isinstance(world, pinned.World):
        return world.order
    return world.members[world.member_own]


def own_states(batch: AnyBatch, episode: int) -> npt.NDArray[Any]:
    """TASK_STATE of the tasks that an episode asks about."""
    count = int(batch.state.episodes["tasks"][episode])
    states = batch.state.tasks[episode, :count]
    return states if isinstance(batch, Batch) else states[states["own"]]


def outcomes_of(world: AnyWorld, states: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Outcome table of TASK_STATE records of a world, an array per field."""
    if isinstance(world, pinned.World):
        return outcome_table(world, states)
    from failgym.sim.scheduled.outcomes import outcome_table as scheduled_table

    return scheduled_table(world, states)
