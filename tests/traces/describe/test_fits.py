"""The fits: against known answers, against a search, and on what has no answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failgym.traces.describe.fits import (
    fit_exponential,
    fit_hinge,
    fit_lognormal,
    fit_weibull,
    incomplete_beta,
    pearson,
)


def log_likelihood(x: np.ndarray, shape: float, scale: float) -> float:
    z = x / scale
    return float((math.log(shape / scale) + (shape - 1) * np.log(z) - z**shape).sum())


@pytest.mark.parametrize(("shape", "scale"), [(0.4, 3.0), (0.741, 493.0), (1.0, 1.0), (5.0, 1e9)])
def test_a_weibull_is_the_likeliest(shape: float, scale: float) -> None:
    x = scale * np.random.default_rng(1).weibull(shape, 20_000)
    fit = fit_weibull(np.append(x, 0.0))  # a gap of 0 is left out
    assert fit is not None
    assert fit.shape == pytest.approx(shape, rel=0.02)
    assert fit.scale == pytest.approx(scale, rel=0.05)
    best = log_likelihood(x, *fit)
    for a in (0.999, 1.001):
        assert log_likelihood(x, fit.shape * a, fit.scale) < best
        assert log_likelihood(x, fit.shape, fit.scale * a) < best
    assert fit.survival(fit.scale) == pytest.approx(math.exp(-1))


@given(st.lists(st.floats(1e-3, 1e15), min_size=2, max_size=50))
def test_a_weibull_is_found_wherever_there_is_one(values: list[float]) -> None:
    fit = fit_weibull(values)
    if max(values) > min(values) * (1 + 1e-9):
        assert fit is not None
        assert 0 < fit.shape < math.inf
        assert fit.scale <= max(values) * (1 + 1e-9)


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0, 2.0], [0.0, 0.0], [0.0, 5.0]])
def test_no_weibull_of_values_that_do_not_differ(values: list[float]) -> None:
    assert fit_weibull(values) is None


def test_a_lognormal() -> None:
    fit = fit_lognormal([0.0, 1.0, math.e**2])
    assert fit is not None
    assert fit == pytest.approx((1.0, 1.0))
    assert fit_lognormal([0.0]) is None


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [(1, 1, 0.3), (2, 1, 0.3), (0.5, 0.5, 0.5), (2, 3, 0.4), (50, 0.5, 0.9), (8, 30, 0.2)],
)
def test_the_incomplete_beta_is_an_area(a: float, b: float, x: float) -> None:
    t = (np.arange(400_000) + 0.5) / 400_000 * x  # midpoints
    beta = math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
    area = float((t ** (a - 1) * (1 - t) ** (b - 1)).mean()) * x / beta
    assert incomplete_beta(a, b, x) == pytest.approx(area, rel=2e-3)
    assert incomplete_beta(b, a, 1 - x) == pytest.approx(1 - area, rel=2e-3)


def test_the_incomplete_beta_in_closed_form() -> None:
    assert incomplete_beta(2, 3, 0.4) == pytest.approx(0.5248)
    assert incomplete_beta(3, 2, 0.0) == 0.0
    assert incomplete_beta(3, 2, 1.0) == 1.0


def test_pearson() -> None:
    # Anscombe's first quartet: r = .816, p = .00217.
    x = [10.0, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5]
    y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]
    found = pearson(x, y)
    assert found is not None
    assert found == pytest.approx((0.81642, 0.00217, 11), rel=2e-3)
    assert pearson(x, [-v for v in y]) == pytest.approx((-0.81642, 0.00217, 11), rel=2e-3)
    # Student's t with one degree of freedom is Cauchy's: r = .5 is t = 1 / sqrt(3), p = 2/3.
    three = pearson([0.0, 1.0, 2.0], [0.0, math.sqrt(3) + 1, 2.0])
    assert three is not None
    t = three.r / math.sqrt(1 - three.r**2)
    assert three.p == pytest.approx(1 - 2 / math.pi * math.atan(abs(t)), rel=1e-9)
    perfect = pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert perfect is not None
    assert perfect[:2] == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))
    assert pearson([1.0, 2.0], [1.0, 2.0]) is None
    assert pearson([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


def test_the_p_values_of_the_paper_go_with_a_hundred_bins() -> None:
    """Kumar et al., Table V: r = .83 with p = 1.7e-28, and r = -.36 with p = 9.8e-5."""

    def p(r: float, points: int) -> float:
        return incomplete_beta((points - 2) / 2, 0.5, 1 - r * r)

    assert p(0.83, 115) < 1.7e-28 < p(0.83, 100)
    assert p(0.36, 120) < 9.8e-5 < p(0.36, 100)


def test_curves_find_their_parameters() -> None:
    x = np.linspace(0.0, 10.0, 60)
    hinge = fit_hinge(x, 0.3 * np.maximum(x - 4.0, 0.0))
    assert hinge == pytest.approx((4.0, 0.3, 1.0), rel=1e-3)
    line = fit_hinge(x, 2.0 + 0.5 * x)  # no bend in sight
    assert line == pytest.approx((-4.0, 0.5, 1.0), rel=1e-3)
    falling = fit_exponential(x, 0.04 * np.exp(-0.48 * x))
    assert falling == pytest.approx((0.04, -0.48, 1.0), rel=1e-3)
    flat = fit_hinge(x, np.zeros(60))
    assert flat is not None
    assert flat.b == 0.0
    assert fit_hinge([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]) is None
    assert fit_exponential([1.0, 2.0], [0.0, 1.0]) is None
