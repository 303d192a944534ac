"""Random rules: trees of depth 2, drawn for an environment, and many of them at play side by side.

A rule asks three questions, whether a field is above a threshold, and has in each of the four
leaves an action for each kind of decision. Fields are drawn alike from those that vary in the
environment; a threshold is a value that the field had at a random moment of slices of the train
split, half of which were played at random and half left alone; actions are drawn from those that
may be legal. What is illegal is CONTINUE, and a second action in one decision too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from failgym.baselines import RandomPolicy, Replay
from failgym.baselines.base import enabled
from failgym.envs import FIELDS, Scenario
from failgym.envs.select_fields import varying_fields
from failgym.evaluation.caller import Predicts
from failgym.evaluation.runner import run_policy, served
from failgym.sim.shared.fields import INDEX
from failgym.sim.shared.records import Output
from failgym.vocabulary import Action
from failgym.worlds.batches import lanes_that_fit
from failgym.worlds.world import World

__all__ = ["Question", "RandomRule", "costs_of", "drawn"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

LEAVES = 4
LANES = 4_096
"""Episodes side by side."""
SEEN = 64
"""Slices that thresholds are taken from, at most."""
ACTIONS_OF: dict[str, dict[Action, str]] = {
    "window": {Action.CLONE: "clone", Action.CHECKPOINT: "checkpoint", Action.KILL: "kill"},
    "failed": {Action.KILL: "give_up", Action.RETRY: "retry"},
    "output": {Action.CHECKPOINT: "save_outputs"},
    "dispatch": {Action.RETRY: "place"},
}
"""By kind of decision, beside CONTINUE; and what a scenario calls each."""
KINDS = np.array([INDEX[kind] for kind in ACTIONS_OF])


@dataclass(frozen=True)
class Question:
    """Is a field above a threshold?"""

    field: str
    threshold: float

    @property
    def text(self) -> str:
        """In words, in the unit that the field stands for."""
        unit, value = FIELDS[INDEX[self.field]].unit, self.threshold
        if unit.startswith("log2"):
            value = 2.0**value - 1.0
        return f"`{self.field}` > {value:.4g}{' min' if unit.endswith('min') else ''}"


@dataclass(frozen=True)
class RandomRule:
    """A tree of depth 2, with stable-baselines3's `predict`."""

    first: Question
    below: Question
    above: Question
    actions: dict[str, tuple[int, int, int, int]]
    """by kind of decision, of each leaf: below below, below above, above below, above above"""
    name: str = "random rule"

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """Actions [batch], or one; see `failgym.policy.Policy`."""
        seen = np.atleast_2d(observation)
        mask = np.ones((len(seen), len(Action))) if action_masks is None else action_masks
        rule = np.zeros(len(seen), dtype=np.int64)
        action = _Trees.of([self]).answers(rule, seen, np.atleast_2d(mask), np.arange(len(seen)))
        return (action if np.ndim(observation) == 2 else action[0]), state

    @property
    def text(self) -> str:
        """What it asks and does, in words."""
        asked = [self.below.text, self.below.text, self.above.text, self.above.text]
        parts: list[str] = []
        for half, given in enumerate((f"not {self.first.text}", self.first.text)):
            leaves = [self._leaf(leaf) for leaf in (2 * half, 2 * half + 1)]
            if leaves[0] == leaves[1]:
                parts.append(f"{given}: {leaves[0]}")
            else:
                parts.append(f"{given}: {leaves[1]} if {asked[2 * half]}, else {leaves[0]}")
        return "; ".join(parts)

    def _leaf(self, leaf: int) -> str:
        """The actions of a leaf, as a scenario calls them; RETRY at DISPATCH passes."""
        done = [
            "pass" if kind == "dispatch" else ACTIONS_OF[kind][Action(actions[leaf])]
            for kind, actions in self.actions.items()
            if actions[leaf] != Action.CONTINUE
        ]
        return " and ".join(done) or "nothing"

    @classmethod
    def of_json(cls, said: dict[str, Any]) -> Self:
        """What `dataclasses.asdict` made, read again."""
        questions = {name: Question(**said[name]) for name in ("first", "below", "above")}
        actions: Any = {kind: tuple(found) for kind, found in said["actions"].items()}
        return cls(**questions, actions=actions, name=said["name"])


class _Trees(NamedTuple):
    """Several rules."""

    fields: Ints
    """[rules, 3] columns that are asked about: first, below, above"""
    thresholds: Floats
    """[rules, 3]"""
    actions: Ints
    """[rules, kinds, leaves]"""

    @classmethod
    def of(cls, rules: Sequence[RandomRule]) -> Self:
        """Their arrays."""
        questions = [(rule.first, rule.below, rule.above) for rule in rules]
        nothing = (int(Action.CONTINUE),) * LEAVES
        return cls(
            np.array([[INDEX[one.field] for one in asked] for asked in questions]),
            np.array([[one.threshold for one in asked] for asked in questions], np.float32),
            np.array([[rule.actions.get(kind, nothing) for kind in ACTIONS_OF] for rule in rules]),
        )

    def answers(self, rule: Ints, seen: Floats, mask: npt.NDArray[Any], rows: Ints) -> Ints:
        """Actions [batch] of the rules of these numbers, to what each sees and may do in a row."""
        above = seen[rows[:, None], self.fields[rule]] > self.thresholds[rule]
        leaf = np.where(above[:, 0], 2 + above[:, 2], above[:, 1])
        kind = seen[rows[:, None], KINDS].argmax(axis=1)
        action = self.actions[rule, kind, leaf]
        acts = (seen[rows, INDEX["actions_taken"]] == 0) & (mask[rows, action] > 0)
        return np.where(acts, action, int(Action.CONTINUE))


class _SideBySide:
    """Answers each lane by a rule of its own (`failgym.evaluation.runner.Answers`)."""

    def __init__(self, rules: Sequence[RandomRule], of_lane: Ints) -> None:
        self._trees, self._of_lane = _Trees.of(rules), of_lane
        self._actions = np.zeros(len(of_lane), dtype=np.int64)

    def begin(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Rules have no memory."""

    def act(self, out: Output, live: npt.NDArray[np.bool_]) -> Ints:
        """Actions of all lanes."""
        asked = np.flatnonzero(live)
        rules = self._of_lane[asked]
        self._actions[asked] = self._trees.answers(rules, out.obs, out.mask, asked)
        return self._actions


def costs_of(
    scenario: Scenario, world: World, rules: Sequence[RandomRule], slices: Ints
) -> npt.NDArray[np.float64]:
    """What each rule costs on slices of a world [rules]; as many as fit are played side by side."""
    found: list[npt.NDArray[np.float64]] = []
    lanes = lanes_that_fit(world, scenario, LANES, scenario.order)
    together = max(1, lanes // len(slices))
    for first in range(0, len(rules), together):
        part = rules[first : first + together]

        def answering(lanes: int, part: Sequence[RandomRule] = part) -> _SideBySide:
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


def drawn(scenario: Scenario, world: World, count: int, seed: int) -> list[RandomRule]:
    """Random rules for a scenario.

    Args:
        scenario: the scenario.
        world: its train split, compiled.
        count: how many.
        seed: of the draws.
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
        kind: [int(Action.CONTINUE), *(int(a) for a, name in actions.items() if name in on)]
        for kind, actions in ACTIONS_OF.items()
    }

    def question() -> Question:
        field = str(rng.choice(fields))
        return Question(field, float(rng.choice(plays[rng.integers(len(plays))][:, INDEX[field]])))

    rules: list[RandomRule] = []
    for _ in range(count):
        actions: Any = {
            kind: tuple(rng.choice(some, LEAVES).tolist())
            for kind, some in allowed.items()
            if len(some) > 1
        }
        rules.append(RandomRule(question(), question(), question(), actions))
    return rules


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
