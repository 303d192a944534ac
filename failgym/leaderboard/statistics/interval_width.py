"""How wide an interval must be that knows only few slices or few training runs.

Percentiles of a bootstrap take the spread that they see for the true one, as the normal interval
does: of five training runs, 95 % intervals hold the truth nine times in ten. As Student's interval
replaces the normal one, theirs is stretched here about the estimate, by t / z (Hesterberg, "What
teachers should know about the bootstrap", The American Statistician 2015). The degrees of freedom
are those of Satterthwaite ("An approximate distribution of estimates of variance components",
Biometrics Bulletin 1946), since slices and runs of every environment each add a variance of their
own, known from so many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.leaderboard.statistics.estimators import OPTIMUM, Runs, improvements, run_scores

__all__ = [
    "Variance",
    "of_difference",
    "of_improvement",
    "of_scores",
    "stretch",
    "student",
    "unvaried",
]

Floats = npt.NDArray[np.float64]


class Variance(NamedTuple):
    """Part of an estimate's variance that one source causes: slices, or training runs."""

    size: float
    freedom: int
    """degrees of freedom: how many were seen, less one"""


UNKNOWN = Variance(math.nan, 1)
"""Variance between slices where there is but one slice."""


def of_scores(cells: Sequence[Runs]) -> list[Variance]:
    """Variances of the mean score over environments: for each, between slices and between runs."""
    return [part for cell in cells for part in (*_of_slices(cell), *_of_runs(cell))]


def of_difference(x: Sequence[Runs], y: Sequence[Runs]) -> list[Variance]:
    """Variances of the mean difference of score on the same slices."""
    parts: list[Variance] = []
    for ours, theirs in zip(x, y, strict=True):
        less = ours.saved.mean(axis=0) - theirs.saved.mean(axis=0)
        parts += _of_slices(Runs(less[None], ours.possible, ours.spent))
        parts += [*_of_runs(ours), *_of_runs(theirs)]
    return parts


def of_improvement(x: Sequence[Runs], y: Sequence[Runs]) -> list[Variance]:
    """Variances of the mean probability of improvement."""
    parts: list[Variance] = []
    for ours, theirs in zip(x, y, strict=True):
        better = improvements(ours, theirs)
        parts += _of_mean(better.mean(axis=(0, 1))) or [UNKNOWN]
        parts += [*_of_mean(better.mean(axis=(1, 2))), *_of_mean(better.mean(axis=(0, 2)))]
    return parts


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


def unvaried(value: float, counts: Sequence[int], confidence: float) -> tuple[float, float]:
    """Interval of a mean of numbers from 0 to 1 that were all the same.

    Had a share q of those that could be drawn another value, n that are alike would be drawn with
    the probability (1 - q)^n: the largest q for which that is not too rare (Clopper and Pearson,
    "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika
    1934). The others may all be 0, or all 1. For several environments of equal weight n is their
    number times the smallest count, which errs on the wide side.

    Args:
        value: what all of them were.
        counts: how many were drawn, by environment.
        confidence: of the interval [%].
    """
    rare = (1.0 - confidence / 100.0) / 2.0
    others = 1.0 - rare ** (1.0 / (len(counts) * min(counts)))
    return value * (1.0 - others), value * (1.0 - others) + others


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


def _of_slices(cell: Runs) -> list[Variance]:
    """Variance between slices of a ratio of sums, linearised about the score."""
    count, possible = len(cell.possible), cell.possible.sum()
    if count < 2 or not cell.scored():
        return [UNKNOWN]
    saved = cell.saved.mean(axis=0)
    residual = (saved - saved.sum() / possible * cell.possible) / possible
    return [Variance(float(OPTIMUM**2 * count / (count - 1) * (residual**2).sum()), count - 1)]


def _of_runs(cell: Runs) -> list[Variance]:
    return _of_mean(run_scores(cell))


def _of_mean(values: Floats) -> list[Variance]:
    """Variance of the mean of values; none from a single value."""
    if len(values) < 2:
        return []
    return [Variance(float(values.var(ddof=1)) / len(values), len(values) - 1)]
