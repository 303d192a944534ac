"""How loaded a scheduled scenario is if nothing is done: utilisation, waits, what disturbs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.batch import EpisodeBatch
from failgym.vocabulary import Event
from failgym.worlds.build import build_world
from failgym.worlds.decisions import DECISIONS
from failgym.worlds.scenario import Scenario
from failgym.worlds.scheduled.world import ScheduledWorld

__all__ = ["Load", "measure_load"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """What slices of a scheduled scenario look like under replay."""

    utilisation: float
    """Busy slots over all slots, in the time in which own tasks arrive and start: from the first
    submission of one of a slice's tasks until each of them has started"""
    wait: float
    """mean time that an attempt of a slice's tasks waits in the queue [ms]"""
    run: float
    """mean time that it runs [ms]"""
    evictions: int
    """of attempts of the slices' tasks"""
    outages: int
    """attempts of the slices' tasks that a machine's failure ended"""

    @property
    def wait_share(self) -> float:
        """Mean wait over mean run time."""
        return self.wait / self.run


def measure_load(scenario: Scenario, slices: Ints | None = None) -> Load:
    """Replay slices of a scheduled scenario, all by default, and measure its load.

    Raises:
        ValueError: if the scenario is not of the scheduled world.
    """
    world = build_world(scenario)
    if not world.scene("time").machines:
        raise ValueError('scenario: expected one with world="scheduled"')
    quiet = world.tables.parameters.copy()
    for name in DECISIONS:
        quiet[name] = False
    world = ScheduledWorld(world.tables._replace(parameters=quiet))
    rules = replace(scenario, **dict.fromkeys(DECISIONS, False))
    chosen = np.arange(world.slices) if slices is None else slices
    found = np.zeros(7)
    for i in chosen.tolist():
        batch = world.batch(rules, 1, log=True)
        batch.reset(np.array([i]))
        found += _of_episode(world, batch)
    busy, room, waited, ran, attempts, evictions, outages = found.tolist()
    mean = max(attempts, 1.0)
    return Load(busy / max(room, 1.0), waited / mean, ran / mean, int(evictions), int(outages))


def _of_episode(world: ScheduledWorld, batch: EpisodeBatch) -> npt.NDArray[np.float64]:
    """Busy and all slot-time in the window; waits, run time, attempts, evictions, kills of own."""
    episode = batch.state.episodes[0]
    task, start, end = _runs(batch.array("log", 0)[: episode["logged"]], int(episode["now"]))
    own = batch.own_states(0)
    mine = np.isin(task, own["task"])
    begun = own["first_start"][own["attempts"] > 0]
    window = int(world.tasks["submit"][own["task"]].min()), int(begun.max(initial=0))
    overlap = np.minimum(end, window[1]) - np.maximum(start, window[0])
    busy = (np.maximum(overlap, 0) * world.tasks["width"][task]).sum()
    room = max(window[1] - window[0], 0) * int(world.tables.machines["slots"].sum())
    work = (end - start)[mine].sum()
    counts = [own[name].sum() for name in ("waited", "evictions", "outages")]
    return np.array([busy, room, counts[0], work, mine.sum(), counts[1], counts[2]], np.float64)


def _runs(log: Any, now: int) -> tuple[Ints, Ints, Ints]:
    """Task, start and end of each run of an event log; what still runs is cut at the end."""
    open_runs: dict[tuple[int, int], int] = {}
    runs: list[list[int]] = []
    for time, kind, task, number, _ in log.tolist():
        if kind == Event.START:
            open_runs[task, number] = len(runs)
            runs.append([task, time, now])
        elif kind in (Event.END, Event.WRITE_LOST):
            runs[open_runs.pop((task, number))][2] = time
    found = np.array(runs, dtype=np.int64).reshape(-1, 3)
    return found[:, 0], found[:, 1], found[:, 2]
