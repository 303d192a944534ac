"""The simulation of intervals: its truths are those of large samples, and what it counts."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.interval_simulation import TAILS, Design, Law, bracket, simulated
from failgym.leaderboard.statistics.estimators import Runs


@pytest.mark.parametrize("with_room", [0.0, 5.0])
@pytest.mark.parametrize("tail", TAILS)
def test_the_truth_is_the_ratio_of_a_large_sample(tail: str, with_room: float) -> None:
    law = Law(tail, 8.0, with_room)
    saved, room = law.units(400_000, 1, np.random.default_rng(1))
    np.testing.assert_allclose(100.0 * saved.sum(axis=1) / room.sum(), law.truth(), atol=1.0)


def test_drawn_by_stake_sums_are_those_of_all_slices_on_the_mean() -> None:
    law, rng = Law("Pareto", 8.0), np.random.default_rng(2)
    drawn = [law.drawn(Design(5, 15, by_stake=True), rng) for _ in range(200)]
    saved, room = (np.array([of(each[0]) for each in drawn]) for of in (_saved, _room))
    assert 100.0 * saved.sum() / room.sum() == pytest.approx(law.truth()[0], abs=1.5)
    assert len(drawn[0][0].sampled) == 75


def _saved(runs: Runs) -> float:
    return float(runs.saved.sum())


def _room(runs: Runs) -> float:
    return float(runs.possible.sum())


def test_intervals_hold_the_truth_where_tails_are_light() -> None:
    found = simulated(Law("gamma", 8.0), Design(60, 1), 100)
    assert all(88 <= held <= 100 for held in (found.score, found.difference, found.rank))
    assert 1.0 <= found.size < 4.0


def test_the_bracket_of_a_share_is_that_of_clopper_and_pearson() -> None:
    assert bracket(0, 10) == pytest.approx((0.0, 30.85), abs=0.01)
    assert bracket(10, 10) == pytest.approx((69.15, 100.0), abs=0.01)


def test_intervals_hold_the_truth_where_few_of_the_traces_hold_much() -> None:
    """If the variance of traces counted as known from all of them, 91 in a hundred would."""
    found = simulated(Law("lognormal", 8.0), Design(30, 1), 300)
    assert 0.93 * 300 <= found.score <= 0.985 * 300
    assert 0.93 * 300 <= found.difference <= 0.985 * 300
