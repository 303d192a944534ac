"""Where the variance of a leaderboard's estimates comes from: intervals are stretched by it.

Slices and runs of every environment each add a variance of their own, known from so many
(`failgym.evaluation.statistics.interval_width`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from failgym.evaluation.statistics.interval_width import Variance
from failgym.leaderboard.statistics.estimators import OPTIMUM, Runs, improvements, run_scores

__all__ = ["of_difference", "of_improvement", "of_scores", "unvaried"]

Floats = npt.NDArray[np.float64]


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
