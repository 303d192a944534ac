"""Random rules: decision trees that are drawn for an environment, many of them side by side.

Fields are drawn alike from those that vary in the environment; a threshold is a value that the
field had at a random moment of slices of the train split, half of which were played at random and
half left alone; words of the leaves (`failgym.baselines.decision_tree`) are drawn from those that
may be legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.baselines import RandomPolicy, Replay
from failgym.baselines.base import enabled
from failgym.baselines.decision_tree import LEAVES, NOTHING, WORDS, DecisionTree, Trees
from failgym.envs import Scenario
from failgym.envs.select_fields import varying_fields
from failgym.evaluation.caller import Predicts
from failgym.evaluation.runner import run_policy, served
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.records import Output
from failgym.vocabulary import Action
from failgym.worlds.batches import lanes_that_fit
from failgym.worlds.world import World

__all__ = ["QUESTIONS", "costs_of", "drawn"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

QUESTIONS = 3
"""Of a rule: one, and another after each of its answers."""
LANES = 4_096
"""Episodes side by side."""
SEEN = 64
"""Slices that thresholds are taken from, at most."""


class _SideBySide:
    """Answers each lane by a rule of its own (`failgym.evaluation.runner.Answers`)."""

    def __init__(self, rules: Sequence[DecisionTree], of_lane: Ints) -> None:
        self._trees, self._of_lane = Trees.of(rules), of_lane
        self._actions = np.zeros(len(of_lane), dtype=np.int64)

    def begin(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Rules have no memory."""

    def act(self, out: Output, live: npt.NDArray[np.bool_]) -> Ints:
        """Actions of all lanes; what is illegal is CONTINUE."""
        asked = np.flatnonzero(live)
        wanted = self._trees.act(self._of_lane[asked], out.obs[asked])
        legal = out.mask[asked, wanted] > 0
        self._actions[asked] = np.where(legal, wanted, int(Action.CONTINUE))
        return self._actions


def costs_of(
    scenario: Scenario, world: World, rules: Sequence[DecisionTree], slices: Ints
) -> npt.NDArray[np.float64]:
    """What each rule costs on slices of a world [rules]; as many as fit are played side by side."""
    found: list[npt.NDArray[np.float64]] = []
    lanes = lanes_that_fit(world, scenario, LANES, scenario.order)
    together = max(1, lanes // len(slices))
    for first in range(0, len(rules), together):
        part = rules[first : first + together]

        def answering(lanes: int, part: Sequence[DecisionTree] = part) -> _SideBySide:
            return _SideBySide(part, np.arange(lanes) // len(slices))

        played = np.tile(slices, len(part))
        run = served(
            *(world, scenario, answering, "random rules", played),
            order=scenario.order,
            lanes=min(lanes, len(played)),
            threads=1,
        )
        found.append(run.costs.reshape(len(part), -1).sum(axis=1))
    return np.concatenate(found)


def drawn(
    scenario: Scenario, world: World, count: int, seed: int, questions: int = QUESTIONS
) -> list[DecisionTree]:
    """Random rules for a scenario.

    Args:
        scenario: the scenario.
        world: its train split, compiled.
        count: how many.
        seed: of the draws.
        questions: 3, or 1 of simple rules, whose two answers have one leaf each.
    """
    rng = np.random.default_rng(seed)
    slices = np.sort(rng.permutation(world.slices)[:SEEN])
    plays = [
        _observations(scenario, world, policy, slices)
        for policy in (RandomPolicy(seed=seed), Replay())
    ]
    fields = varying_fields(scenario)
    on = enabled(scenario)
    allowed = {
        kind: [NOTHING, *(word for word, (_, needed) in words.items() if needed in on)]
        for kind, words in WORDS.items()
    }

    def question() -> tuple[str, float]:
        field = str(rng.choice(fields))
        return field, float(rng.choice(plays[rng.integers(len(plays))][:, INDEX[field]]))

    leaves = questions + 1
    trees: list[DecisionTree] = []
    for _ in range(count):
        values: dict[str, Any] = {
            kind: " ".join(np.repeat(rng.choice(some, leaves), LEAVES // leaves).tolist())
            for kind, some in allowed.items()
            if len(some) > 1
        }
        for name in ("first", "below", "above")[:questions]:
            values[name], values[f"{name}_above"] = question()
        trees.append(DecisionTree(**values))
    return trees


def _observations(scenario: Scenario, world: World, policy: Predicts, slices: Ints) -> Floats:
    """What a policy is shown on slices [moments, fields]."""
    watched = _Watched(policy)
    run_policy(world, scenario, watched, slices, order=scenario.order, threads=1)
    return np.concatenate(watched.seen)


class _Watched:
    """A policy that keeps what it was shown."""

    def __init__(self, policy: Predicts) -> None:
        self._policy = policy
        self.seen: list[Floats] = []

    def predict(self, observation: Floats, **more: Any) -> tuple[Any, Any]:
        """What the policy does."""
        self.seen.append(observation.copy())
        return self._policy.predict(observation, **more)
