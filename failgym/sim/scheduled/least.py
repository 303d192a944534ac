"""The least time in which a task of a continued record can be done, whatever is decided.

An attempt that does all of its task's work takes the time of rule C3, on machines that of K4; no
attempt has another one. Resumed, it goes on at the same pace, and what was saved was done before at
the pace of an attempt of the same task. So from when the first one starts the work of a task is
done no faster than the fastest of its attempts would do it alone, on the machine that suits it
best; but for the rounding of the last piece.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.records import World
from failgym.sim.shared.continuation import LONGEST_FATE
from failgym.sim.shared.keys import Purpose, uniform_of
from failgym.sim.shared.laws import chance_of, draw_all
from failgym.vocabulary import NEVER, Ending

__all__ = ["least_times"]

Floats = npt.NDArray[np.float64]
ROUNDING = 1
"""A time of work that is interrupted and resumed may be so much shorter than in one piece [ms]."""


def least_times(world: World) -> Floats:
    """Least time from the first start of each task to its success, [tasks] [ms]; inf: never.

    Args:
        world: a compiled world whose record is continued.
    """
    p, tasks = world.parameters[0], world.tasks
    least = np.full(len(tasks), np.inf)
    filled = np.flatnonzero(tasks["rows"])
    if len(filled):
        row_task = np.repeat(np.arange(len(tasks)), tasks["rows"])
        times = _on_fastest(world, _of_rows(world), row_task)
        least[filled] = np.minimum.reduceat(times, tasks["rows_at"][filled])
    everyone = np.arange(len(tasks))
    for beyond in range(int(p["drawn"])):
        drawn = _on_fastest(world, _of_drawn(world, beyond), everyone)
        least = np.where(tasks["censored"], least, np.minimum(least, drawn))
    return np.maximum(least - ROUNDING, 0.0) if p["checkpoint"] else least


def _of_rows(world: World) -> Floats:
    """How long each row works that does all of its task's work [ms]; inf if it cannot."""
    rows = world.rows
    length = np.where(rows["length"] < NEVER, rows["length"], np.inf)
    if not len(world.dags.costs):  # F is at least 1, a row that finished may be shorter
        short = (rows["ending"] == Ending.FINISH) & (rows["duration"] == 0) & (length == 1.0)
        length = np.where(short, 0.0, length)
    if world.parameters["checkpoint"][0]:
        return length  # from behind the position of its failure it finishes
    return np.where(world.fails <= length, np.inf, length)


def _of_drawn(world: World, beyond: int) -> Floats:
    """F of the drawn attempt so many behind the record of each task [ms] (rule C3)."""
    c = world.beyond
    u = uniform_of(c["stream"], world.tasks["numbers"] + beyond, Purpose.NEXT_CHANCE)
    chance, varies = np.ones(len(c)), np.flatnonzero(c["chance_cell"] >= 0)
    law = chance_of(world.laws)
    if len(law.value):
        drawn = draw_all(law, c["chance_cell"][varies].astype(np.int64), u[varies])
        chance[varies] = np.where(np.isinf(drawn), 1.0, drawn)
    length = np.clip(np.floor(c["work"] * c["slow"] * chance + 0.5), 1.0, LONGEST_FATE)
    return np.where(np.isinf(c["work"]), np.inf, length)


def _on_fastest(world: World, length: Floats, task: npt.NDArray[np.int64]) -> Floats:
    """Times of attempts of some tasks on the machine that suits each best (rule K4)."""
    work = world.beyond["work"][task]
    if len(world.dags.costs):
        known = np.isfinite(work) & np.isfinite(length)
        scale = world.dags.costs.min(axis=1)[task]
        share = np.where(known, length, 0.0) / np.maximum(np.where(known, work, 1.0), 1.0)
        return np.where(known, np.maximum(np.floor(scale * share + 0.5) - ROUNDING, 0.0), length)
    return np.floor(length / float(world.machines["speed"].max()) + 0.5)
