"""`Recorder`: plays an episode once more, with the event log on, and keeps its timeline.

Environments step an engine that keeps no log. Given the slice of an episode and the actions so far,
a second engine goes the same way, since nothing else decides it; so whoever renders nothing pays
for nothing, and rendering changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from failgym.envs.rendering.entries import Asked
from failgym.envs.rendering.log import LogReader
from failgym.envs.rendering.timeline import Attempt, Kind, TaskLine, Timeline
from failgym.envs.spaces import TERMS
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.rules import Order, Rules
from failgym.vocabulary import Action, Decision, LogEntry
from failgym.worlds.world import World

__all__ = ["Recorder"]


class Recorder:
    """One episode at a time of a world, with its timeline.

    Args:
        world: a compiled world with slices.
        rules: the rules that it was compiled for.
        order: serve the decisions of a slice task by task, or merged by time.
    """

    def __init__(self, world: World, rules: Rules, order: Order = "task") -> None:
        self.world, self.rules = world, rules
        self.batch = world.batch(rules, 1, order, log=True)
        self.scene = world.scene(order)
        self.timeline = Timeline()
        self._reader = LogReader(self.timeline, self.scene.restore_cost)
        self.costs = np.zeros(len(TERMS))
        """Cost by reward term, at the last decision, of all episodes of the timeline."""
        self._earlier_costs = self.costs
        self.before_event: Callable[[int], None] = lambda time: None
        """Called before each entry of the log with its time [ms]: to look at what lies between two
        decisions."""

    def begin(self, chosen: int, *, fresh: bool = True) -> None:
        """Begin an episode on a slice and run to its first decision.

        Args:
            chosen: the slice.
            fresh: begin a new timeline; else the episode is added to the one that there is.
        """
        self._earlier_costs = np.zeros(len(TERMS)) if fresh else self.costs.copy()
        if fresh:
            self.timeline = Timeline()
            self._reader = LogReader(self.timeline, self._reader.restore_cost)
        self.batch.reset(np.array([chosen], dtype=np.int64))
        self._add_tasks()
        self._follow()

    def play(self, actions: Sequence[int]) -> None:
        """Answer open decisions, one after the other."""
        for action in actions:
            self.batch.step(np.array([action], dtype=np.int64))
            self._follow()

    @property
    def done(self) -> bool:
        """Is the episode over?"""
        return bool(self.batch.state.episodes["done"][0])

    @property
    def episode(self) -> Any:
        """The engine's record of the episode."""
        return self.batch.state.episodes[0]

    @property
    def asked(self) -> Asked | None:
        """The open decision, None after the end."""
        return self._reader.asked

    @property
    def states(self) -> Any:
        """The engine's records of the tasks of the episode."""
        return self.batch.states(0)

    # --- The log ----------------------------------------------------------------------------------

    def _add_tasks(self) -> None:
        """Enter the tasks of the slice in the timeline, and the machines that are down."""
        states = self.states
        record = self.world.tasks[states["task"]]
        own = states["own"] if "own" in states.dtype.names else np.ones(len(states), np.bool_)
        columns = (states["task"], record["submit"], record["width"], own)
        for task, submit, width, mine in zip(*(c.tolist() for c in columns), strict=True):
            self.timeline.tasks[task] = TaskLine(task, submit, width, mine)
        for machine, since in self.world.down(states):
            self._reader.is_down(machine, since)

    def _follow(self) -> None:
        """Read what has happened since the last decision, and which one is open."""
        episode = self.episode
        entries = self.batch.drained_log(0).tolist()
        if len(entries) == len(self.batch.array("log", 0)):
            raise RuntimeError("the event log is full")  # its size is a bound: cannot happen
        self._reader.ended.clear()
        for entry in entries:
            self.before_event(entry[0])
            self._reader.read(LogEntry(*entry))
        self.timeline.now = int(episode["now"])
        if self.scene.transfers:
            self._learn_transfers()
        self.costs = self._earlier_costs + episode["cost"]
        self._reader.asked = self._open()
        self.timeline.serving = -1 if self.asked is None else self.asked.task

    def _open(self) -> Asked | None:
        if self.done:
            return None
        kind = Decision(int(self.episode["decision"]))
        number, length, machine = self.world.open_attempt(self.batch, 0)
        out = self.batch.output
        legal = tuple(Action(i) for i in np.flatnonzero(out.mask[0]).tolist())
        risk = float(out.obs[0, INDEX["risk"]])
        return Asked(kind, int(out.task[0]), number, length, machine, legal, risk)

    # --- Transfers --------------------------------------------------------------------------------

    def _learn_transfers(self) -> None:
        """Find out which attempts are transferring inputs, or ended while they were.

        The log says when transfers end. Of those that have not, the engine's records of live
        attempts tell; and of attempts that have ended, the accounts of their task.
        """
        runs = self.batch.runs(0)
        states = self.batch.array("tasks", 0)
        for run in runs[runs["alive"]]:
            key = int(states[run["local"]]["task"]), int(run["number"])
            attempt = self.timeline.live.get(key)
            if attempt is not None and attempt.end is None:
                attempt.transferred = int(run["transferred"])
        ended: dict[int, list[Attempt]] = {}
        for attempt in self._reader.ended:
            if attempt.kind is not Kind.RECOMPUTATION and attempt.transferred == attempt.start:
                ended.setdefault(attempt.task, []).append(attempt)
        if ended:
            spent = dict(zip(states["task"].tolist(), states["transfer"].tolist(), strict=True))
            for task, attempts in ended.items():
                missing = spent[task] - self.timeline.tasks[task].accounts["transfer"]
                self._cut_transfers(attempts, missing)

    def _cut_transfers(self, attempts: list[Attempt], missing: int) -> None:
        """Say of those attempts that ended within their transfer, of which nothing else is known,
        that all their time went to it.
        """
        for count in range(1, len(attempts) + 1 if missing else 0):
            for chosen in combinations(attempts, count):
                if sum((a.until(0) - a.start) * a.width for a in chosen) == missing:
                    for attempt in chosen:
                        self._reader.charge(attempt, -1)
                        attempt.transferred = attempt.until(0)
                        self._reader.charge(attempt, 1)
                    return
