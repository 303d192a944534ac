"""What a search may try of each baseline: ranges hold the default, and both ends make a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from failgym.baselines import REGISTRY
from failgym.baselines.search import Range, fixed, search_space, tuned, undecided

PARAMETERS = [(name, parameter) for name in REGISTRY for parameter in search_space(REGISTRY[name])]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_range_holds_the_default_and_its_ends_make_a_policy(name: str, parameter: str) -> None:
    baseline: Any = REGISTRY[name]
    space = search_space(baseline)[parameter]
    default = getattr(baseline(), parameter)
    if isinstance(space, Range):
        assert space.low <= default <= space.high
        assert space.low < space.high
        values = [type(default)(end) for end in (space.low, space.high)]
        assert values == [space.low, space.high]  # a whole number has whole bounds
    else:
        assert space.values[0] == default
        assert len(set(space.values)) == len(space.values) > 1
        values = list(space.values)
    for value in values:
        assert getattr(baseline(**{parameter: value}), parameter) == value


@pytest.mark.parametrize("name", REGISTRY)
def test_every_parameter_says_whether_it_may_be_tuned(name: str) -> None:
    assert undecided(REGISTRY[name]) == [], "expected tuned(...), choice(...) or fixed(...)"


def test_what_is_fixed_is_not_searched() -> None:
    assert search_space(REGISTRY["random"]) == {}
    assert "window" not in search_space(REGISTRY["before_walltime"])


def test_a_parameter_that_says_nothing_is_found() -> None:
    @dataclass(frozen=True)
    class Forgetful:
        first: float = tuned(1.0, 0.0, 2.0)
        second: float = 1.0
        third: float = fixed(1.0)

    assert undecided(Forgetful) == ["second"]
