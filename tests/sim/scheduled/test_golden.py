from __future__ import annotations

from typing import Any

import pytest

from failgym.sim.reference.scheduled import ReferenceScheduledSimulator
from failgym.sim.scheduled import ScheduledSimulator
from tests.sim.golden import lines
from tests.sim.scheduled.golden import Example, examples, play

EXAMPLES = list(examples())
SIMULATORS = [ReferenceScheduledSimulator, ScheduledSimulator]


@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_example(example: Example, simulator: type[Any]) -> None:
    played = play(example, example.simulator(simulator))
    assert played.log == lines(example.log), example.why
    assert played.accounts == example.accounts, example.why
    assert sum(played.accounts.values()) == played.busy
    assert played.outcomes == example.outcomes, example.why
    assert played.illegal == example.illegal
    assert not played.unused
    if example.asked is not None:
        assert played.asked == lines(example.asked), example.why
    if example.cost:
        assert played.cost == example.cost, example.why
    if example.queries:
        assert sorted(played.queries) == sorted(lines(example.queries)), example.why


def test_names_are_unique() -> None:
    names = [example.name for example in EXAMPLES]
    assert len(names) == len(set(names))
