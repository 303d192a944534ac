"""The cheapest episode found by somebody who knows all fates: rules first, then local search.

1. Every way of `rules` plays the whole episode, and so does the plan of the pinned world's
   clairvoyant where there is one.
2. Tasks are nearly apart from each other (in the pinned world they are). So the plan that gives
   every task the way which was cheapest for it is played as well.
3. Local search. A *move* takes one legal answer to one decision of the present plan, or changes
   the way of a task; whatever comes later is answered by the plan. In one play many tasks make a
   move each, and what a move gains is read off its own task's cost; some plays make one move alone,
   judged by the cost of the episode. Moves that gained are made together: all of them, the best
   half, the best quarter, the best one. The cheapest of all that was played is the next plan.
   When no move is left untried, two random ones of a task are made together for a few rounds. It
   ends when nothing came of that, when the bound is reached, or after `Effort.rounds`.

Everything that is a candidate was played to its end, so that its cost is the cost of an episode,
and replay is among them. Draws are keyed by the seed and the slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.oracle.plays import Asked, Plan, Played, Stage

__all__ = ["Effort", "Found", "search"]

Floats = npt.NDArray[np.float64]

PAIRS = 6
"""Rounds in which two moves of a unit are made together, once none is left to be made alone."""
_NEARLY = 1.0 - 1e-12
"""A plan that is better by no more than rounding errors is no better."""
_SHARES = (1.0, 0.5, 0.25, 0.0)
"""Of the moves that gained, the best are made together; at least one."""


@dataclass(frozen=True)
class Effort:
    """How much is tried on each episode."""

    rounds: int = 8
    """of local search, at most"""
    plays: int = 16
    """in each round, beside the four that combine moves"""
    alone: int = 4
    """of them, those in which 1, 4, 16, ... tasks make a move for the sake of the whole episode"""
    share: float = 0.25
    """of the tasks make a move in each of the others, where tasks touch each other"""


class Found(NamedTuple):
    """The cheapest play of an episode that was found."""

    costs: Floats
    """[5] by term"""
    choices: tuple[tuple[int, int], ...]
    """(number of the decision within the episode, action) other than CONTINUE"""
    decisions: int
    plays: int
    """of the episode, in the search"""


class _Move(NamedTuple):
    """A change of a plan: of an answer, or, where ``number`` is -1, of the way of a task."""

    unit: int
    task: int
    number: int
    to: int


def search(
    stage: Stage,
    chosen: int,
    *,
    plans: Sequence[Mapping[int, int]] | None = None,
    bound: float = -np.inf,
    apart: bool = False,
    effort: Effort = Effort(),
    seed: int = 0,
) -> Found:
    """Look for the cheapest play of a slice.

    Args:
        stage: of its world; it turns to the slice.
        chosen: the slice.
        plans: of the clairvoyant, for each of its tasks in their order; see `LeastCosts.plans`.
        bound: no play can cost less; the search ends where it is reached.
        apart: do tasks not touch each other?
        effort: how much to try.
        seed: of what is tried.
    """
    alone = stage.choose(chosen)
    climb = _Climb(stage, apart, effort, np.random.default_rng([seed, chosen]))
    climb.consider([Plan()], [alone])
    climb.try_ways(plans)
    for _ in range(effort.rounds):
        if climb.best.total * _NEARLY <= bound or not climb.round():
            break
    best = climb.best
    return Found(best.costs, tuple(best.choices), best.decisions, climb.plays)


class _Climb:
    """The best plan so far, and which moves were tried."""

    def __init__(self, stage: Stage, apart: bool, effort: Effort, rng: np.random.Generator) -> None:
        self.stage, self.apart, self.effort, self.rng = stage, apart, effort, rng
        self.plan, self.plays = Plan(), 0
        self._best: Played | None = None
        self._listed: Played | None = None
        self._tried, self._pairs = dict[int, set[_Move]](), 0

    @property
    def best(self) -> Played:
        """The cheapest play so far."""
        assert self._best is not None, "replay comes first"
        return self._best

    def consider(self, plans: Sequence[Plan], played: Sequence[Played]) -> None:
        """Take the cheapest of some plays, if it is cheaper than the best one."""
        self.plays += len(played)
        at = min(range(len(played)), key=lambda i: played[i].total)
        if self._best is None or played[at].total < self._best.total * _NEARLY:
            self.plan, self._best, self._listed = plans[at], played[at], None

    def try_ways(self, plans: Sequence[Mapping[int, int]] | None) -> None:
        """Play each way on all tasks, the clairvoyant's plan, and of the ways the best by task."""
        tried = [Plan(default=way) for way in range(1, len(self.stage.ways))]
        if plans is not None:
            answers = {(i, k): a for i, plan in enumerate(plans) for k, a in plan.items()}
            tried.insert(0, Plan(answers=answers))
        base = self.best
        played = self.stage.play(tried)
        self.consider(tried, played)
        ways = [p for p in tried if p.default]
        of_ways = [base, *(play for plan, play in zip(tried, played, strict=True) if plan.default)]
        if len(ways) and len(base.units):
            costs = np.stack([play.units for play in of_ways])
            costs[1:] /= _NEARLY  # replay, where nothing is better
            best = costs.argmin(axis=0)
            mixed = Plan(ways=self._by_task(best.tolist()))
            self.consider([mixed], self.stage.play([mixed]))

    def _by_task(self, of_units: Sequence[int]) -> dict[int, int]:
        """The way of every task that is asked about, by those of its units."""
        return {a.task: of_units[a.unit] for a in self._decisions() if of_units[a.unit]}

    def _decisions(self) -> list[Asked]:
        """The decisions of the best plan, which is played once more to list them."""
        if self._listed is None:
            [self._listed] = self.stage.play([self.plan], listed=True)
            self.plays += 1
        return self._listed.asked

    def round(self) -> bool:
        """Try some moves, and combine those that gained; False if nothing is left to try."""
        moves, pairs = self._open_moves(), False
        if not moves and self._pairs < PAIRS:
            moves, pairs = self._open_moves(again=True), True
            self._pairs += 1
        if not moves:
            return False
        before, told = self.best, bool(len(self.best.units))
        groups = 0 if self.apart or not told else self.effort.alone
        sets = [self._group(moves, 4**i) for i in range(groups)]
        count = self.effort.plays - groups
        sets += [self._drawn(moves, told, 1 + pairs) for _ in range(count)]
        plans = [_with(self.plan, chosen) for chosen in sets]
        played = self.stage.play(plans)
        gains = dict[tuple[_Move, ...], float]()
        for i, (chosen, play) in enumerate(zip(sets, played, strict=True)):
            own = _by_unit(chosen)
            for unit, made in own.items() if i >= groups or len(chosen) == 1 else ():
                gain = before.total - play.total
                if len(own) > 1:
                    gain = float(before.units[unit] - play.units[unit])
                gains[made] = max(gain, gains.get(made, -np.inf))
        base = self.plan
        together = [_with(base, chosen) for chosen in self._combined(gains, before.total)]
        self.consider([*plans, *together], [*played, *self.stage.play(together)])
        self._forget(base)
        return True

    def _open_moves(self, *, again: bool = False) -> dict[int, list[_Move]]:
        """The moves of each unit that were not tried since it last changed, in random order.

        With ``again``, all of them.
        """
        moves = dict[int, dict[_Move, None]]()
        seen = set[int]()
        for a in self._decisions():
            own = moves.setdefault(a.unit, {})
            if a.task not in seen:
                seen.add(a.task)
                now = self.plan.ways.get(a.task, self.plan.default)
                own.update(
                    (_Move(a.unit, a.task, -1, way), None)
                    for way in range(len(self.stage.ways))
                    if way != now
                )
            for action in range(8):
                other = action != a.action and a.legal >> action & 1
                if other and (not action or (a.kind, action) in self.stage.allowed):
                    own[_Move(a.unit, a.task, a.number, action)] = None
        found = dict[int, list[_Move]]()
        for unit, own in moves.items():
            left = [move for move in own if again or move not in self._tried.get(unit, ())]
            if left:
                found[unit] = [left[i] for i in self.rng.permutation(len(left)).tolist()]
        return found

    def _drawn(self, moves: dict[int, list[_Move]], told: bool, each: int) -> list[_Move]:
        """Moves of each of many units, or of one where units have no costs of their own."""
        units = [unit for unit, left in moves.items() if left]
        if not told:
            units = units[:1]
        elif not self.apart:
            drawn = self.rng.random(len(units)) < self.effort.share
            units = [unit for unit, taken in zip(units, drawn.tolist(), strict=True) if taken]
        return self._taken([m for unit in units for m in _popped(moves[unit], each)])

    def _group(self, moves: dict[int, list[_Move]], size: int) -> list[_Move]:
        """A move of one unit, or the change of several to one way."""
        units = self._costly([unit for unit, left in moves.items() if left], size)
        if size == 1:
            return self._taken([moves[unit].pop() for unit in units])
        way = int(self.rng.integers(len(self.stage.ways)))
        return [m for unit in units for m in moves[unit] if m.number < 0 and m.to == way]

    def _taken(self, moves: list[_Move]) -> list[_Move]:
        """These moves, which are tried from then on."""
        for move in moves:
            self._tried.setdefault(move.unit, set()).add(move)
        return moves

    def _costly(self, units: list[int], size: int) -> list[int]:
        """Some units, drawn by what they cost."""
        costs = np.maximum(self.best.units[units], 0.0)
        likely = int((costs > 0.0).sum())
        weights = costs / costs.sum() if likely else None
        size = min(size, likely or len(units))
        return [units[i] for i in self.rng.choice(len(units), size, replace=False, p=weights)]

    def _combined(
        self, gains: Mapping[tuple[_Move, ...], float], total: float
    ) -> list[list[_Move]]:
        """Sets of moves that gained by themselves, those of one play for each unit, best first."""
        best = dict[int, tuple[_Move, ...]]()
        for made, gain in gains.items():
            known = best.get(made[0].unit)
            if gain > (1.0 - _NEARLY) * total and (known is None or gain > gains[known]):
                best[made[0].unit] = made
        ranked = sorted(best.values(), key=lambda made: (-gains[made], made))
        sizes = {max(1, round(share * len(ranked))) for share in _SHARES} if ranked else set[int]()
        return [[move for made in ranked[:size] for move in made] for size in sorted(sizes)]

    def _forget(self, base: Plan) -> None:
        """Of units whose plan is another one now, all moves are untried."""
        if self.plan is base:
            return
        self._pairs = 0
        changed = {task for task, _ in self.plan.answers.items() ^ base.answers.items()}
        tasks = {task for task, _ in self.plan.ways.items() ^ base.ways.items()}
        tasks |= {key[0] for key in changed}
        for unit, tried in list(self._tried.items()):
            if any(move.task in tasks for move in tried):
                del self._tried[unit]


def _by_unit(moves: Sequence[_Move]) -> dict[int, tuple[_Move, ...]]:
    """Moves that are made together, by their units."""
    found = dict[int, tuple[_Move, ...]]()
    for move in moves:
        found[move.unit] = (*found.get(move.unit, ()), move)
    return found


def _popped(moves: list[_Move], count: int) -> list[_Move]:
    """The last of some moves, which are gone from there."""
    return [moves.pop() for _ in range(min(count, len(moves)))]


def _with(plan: Plan, moves: Sequence[_Move]) -> Plan:
    """A plan with changes: first of ways, then of answers."""
    ways, answers = dict(plan.ways), dict(plan.answers)
    switched = {move.task for move in moves if move.number < 0}
    if switched:
        answers = {key: to for key, to in answers.items() if key[0] not in switched}
    for move in moves:
        if move.number < 0:
            ways[move.task] = move.to
        else:
            answers[move.task, move.number] = move.to
    return replace(plan, ways=ways, answers=answers)
