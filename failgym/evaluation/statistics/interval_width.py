"""How wide an interval must be that knows only few sampling units, traces or training runs.

Percentiles of a bootstrap take the spread that they see for the true one, as the normal interval
does: of five training runs, 95 % intervals hold the truth nine times in ten. As Student's interval
replaces the normal one, theirs is stretched here about the estimate, by t / z (Hesterberg, "What
teachers should know about the bootstrap", The American Statistician 2015). The degrees of freedom
are those of Satterthwaite ("An approximate distribution of estimates of variance components",
Biometrics Bulletin 1946), since each source adds a variance of its own, known from so many.

How many units a variance is known from is not how many there are: where a few jobs hold most of
what can be gained, it is as uncertain as if there were these few (`freedom_of`). So it is with
traces.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "MANY_TRACES",
    "Variance",
    "far_student",
    "freedom_of",
    "stretch",
    "stretched",
    "student",
]

Floats = npt.NDArray[np.float64]

MANY_TRACES = 3
"""Traces from which on the fourth moment of their units is taken as known."""


class Variance(NamedTuple):
    """Part of an estimate's variance that one source causes: units, traces or training runs."""

    size: float
    freedom: float
    """degrees of freedom: how many were seen that matter, less one"""


def freedom_of(parts: Floats, traces: int = 1) -> float:
    """Degrees of freedom of the variance of a sum of independent parts.

    The number of equal parts with the same second and fourth moments is d = (sum of squares)^2 /
    (sum of fourth powers). Of n parts the variance is known with 2 d / (1 - d / n) degrees of
    freedom if the sample tells the fourth moment (Satterthwaite): n - 1 for parts of a normal law,
    of which d is about n / 3. One or two traces do not tell it where tails are heavy: the largest
    units are still to come. Then half as many degrees are taken. `experiments.interval_coverage`
    shows how often intervals that are stretched by it hold the truth; the factor was chosen on
    other traces than those in docs/results/README.md.

    Args:
        parts: what each unit, or each trace, adds to the estimate, less its mean [units].
        traces: how many traces they are of.
    """
    count, squares = len(parts), parts**2
    fourth = float((squares**2).sum())
    if fourth <= 0.0:
        return float(max(count - 1, 1))
    like = float(squares.sum()) ** 2 / fourth
    if like >= count:
        return count - 1.0
    factor = 2.0 if traces >= MANY_TRACES else 1.0
    return min(factor * like / (1.0 - like / count), count - 1.0)


def stretched(
    value: float,
    ends: tuple[float, float],
    parts: Sequence[Variance],
    confidence: float,
    *,
    whole: bool = True,
) -> tuple[float, float]:
    """The percentiles of a bootstrap, stretched about the estimate.

    Percentiles of few traces lie within what can be drawn of them: at least as wide as the interval
    of a normal law with the same variance it has to be.

    Args:
        value: the estimate.
        ends: the percentiles.
        parts: the variances that add up to that of the estimate.
        confidence: of the interval [%].
        whole: do they add up to it? Of an estimate that leaves something out, a median, they only
            say how surely its variance is known.

    Returns:
        NaN where a variance is unknown.
    """
    (low, high), wider = ends, stretch(parts, confidence)
    if math.isnan(wider):
        return math.nan, math.nan
    if not high > low:
        return low, high
    deviation = math.sqrt(sum(part.size for part in parts)) if whole else 0.0
    least = 2.0 * NormalDist().inv_cdf(0.5 + confidence / 200.0) * deviation
    wider *= max(1.0, least / (high - low))
    return value + wider * (low - value), value + wider * (high - value)


def stretch(parts: Iterable[Variance], confidence: float) -> float:
    """By how much a percentile interval is stretched about its estimate, at least 1.

    Args:
        parts: the variances that add up to that of the estimate.
        confidence: of the interval [%].

    Returns:
        NaN if one of the variances is unknown: no interval is then right.
    """
    found = [part for part in parts if part.size != 0.0]
    if not found:
        return 1.0
    total = sum(part.size for part in found)
    freedom = total**2 / sum(part.size**2 / part.freedom for part in found)
    tail = 0.5 + confidence / 200.0
    return student(tail, freedom) / NormalDist().inv_cdf(tail)


def student(probability: float, freedom: float) -> float:
    """Quantile of Student's t, as a series in 1 / degrees of freedom.

    Abramowitz and Stegun, "Handbook of mathematical functions" (1964), 26.7.5. At 97.5 % it is
    0.2 % short with four degrees of freedom, 5 % with two, and a third with one.
    """
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


def far_student(above: float, freedom: float) -> float:
    """Quantile of Student's t, however far out and however few the degrees of freedom.

    `student` stays beside it, since the published intervals and those of the browser go by it.

    Hill, "Algorithm 396: Student's t-quantiles", Communications of the ACM 1970. From 1.8 degrees
    on it is right to .2 % for ``above`` up to .05; with fewer, but for 1, it is too large: by 5 %
    with 1.2 degrees, 18 % just above 1.

    Args:
        above: chance that more is drawn, 0 to .5.
        freedom: degrees of freedom, at least 1.
    """
    p, n = 2.0 * above, freedom
    if n == 1.0:
        return 1.0 / math.tan(math.pi * above)
    if n == 2.0:
        return math.sqrt(2.0 / (p * (2.0 - p)) - 2.0)
    a = 1.0 / (n - 0.5)
    b = (48.0 / a) / a
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * math.sqrt(a * math.pi / 2.0) * n
    y = (d * p) ** (2.0 / n)
    if y > 0.05 + a:
        x = -NormalDist().inv_cdf(above)
        y = x * x
        if n < 5.0:
            c += 0.3 * (n - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0))
            * y
            - 1.0
        ) * (n + 1.0) / (n + 2.0) + 1.0 / y
    return math.sqrt(n * y)
