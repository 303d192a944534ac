"""A part of a compiled world: what its slices need, and no more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.ranges import begins, joined_ranges
from failgym.sim.pinned.records import World

__all__ = ["part_of"]

Ints = npt.NDArray[np.int64]


def part_of(world: World, slices: Ints) -> tuple[World, Ints]:
    """The world of some slices: their tasks with the rows, risks and usage of these.

    Nothing that happens in these slices is any other: what is drawn of a task goes by keys that it
    keeps, and of other tasks it is only seen when those of its job end, which is kept of all.

    Args:
        world: with slices.
        slices: which ones, each once; they are numbered anew, in this order.

    Returns:
        The world, and the number in ``world.tasks`` that each of its tasks had [tasks], ascending.
    """
    sizes = np.diff(world.slices)[slices]
    order = world.order[joined_ranges(world.slices[slices], sizes)]
    tasks = np.unique(order)
    records = world.tasks[tasks]
    rows = world.rows[joined_ranges(records["rows_at"], records["rows"])]
    records["rows_at"] = begins(records["rows"])
    risk = world.risk[joined_ranges(rows["risk_at"], rows["risks"])]
    usage = joined_ranges(rows["usage_at"], rows["usages"])
    rows["risk_at"], rows["usage_at"] = begins(rows["risks"]), begins(rows["usages"])
    of_tasks = world.alarms.tasks
    part = world._replace(
        tasks=records,
        rows=rows,
        order=np.searchsorted(tasks, order),
        slices=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        risk=np.append(risk, np.float32(0)),
        usage=world.usage[usage],
        usage_known=world.usage_known[usage],
        request=world.request[tasks],
        beyond=world.beyond[tasks] if len(world.beyond) else world.beyond,
        alarms=world.alarms._replace(tasks=of_tasks[tasks] if len(of_tasks) else of_tasks),
    )
    return part, tasks
