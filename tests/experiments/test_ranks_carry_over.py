"""How far ranks carry over: taus against scipy's, halves by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kendalltau

from experiments.rank_correlation import tau_b
from experiments.ranks_carry_over import Played, carried_over, tau_of_halves

Floats = npt.NDArray[np.float64]


def played(scores: tuple[float, ...], noise: float, seed: int, jobs: int = 200) -> Played:
    """Rules of these scores on jobs of their own."""
    rng = np.random.default_rng(seed)
    possible = rng.exponential(size=jobs)
    share = np.array(scores) / 100.0 + noise * rng.standard_normal((jobs, len(scores)))
    names = tuple(f"rule_{at}" for at in range(len(scores)))
    return Played(names, share * possible[:, None], possible, np.arange(jobs) // 5)


def kendall(first: Floats, second: Floats) -> float:
    found: Any = kendalltau(first, second)
    return float(found.statistic)


def test_tau_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 4, (50, 6)).astype(float) for _ in range(2))
    expected = [kendall(*pair) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(tau_b(first, second), expected)
    assert np.isnan(tau_b(np.zeros(3), np.arange(3.0)))


def test_halves_share_no_job() -> None:
    """Two jobs that say the opposite: halves of one each always disagree."""
    found = Played(("a", "b"), np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2), np.arange(2))
    assert tau_of_halves(found, np.ones(2), 20, np.random.default_rng(0)) == -1.0


def test_where_rules_are_far_apart_all_agree_and_the_ratio_is_1() -> None:
    traces = [played((10.0, 30.0, 50.0, 70.0), 0.1, seed) for seed in range(4)]
    found = carried_over("made up", "any", traces[0], traces[1], traces[2:])
    assert found.halves == found.twins == found.past == found.ratio == (1.0, 1.0, 1.0)


def test_the_ratio_is_that_of_the_mean_of_twins_to_halves() -> None:
    traces = [played((40.0, 45.0, 50.0, 55.0), 2.0, seed) for seed in range(4)]
    found = carried_over("made up", "any", traces[0], traces[1], traces[2:])
    whole = [each.scores(np.ones((1, 200)))[0] for each in traces]
    twins = np.mean([kendall(whole[0], of) for of in whole[2:]])
    assert found.twins.value == pytest.approx(twins)
    assert found.ratio.value == pytest.approx(twins / found.halves.value)


def test_rules_that_act_on_all_traces_are_ranked() -> None:
    traces = [played((10.0, 30.0, 50.0, 70.0), 0.1, seed) for seed in range(3)]
    some = traces[1].of(("rule_3", "rule_0", "rule_1"))
    assert carried_over("x", "any", traces[0], some, traces[2:]).rules == (
        "rule_0",
        "rule_1",
        "rule_3",
    )
    with pytest.raises(ValueError, match="2 rules act on all traces, expected 3"):
        carried_over("x", "any", traces[0], some.of(("rule_0", "rule_1")), traces[2:])
