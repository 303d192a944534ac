"""The simulation of intervals of weeks: its means are those of large samples, and what counts."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.period_intervals import LAWS, Design, Law, simulated


@pytest.mark.parametrize("name", [name for name in LAWS if not name.startswith("Pareto")])
def test_the_mean_is_that_of_a_large_sample(name: str) -> None:
    law = LAWS[name]
    drawn = law.draw(np.random.default_rng(0), 400_000)
    assert abs(drawn.mean() - law.mean) < 4.0 * drawn.std() / np.sqrt(len(drawn))


def test_the_mean_of_the_law_without_variance() -> None:
    """Of a Pareto law cut at its quantile q the mean is known, whatever lies above."""
    drawn = LAWS["Pareto, 1.5"].draw(np.random.default_rng(0), 400_000)
    cut = 0.01 ** (-1.0 / 1.5)  # one in a hundred lies above cut - 1
    below = drawn[drawn < cut - 1.0]
    mean = 1.5 / 0.5 * (1.0 - cut**-0.5) - (1.0 - cut**-1.5)  # of those below, by integration
    assert below.sum() / len(drawn) == pytest.approx(mean, rel=0.02)
    assert LAWS["Pareto, 1.5"].mean == pytest.approx(1.5 / 0.5 - 1.0)


@pytest.mark.parametrize("unlike", [False, True])
def test_a_wrong_mean_is_missed(unlike: bool) -> None:
    """What is counted can fail: blocks of a known law, and a truth that is not theirs."""
    law, design = LAWS["normal"], Design(4, 200, 300, unlike, 5.0)
    held = simulated("", law, design, 60)
    assert held.records >= 52
    wrong = simulated("", Law(law.mean + 2.0, law.draw), design, 60)
    assert (wrong.records, wrong.trials) == (0, 60)
