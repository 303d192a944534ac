from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

from failgym.sim.reference import ReferenceSimulator
from tests.sim.golden import Example, examples, lines, play

EXAMPLES = list(examples())


def simulators() -> list[type[Any]]:
    found: list[type[Any]] = [ReferenceSimulator]
    if importlib.util.find_spec("failgym.sim.pinned.simulator") is not None:
        found.append(importlib.import_module("failgym.sim.pinned.simulator").PinnedSimulator)
    return found


@pytest.mark.parametrize("simulator", simulators(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_example(example: Example, simulator: type[Any]) -> None:
    played = play(example, example.simulator(simulator))
    assert played.log == lines(example.log), example.why
    assert played.accounts == example.accounts, example.why
    assert sum(played.accounts.values()) == played.busy
    assert played.illegal == example.illegal
    assert not played.unused
    if example.asked is not None:
        assert played.asked == lines(example.asked), example.why
    if example.foretold is not None:
        told = [line.rsplit(" ", 1) for line in lines(example.foretold)]
        assert played.asked == [what for what, _ in told], example.why
        assert played.risks == [np.float32(risk) for _, risk in told], example.why
    if example.cost:
        assert played.cost == example.cost, example.why


def test_names_are_unique() -> None:
    names = [example.name for example in EXAMPLES]
    assert len(names) == len(set(names))
