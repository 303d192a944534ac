"""Fits of distributions and curves, in numpy and the standard library alone.

They need no SciPy: the core install stays light, and each is a few lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 60
"""Most steps of Newton's method; it takes about six."""
PRECISION = 1e-12
"""Relative, at which an iteration stops."""
GRID = 400
"""Candidates of a curve's non-linear parameter."""


class Weibull(NamedTuple):
    """P(X > x) = exp(-(x / scale) ** shape); the scale in the unit of x."""

    shape: float
    scale: float

    def survival(self, x: npt.ArrayLike) -> Floats:
        """P(X > x)."""
        return np.exp(-((np.asarray(x, np.float64) / self.scale) ** self.shape))


class Lognormal(NamedTuple):
    """The mean and the standard deviation of log x."""

    mu: float
    sigma: float


class Correlation(NamedTuple):
    """Pearson's r of `points` pairs, and its two-sided p."""

    r: float
    p: float
    points: int


class Curve(NamedTuple):
    """A least-squares fit of a curve with parameters a and b, and its R squared."""

    a: float
    b: float
    r2: float


def fit_weibull(values: npt.ArrayLike) -> Weibull | None:
    """The maximum-likelihood Weibull of positive values; None unless two of them differ.

    Newton's method on the likelihood's derivative by the shape k, which grows with k:
    sum(x^k log x) / sum(x^k) - 1/k - mean(log x). Values are divided by their largest, so that no
    power overflows. Values that are not positive are dropped: the likelihood has no place for a
    gap of 0, which is two failures logged in the same minute.
    """
    x = _positive(values)
    if len(x) < 2 or not x.max() > x.min():
        return None
    top = float(x.max())
    logs = np.log(x / top)
    mean = float(logs.mean())
    shape = math.pi / math.sqrt(6.0) / float(logs.std())  # by moments
    for _ in range(STEPS):
        power = np.exp(shape * logs)
        total = float(power.sum())
        first = float((power * logs).sum()) / total
        second = float((power * logs * logs).sum()) / total
        slope = second - first * first + 1.0 / shape**2
        step = (first - 1.0 / shape - mean) / slope
        step = min(step, 0.9 * shape)  # stay positive
        shape -= step
        if abs(step) <= PRECISION * shape:
            break
    scale = top * float(np.exp(shape * logs).mean()) ** (1.0 / shape)
    return Weibull(shape, scale)


def fit_lognormal(values: npt.ArrayLike) -> Lognormal | None:
    """The maximum-likelihood lognormal of the positive values among these; None without any."""
    x = _positive(values)
    if not len(x):
        return None
    logs = np.log(x)
    return Lognormal(float(logs.mean()), float(logs.std()))


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> Correlation | None:
    """Pearson's r, and p of a two-sided t-test that it is 0.

    None for fewer than three points, or where all x or all y are equal.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 3:
        return None
    dx, dy = x - x.mean(), y - y.mean()
    scale = math.sqrt(float((dx * dx).sum()) * float((dy * dy).sum()))
    if not scale > 0.0:
        return None
    r = min(max(float((dx * dy).sum()) / scale, -1.0), 1.0)
    freedom = len(x) - 2
    # t = r sqrt(f / (1 - r^2)), so that f / (f + t^2) = 1 - r^2.
    return Correlation(r, incomplete_beta(freedom / 2, 0.5, (1.0 - r) * (1.0 + r)), len(x))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - beta) / a
    tiny = 1e-300
    result, c, d = 1.0, 1.0, 0.0
    for i in range(500):
        m = i // 2
        if not i:
            numerator = 1.0
        elif i % 2:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / ((1.0 + numerator * d) or tiny)
        c = (1.0 + numerator / c) or tiny
        result *= c * d
        if abs(1.0 - c * d) < PRECISION:
            break
    return front * (result - 1.0)


def fit_hinge(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve | None:
    """The least-squares y = b (x - a)+ (Kumar et al., Fig. 2); None for fewer than three points.

    The best a of a grid over the range of x, refined by a second one; b follows from a.
    """

    def basis(x: Floats, a: Floats) -> Floats:
        return np.maximum(x[None, :] - a[:, None], 0.0)

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 3 or not x.max() > x.min():
        return None
    low, high = float(x.min()), float(x.max())
    best = _search(x, y, basis, low - (high - low), high)
    return Curve(best[0], best[1], best[2])


def fit_exponential(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve | None:
    """The least-squares y = a exp(b x) (Kumar et al., Figs. 4 and 5); None below three points."""

    def basis(x: Floats, b: Floats) -> Floats:
        return np.exp(b[:, None] * (x[None, :] - x.mean()))

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 3 or not x.max() > x.min():
        return None
    steepest = 20.0 / float(x.max() - x.min())
    b, height, r2 = _search(x, y, basis, -steepest, steepest)
    return Curve(height * math.exp(-b * float(x.mean())), b, r2)


def _search(
    x: Floats, y: Floats, basis: Callable[[Floats, Floats], Floats], low: float, high: float
) -> tuple[float, float, float]:
    """The parameter in [low, high] and the factor of the basis that fit best, and R squared."""
    parameter, factor, error = low, 0.0, math.inf
    for _ in range(4):
        grid = np.linspace(low, high, GRID)
        shapes = basis(x, grid)
        norms = (shapes * shapes).sum(axis=1)
        factors = np.divide(shapes @ y, norms, out=np.zeros_like(norms), where=norms > 0.0)
        errors = ((y[None, :] - factors[:, None] * shapes) ** 2).sum(axis=1)
        best = int(errors.argmin())
        parameter, factor, error = float(grid[best]), float(factors[best]), float(errors[best])
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    spread = float(((y - y.mean()) ** 2).sum())
    return parameter, factor, 1.0 - error / spread if spread > 0.0 else 1.0


def _positive(values: npt.ArrayLike) -> npt.NDArray[Any]:
    x = np.asarray(values, np.float64)
    return x[x > 0.0]
