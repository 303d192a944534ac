"""Room for the state of episodes."""

from __future__ import annotations

import numpy as np

from failgym.sim.pinned.records import State, World
from failgym.sim.shared.records import EPISODE, EVENT, RUN, TASK_STATE
from failgym.sim.shared.rules import Order, Rules
from failgym.vocabulary import LOG

__all__ = ["make_state"]


def make_state(world: World, rules: Rules, episodes: int, order: Order, log: bool = False) -> State:
    """Room for a number of episodes over any slice of a world."""
    extra = rules.most_unrecorded
    per_task = world.tasks["rows"][world.order].astype(np.int64) + extra
    sizes = np.diff(world.slices)
    tasks = int(sizes.max(initial=1))
    runs = int(per_task.max(initial=extra))
    if order == "time":
        total = np.concatenate([[0], np.cumsum(per_task)])
        runs = int(np.diff(total[world.slices]).max(initial=extra))
    events = 5 * runs + 4 * tasks
    begun = np.zeros(episodes, dtype=EPISODE)
    begun["merged"] = order == "time"
    return State(
        episodes=begun,
        tasks=np.zeros((episodes, tasks), dtype=TASK_STATE),
        runs=np.zeros((episodes, runs), dtype=RUN),
        heap=np.zeros((episodes, events), dtype=EVENT),
        log=np.zeros((episodes, 4 * events + 64 if log else 0), dtype=LOG),
    )
