"""Ranks of policies: by hand, against brute force, and how often their sets hold the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from failgym.evaluation.statistics.interval_width import Variance
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.bootstrap import Bootstrap
from failgym.leaderboard.statistics.estimators import Runs
from failgym.leaderboard.statistics.ranks import Differences, Rank, rank_set, ranks

Floats = npt.NDArray[np.float64]


def drawn(rng: np.random.Generator, *scores: float, traces: int = 60) -> list[list[Runs]]:
    """Policies of these scores on as many traces, each one unit, few of which hold much."""
    room = np.exp(rng.standard_normal(traces))
    units = TracesUnits(np.arange(traces), np.arange(traces))
    shared = 20.0 * rng.standard_normal(traces)
    noise = 10.0 * rng.standard_normal((len(scores), traces))
    share = np.array(scores)[:, None] + shared + noise
    return [[Runs((each / 100.0 * room)[None], room, room, units)] for each in share]


def differences(value: list[float], deviation: float, samples: int = 4_000) -> Differences:
    """Normal ones, independent, whose variance is known."""
    values = np.array(value)
    noise = deviation * np.random.default_rng(1).standard_normal((samples, len(value)))
    return Differences(values, values + noise, [[Variance(deviation**2, 1e9)]] * len(value))


def test_a_rank_is_between_those_surely_better_and_surely_worse() -> None:
    # Of four others: two are far above it, one is as good as it, one is far below.
    assert rank_set(differences([-50.0, -20.0, 0.5, 30.0], 1.0), 95.0) == Rank(3, 3, 4)
    assert rank_set(differences([0.5, -0.5], 1.0), 95.0) == Rank(2, 1, 3)


def test_all_differences_hold_at_once() -> None:
    """2.2 deviations are enough for one difference alone, and too few for one of ten."""
    assert rank_set(differences([2.2], 1.0), 95.0) == Rank(1, 1, 1)
    many = rank_set(differences([2.2] + 9 * [0.1], 1.0), 95.0)
    assert many == Rank(1, 1, 11)


def test_what_is_decided_makes_way_for_the_rest() -> None:
    """Stepdown. Of ten differences, that they are not above 0 and not below it, 20 hypotheses, ask
    for 2.8 deviations (Sidak); the eleven that are left where nine are decided for 2.6.
    """
    alone = rank_set(differences([2.7] + 9 * [0.0], 1.0, 40_000), 95.0)
    beside = rank_set(differences([2.7] + 9 * [50.0], 1.0, 40_000), 95.0)
    assert alone.high == 11
    assert beside == Rank(1, 1, 1)


def test_policies_that_act_alike_are_tied() -> None:
    rng = np.random.default_rng(2)
    best, other = drawn(rng, 60.0, 20.0)
    assert ranks([best, best, other], Bootstrap()) == [Rank(1, 1, 2), Rank(1, 1, 2), Rank(3, 3, 3)]
    assert ranks([other, other], Bootstrap()) == [Rank(1, 1, 2)] * 2


def test_a_difference_that_never_varies_is_sure() -> None:
    [first] = drawn(np.random.default_rng(3), 30.0)
    above = [cell._replace(saved=cell.saved + 0.1 * cell.possible) for cell in first]
    assert ranks([first, above], Bootstrap()) == [Rank(2, 2, 2), Rank(1, 1, 1)]


def test_a_single_unit_says_nothing_of_ranks() -> None:
    room = np.array([2.0])
    assert ranks([[Runs(np.array([[x]]), room)] for x in (1.0, 0.5)], Bootstrap()) == [
        Rank(1, 1, 2),
        Rank(2, 1, 2),
    ]


def test_where_there_is_nothing_to_gain_there_are_no_ranks() -> None:
    nothing = Runs(np.zeros((1, 9)), np.zeros(9))
    assert ranks([[nothing], [nothing]], Bootstrap()) == [Rank(1, 1, 2)] * 2


def test_policies_are_of_the_same_environments() -> None:
    [one] = drawn(np.random.default_rng(4), 30.0)
    with pytest.raises(ValueError, match="expected the same number of environments"):
        ranks([one, [*one, *one]], Bootstrap())


@pytest.mark.parametrize("blocks", [1, 5])
def test_the_set_of_two_policies_is_what_their_difference_says(blocks: int) -> None:
    """Brute force: `Bootstrap.difference` draws each pair for itself."""
    agreed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, y = drawn(rng, 30.0 + seed / 4.0, 30.0, traces=60)
        units = TracesUnits(np.arange(60), np.arange(60) // blocks)
        x, y = ([cell._replace(units=units) for cell in each] for each in (x, y))
        found = Bootstrap(seed).difference(x, y)
        sure = found.low > 0.0 or found.high < 0.0
        agreed += sure == (ranks([x, y], Bootstrap(seed))[0] in (Rank(1, 1, 1), Rank(2, 2, 2)))
    assert agreed >= 36  # the one is symmetric, the other between percentiles


def test_policies_of_several_environments_are_ranked_by_their_mean() -> None:
    rng = np.random.default_rng(5)
    one, other = drawn(rng, 60.0, 10.0), drawn(rng, 20.0, 50.0)
    policies = [[*a, *b] for a, b in zip(one, other, strict=True)]
    first, second = ranks(policies, Bootstrap())
    assert (first.value, second.value) == (1, 2)
    assert first.high == 1
    assert second.low == 2


def test_sets_of_ranks_hold_the_truth() -> None:
    """Eight policies, two points apart: the naive interval, of ranked samples, fails here."""
    rng, trials, held = np.random.default_rng(6), 150, 0
    scores = 40.0 - 2.0 * np.arange(8)
    for trial in range(trials):
        [found] = ranks(drawn(rng, *scores.tolist()), Bootstrap(trial % 8, 400), only=[0])
        held += found.low <= 1 <= found.high
    assert held >= 0.93 * trials
