"""Other prices without playing again: the same as playing in a world that has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from failgym.baselines import REGISTRY
from failgym.cli.priced import priced
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.evaluation.repriced import (
    Factors,
    at_prices,
    factors_of,
    ranks,
    reads_prices,
    repriced,
)
from tests.envs.worlds import small

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "Cloning-v1": ({"jobs": 4_000, "slice_tasks": 8}, "reroll"),
    "Checkpoint-v1": ({"jobs": 1_500, "slice_tasks": 16, "trace_seed": 1}, "young"),
    "Mitigation-v1": ({**small("failgym/Mitigation-v1"), "charge": "episode"}, "random"),
}


@pytest.mark.parametrize("name", CASES)
def test_terms_say_what_playing_again_would_cost(name: str) -> None:
    fields, policy = CASES[name]
    scenario = resolve(name, fields)
    anchors = Anchors.of(scenario, episodes=9)
    run = anchors.run(REGISTRY[policy]())
    varied = factors_of(anchors.scenario)
    assert varied[0] == Factors()
    assert len(varied) == (5 if scenario.weight_completion else 3)
    for factors in (varied[1], varied[-1]):
        there, costs = at_prices(anchors, factors), repriced(anchors, run, factors).costs
        again = Anchors.of(there.scenario, episodes=9)
        assert again.scenario != anchors.scenario
        assert not np.allclose(costs, run.costs)
        np.testing.assert_allclose(there.replay.costs, again.replay.costs, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(there.bound, again.bound, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(there.spent, again.spent, rtol=1e-9, atol=1e-9)
        played = again.run(REGISTRY[policy]())
        np.testing.assert_allclose(costs, played.costs, rtol=1e-9, atol=1e-9)
        found, expected = there.measure(replace(run, costs=costs)), again.measure(played)
        assert found.reason == expected.reason
        assert found.score == pytest.approx(expected.score, nan_ok=True)
        assert found.cost == pytest.approx(expected.cost)


def test_ranks_of_equal_costs_are_equal() -> None:
    assert ranks([2.0, 2.0 * (1.0 + 1e-12), 1.0]) == [2, 2, 1]
    assert ranks([]) == []


class Thrifty:
    """Tries all that it may where a task is worth much, and else nothing."""

    def __init__(self, rule: str = "replay") -> None:
        self.rule = REGISTRY[rule]()

    def predict(self, observation: Any, **asked: Any) -> tuple[Any, Any]:
        return self.rule.predict(observation, **asked)

    def playing_by(self, rules: Any) -> Thrifty:
        return Thrifty("reroll" if rules.task_value >= 4.0 else "replay")


def test_who_asks_for_prices_plays_again() -> None:
    anchors = Anchors.of(resolve("Cloning-v1", CASES["Cloning-v1"][0]))
    policies: list[tuple[str, Any]] = [("thrifty", Thrifty()), ("reroll", REGISTRY["reroll"]())]
    runs = [[anchors.run(policy)] for _, policy in policies]
    prices = anchors.scenario, at_prices(anchors, factors_of(anchors.scenario)[1]).scenario
    assert [reads_prices(policy, *prices) for _, policy in policies] == [True, False]
    found = {at.name: at.rows for at in priced([anchors], policies, runs)}
    for name, (thrifty, reroll, replay) in found.items():
        assert (replay.policy, replay.score) == ("replay", 0.0), "who does nothing is ranked too"
        assert thrifty.same_as_replay == (name == "value 1")
        assert (thrifty.cost == reroll.cost) == (name != "value 1")
    assert found["value 1"][0].score == 0.0


@dataclass(frozen=True)
class Asking:
    """Asks for rules, but not for prices, as a trained agent does, and notes when it is asked."""

    rule: Any
    asked: list[int]
    every: int = 0

    def predict(self, observation: Any, **asked: Any) -> tuple[Any, Any]:
        self.asked.append(len(observation))
        return self.rule.predict(observation, **asked)

    def playing_by(self, rules: Any) -> Asking:
        return replace(self, every=rules.every)


def test_who_asks_for_other_rules_is_not_played_again() -> None:
    """One that draws its actions would draw others, which are no answer to another price."""
    anchors = Anchors.of(resolve("Cloning-v1", CASES["Cloning-v1"][0]))
    policy: Any = Asking(REGISTRY["random"](), [])
    run = anchors.run(policy)
    policy.asked.clear()
    found = priced([anchors], [("asking", policy)], [[run]])
    assert not policy.asked
    for factors, at in zip(factors_of(anchors.scenario), found, strict=True):
        assert at.rows[0].cost == pytest.approx(repriced(anchors, run, factors).costs.sum())


def test_who_changes_itself_or_cannot_be_compared_plays_again() -> None:
    here = resolve("Cloning-v1", CASES["Cloning-v1"][0])
    there = here.override(task_value=16.0)

    class Changing(Thrifty):
        def playing_by(self, rules: Any) -> Thrifty:
            return self

    @dataclass(frozen=True)
    class Holding:
        values: Any

        def playing_by(self, rules: Any) -> Holding:
            return Holding(np.full(2, rules.task_value))

    for policy in (Changing(), Holding(np.zeros(2))):
        assert reads_prices(policy, here, there)
