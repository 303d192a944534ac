"""Intervals of sums over weeks, for all weeks at once."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from failgym.evaluation.statistics.groups import sums_with_intervals
from failgym.evaluation.statistics.interval_width import far_student, student

Floats = npt.NDArray[np.float64]


def test_of_a_group_all_tell_the_variance() -> None:
    """Units of the first group are 0 and 4, those of the second alike, the third has too few.

    Their squares, from the mean, are 24 in the first. Units less groups are 13, so a unit varies by
    24/13: six of them by 144/13. Those of the first vary by 24 * 6/5 by themselves, which is more.
    """
    values = np.array(
        [0.0, 4.0, 0.0, 4.0, 0.0, 4.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 5.0, 5.0, 5.0, 5.0]
    )
    group = np.repeat([0, 1, 3], [6, 6, 4])
    sums, low, high = sums_with_intervals(values, np.arange(16), group, 4, 5.0)
    assert sums.tolist() == [12.0, 42.0, 0.0, 20.0]
    reach = (high - low) / 2.0
    variance = np.array([24.0 * 6.0 / 5.0, 6.0 * 24.0 / 13.0])
    quantiles = reach[:2] / np.sqrt(variance)
    assert quantiles[0] == pytest.approx(quantiles[1])
    assert quantiles[0] > NormalDist().inv_cdf(1.0 - 0.025 / 2.0)  # of two groups, and few units
    assert (low + high)[:2] / 2.0 == pytest.approx(sums[:2])
    assert np.isnan([low[2:], high[2:]]).all()


def test_rows_of_a_unit_are_one() -> None:
    whole = sums_with_intervals(np.arange(6.0) ** 2, np.arange(6), np.zeros(6, int), 1, 5.0)
    values, unit = np.array([0.0, 1.0, 2.0, 9.0, 16.0, 25.0, 2.0]), np.array([0, 1, 2, 3, 4, 5, 2])
    found = sums_with_intervals(values, unit, np.zeros(7, int), 1, 5.0)
    assert not np.isnan(whole).any()
    assert np.array(found) == pytest.approx(np.array(whole))


def test_a_unit_of_two_groups_counts_in_both() -> None:
    """The fifth unit of the first group has rows in the second, whose fifth it is as well."""
    values = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 2.0, 4.0])
    unit, group = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 4]), np.repeat([0, 1], 5)
    sums, low, high = sums_with_intervals(values, unit, group, 2, 5.0)
    assert sums.tolist() == [9.0, 10.0]
    assert not np.isnan([low, high]).any()
    apart = np.where(unit == 4, 10, unit)
    once = sums_with_intervals(values, np.where(np.arange(10) == 9, 9, apart), group, 2, 5.0)
    assert np.array(once) == pytest.approx(np.array([sums, low, high]))


@pytest.mark.parametrize(
    ("values", "group"),
    [
        ([], []),
        ([1.0], [0]),
        ([1.0, 2.0], [0, 1]),
        ([0.0] * 9 + [-100.0], [0] * 9 + [1]),  # one block, never seen before
        ([-1.0] * 10, [0] * 5 + [1] * 5),
        ([0.1] * 9, [0] * 9),
    ],
)
def test_where_nothing_varies_nothing_is_known(values: list[float], group: list[int]) -> None:
    """Not that it is sure."""
    of_row = np.array(group, dtype=np.int64)
    sums, low, high = sums_with_intervals(np.array(values), np.arange(len(values)), of_row, 2, 5.0)
    assert sums == pytest.approx(np.bincount(of_row, values, 2))
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize("freedom", [1.0, 2.0, 3.0, 4.5, 10.0, 80.0])
@pytest.mark.parametrize("above", [0.025, 1e-3, 1e-5])
def test_the_quantile_far_out(freedom: float, above: float) -> None:
    t = pytest.importorskip("scipy.stats").t
    assert far_student(above, freedom) == pytest.approx(t.isf(above, freedom), rel=2e-3)


@pytest.mark.parametrize("freedom", [1.0001, 1.2, 1.5, 1.8])
def test_with_hardly_any_freedom_it_is_too_large(freedom: float) -> None:
    t = pytest.importorskip("scipy.stats").t
    assert 1.0 < far_student(1e-4, freedom) / t.isf(1e-4, freedom) < 1.2


def test_many_units_of_one_group_have_the_interval_of_students() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, 500)
    sums, low, high = sums_with_intervals(values, np.arange(500), np.zeros(500, int), 1, 5.0)
    wide = student(0.975, 499) * np.sqrt(500) * values.std(ddof=1)
    assert sums == pytest.approx([values.sum()])
    assert (high - low) / 2.0 == pytest.approx([wide], rel=0.01)


LAWS: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "normal": (lambda rng, n: rng.normal(1.0, 3.0, n), 1.0),
    "log-normal": (lambda rng, n: rng.lognormal(0.0, 1.0, n), float(np.exp(0.5))),
    "seldom": (
        lambda rng, n: (rng.random(n) < 0.2) * rng.lognormal(0.0, 1.0, n),
        0.2 * np.exp(0.5),
    ),
    "of infinite variance": (lambda rng, n: rng.pareto(1.5, n), 2.0),
}


@pytest.mark.parametrize(("error", "most"), [(5.0, 29), (0.25, 6)])
@pytest.mark.parametrize("law", LAWS)
def test_all_intervals_at_once_hold_the_truth(law: str, error: float, most: int) -> None:
    """In as many of 400 records as asked, but for chance; far out in all but a few, as is said."""
    draw, mean = LAWS[law]
    rng = np.random.default_rng(1)
    members = np.array([4, 40, 10, 20, 5, 20, 30, 1, 8, 16])
    group = np.repeat(np.arange(len(members)), members)
    missed = 0
    for _ in range(400):
        _, low, high = sums_with_intervals(
            draw(rng, len(group)), np.arange(len(group)), group, len(members), error
        )
        missed += bool(((members * mean < low) | (members * mean > high)).any())
        assert np.isnan(low).tolist() == [True, *[False] * 6, True, False, False]
    assert missed <= most
