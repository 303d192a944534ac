"""Plans of whole episodes, and what they cost: played side by side on one slice.

A plan answers a decision by its number within its task: what a change elsewhere shifts in time
keeps its number, so that a plan can be changed in one task and played again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.oracle.rules import Allowed, Fate, Open, Rule, answer_of
from failgym.sim.shared.batch import EpisodeBatch
from failgym.sim.shared.rules import Order, Rules
from failgym.vocabulary import ACTIONS, Outcome
from failgym.worlds.batches import lanes_that_fit, make_batch
from failgym.worlds.world import World

__all__ = ["Asked", "Plan", "Played", "Stage"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ways = Sequence[tuple[Rule, ...]]

_BITS = 1 << np.arange(ACTIONS, dtype=np.int64)
_FINISHED = int(Outcome.FINISH)


@dataclass(frozen=True)
class Plan:
    """What to answer to every decision of an episode."""

    ways: Mapping[int, int] = field(default_factory=dict[int, int])
    """number of the way of a task, by its position in the episode; otherwise ``default``"""
    answers: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """action by (task, number of the decision within it), whatever the way says"""
    default: int = 0


class Asked(NamedTuple):
    """A decision that was asked in a play."""

    task: int
    number: int
    unit: int
    """what its cost belongs to: the task, or its job where jobs are charged"""
    kind: int
    legal: int
    """a bit each"""
    action: int


@dataclass
class Played:
    """What became of a plan."""

    costs: Floats
    """[5] by term"""
    units: Floats
    """[units] what each task, or job, of the episode's own costs"""
    choices: list[tuple[int, int]]
    """(number of the decision within the episode, action) other than CONTINUE: a plan to the bit"""
    decisions: int
    asked: list[Asked]
    """empty unless it was asked for"""

    @property
    def total(self) -> float:
        """Sum of the terms."""
        return float(self.costs.sum())


class Stage:
    """A slice at a time of a world, on which plans are played.

    Args:
        world: a compiled world.
        rules: that it was compiled for.
        order: of the decisions of a slice, in the pinned world.
        ways: that plans speak of.
        allowed: which answers may be given.
        lanes: plans that are played together at most; fewer where memory is short.
    """

    def __init__(
        self,
        world: World,
        rules: Rules,
        order: Order,
        ways: Ways,
        allowed: Allowed,
        lanes: int,
    ) -> None:
        self.world, self.rules, self.ways, self.allowed = world, rules, ways, allowed
        self.lanes = lanes_that_fit(world, rules, lanes, order)
        self._batch = make_batch(world, rules, self.lanes, order)
        self.slice = -1
        self._fates: list[Fate] = []

    def choose(self, chosen: int) -> Played:
        """Turn to a slice, and play it as nobody interferes: the rules go by what happens then."""
        self.slice, self._fates = chosen, []
        alone = self._play([Plan()], listed=True)[0]
        states = self._batch.states(0)
        until = int(states["end"].max(initial=0))
        finishes = (states["outcome"] == _FINISHED).tolist()
        self._fates = [Fate(done, until) for done in finishes]
        return alone

    def play(self, plans: Sequence[Plan], *, listed: bool = False) -> list[Played]:
        """Play plans on the slice.

        Args:
            plans: of any number; they are played a few at a time.
            listed: list the decisions that were asked?
        """
        found = list[Played]()
        for first in range(0, len(plans), self.lanes):
            found += self._play(plans[first : first + self.lanes], listed)
        return found

    def _play(self, plans: Sequence[Plan], listed: bool) -> list[Played]:
        batch, n = self._batch, len(plans)
        chosen = np.full(len(batch), -2, dtype=np.int64)
        chosen[:n] = self.slice
        batch.reset(chosen)
        players = [_Player(plan, listed) for plan in plans]
        actions = np.zeros(len(batch), dtype=np.int64)
        while True:
            episodes, out = batch.state.episodes, batch.output
            live = np.flatnonzero(~episodes["done"][:n])
            actions[:n] = 0
            legal: Ints = out.mask[live].astype(np.int64) @ _BITS
            facts = zip(
                *(live.tolist(), episodes["local"][live].tolist(), legal.tolist()),
                *(episodes["decision"][live].tolist(), out.unit[live].tolist()),
                strict=True,
            )
            for lane, task, mask, kind, unit in facts:
                actions[lane] = self._answer(players[lane], lane, task, mask, kind, unit)
            batch.step(actions)
            if batch.state.episodes["done"][:n].all():
                break
        units = self._units(batch, n)
        costs = batch.state.episodes["cost"][:n].copy()
        return [
            Played(costs[i], units[i], p.choices, p.count, p.asked) for i, p in enumerate(players)
        ]

    def _answer(
        self, player: _Player, lane: int, task: int, legal: int, kind: int, unit: int
    ) -> int:
        """The answer of a plan to the open decision of a lane."""
        plan, number = player.plan, player.numbers.get(task, 0)
        player.numbers[task] = number + 1
        action = plan.answers.get((task, number), -1)
        if action < 0:
            way = self.ways[plan.ways.get(task, plan.default)]
            action = answer_of(way, self._open(lane, task, kind), legal, self.allowed) if way else 0
        elif not (legal >> action & 1 and (kind, action) in self.allowed):
            action = 0
        player.note(Asked(task, number, task if unit < 0 else unit, kind, legal, action))
        return action

    def _open(self, lane: int, task: int, kind: int) -> Open:
        batch, world = self._batch, self.world
        now = int(batch.state.episodes["now"][lane])
        fate = self._fates[task]
        return Open(kind, now, fate, self.rules, lambda: world.ahead(batch, lane))

    def _units(self, batch: EpisodeBatch, n: int) -> Floats:
        """What each unit has cost, [n, units]."""
        told: Any = getattr(batch, "unit_costs", None)
        if told is not None:
            return told()[0][:n]
        rows = [self.world.task_costs(self.world.outcomes(batch.states(i))) for i in range(n)]
        return np.array([np.zeros(0) if row is None else row.sum(axis=1) for row in rows])


class _Player:
    """How far a plan has come."""

    def __init__(self, plan: Plan, listed: bool) -> None:
        self.plan, self.listed = plan, listed
        self.numbers = dict[int, int]()
        self.choices = list[tuple[int, int]]()
        self.asked = list[Asked]()
        self.count = 0

    def note(self, asked: Asked) -> None:
        """Write down a decision and its answer."""
        if asked.action:
            self.choices.append((self.count, asked.action))
        if self.listed:
            self.asked.append(asked)
        self.count += 1
