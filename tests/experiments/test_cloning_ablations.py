"""What a forecast and clones are worth is found on the same tasks, one change at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.cloning_ablations import AS_IT_IS, NO_CLONES, NO_FORECAST, found_on, without_clones
from failgym.baselines import Algorithm1, DecisionTree
from failgym.envs import resolve
from failgym.evaluation import evaluate

FIELDS = {"jobs": 2_000, "trace_seed": 7}
NEVER = dict.fromkeys(("first_above", "below_above", "above_above"), 1000000000.0)
CLONES = DecisionTree(
    **NEVER, window="clone nothing clone nothing", failed="retry retry give_up give_up"
)


def test_only_clones_are_taken_away() -> None:
    expected = replace(CLONES, window="nothing nothing nothing nothing")
    assert without_clones(CLONES) == expected


def test_each_variant_costs_what_it_costs_alone() -> None:
    scenario = resolve("Cloning-v1", FIELDS)
    found = found_on(scenario, CLONES)
    blind = replace(scenario, forecast="none")
    alone = {
        f"random rule, {AS_IT_IS}": (CLONES, scenario),
        f"random rule, {NO_CLONES}": (without_clones(CLONES), scenario),
        f"random rule, {NO_FORECAST}": (CLONES, blind),
        f"algorithm_1, {AS_IT_IS}": (Algorithm1(), scenario),
        f"algorithm_1, {NO_CLONES}": (Algorithm1(max_clones=0), scenario),
        f"algorithm_1, {NO_FORECAST}": (Algorithm1(), blind),
    }
    expected = {name: evaluate(*one).cost for name, one in alone.items()}
    assert {name: costs.sum() for name, costs in found.costs.items()} == pytest.approx(expected)
    assert len({round(cost, 6) for cost in expected.values()}) > 2
