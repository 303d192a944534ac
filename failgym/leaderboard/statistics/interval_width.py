"""Where the variance of a leaderboard's estimates comes from: intervals are stretched by it.

Traces, their units (slices, or blocks of them) and the training runs of every environment each add
a variance of their own, known from so many (`failgym.evaluation.statistics.interval_width`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from failgym.evaluation.scoring import score_spread
from failgym.evaluation.statistics.interval_width import Variance
from failgym.evaluation.statistics.resampling import Spread, spread_of
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.estimators import Runs

__all__ = ["UNKNOWN", "of_runs", "over", "spread_of_mean", "spread_of_score", "unvaried"]

Floats = npt.NDArray[np.float64]

UNKNOWN = Spread(Variance(math.nan, 1), Variance(0.0, 1), 0.0)
"""Where there is but one unit."""


def spread_of_score(cell: Runs) -> Spread:
    """Of the mean score of the training runs, between traces and between their units."""
    cell = cell.by_unit()
    if len(cell.sampled) < 2 or not cell.scored():
        return UNKNOWN
    return score_spread(cell.saved.mean(axis=0), cell.possible, cell.sampled.trace)


def spread_of_mean(values: Floats, units: TracesUnits) -> Spread:
    """Of the mean of a number of each slice [slices], between traces and between their units."""
    if len(units) < 2:
        return UNKNOWN
    return spread_of(units.sums((values - values.mean()) / len(values)), units.trace)


def of_runs(values: Floats) -> list[Variance]:
    """Of the mean of a number of each training run [runs]; of a single run nothing is known."""
    if len(values) < 2:
        return []
    return [Variance(float(values.var(ddof=1)) / len(values), len(values) - 1)]


def over(parts: Sequence[Variance], environments: int) -> list[Variance]:
    """Of the mean over environments, whose variances are given together."""
    return [Variance(part.size / environments**2, part.freedom) for part in parts]


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
