"""Stated qualities: the rates of recall and of false positives at rising thresholds."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

__all__ = ["KUMAR_MODELS", "Levels", "as_levels", "binormal_levels", "check_levels"]

Levels = float | tuple[float, ...]
"""One number for each threshold."""

KUMAR_MODELS: dict[str, tuple[float, float]] = {
    "shared single": (2.1, 0.8),
    "nonshared single": (2.5, 1.0),
    "nonshared multi": (3.2, 1.5),
    "system b multi": (2.8, 0.5),
}
"""Distance d' and spread s of the binormal model behind each row of Kumar et al.'s Table VIII:
scores of failing jobs are N(d', s), of the others N(0, 1). Fitted to the table's 24 cells."""


def as_levels(value: Levels) -> tuple[float, ...]:
    """The numbers of all thresholds."""
    return value if isinstance(value, tuple) else (value,)


def check_levels(thresholds: Levels, recalls: Levels, rates: Levels, prior: float) -> None:
    """Raise ValueError unless thresholds rise from above the prior, and rates fall."""
    threshold, recall, fpr = (as_levels(x) for x in (thresholds, recalls, rates))
    if not len(threshold) == len(recall) == len(fpr) > 0:
        raise ValueError("threshold, recall, fpr: expected the same number of levels")
    rising = bool(np.all(np.diff(threshold) > 0))
    if not rising or threshold[0] <= prior or threshold[-1] > 1.0 or prior < 0.0:
        raise ValueError("threshold: expected increasing levels in (prior, 1], prior >= 0")
    for name, shares in (("recall", recall), ("fpr", fpr)):
        falling = bool(np.all(np.diff(shares) < 0))
        if not falling or shares[0] > 1.0 or shares[-1] < 0.0:
            raise ValueError(f"{name}: expected decreasing shares in [0, 1]")


def binormal_levels(
    distance: float, spread: float, base_rate: float, points: int = 64
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Risks, recalls and false-positive rates along a binormal model's curve.

    From the median score of attempts that do not fail up to where the risk ceases to rise.
    """
    top = distance + 3.0 * spread
    if spread < 1.0:
        top = min(top, distance / (1.0 - spread**2))
    failing, other = NormalDist(distance, spread), NormalDist()
    odds = base_rate / (1.0 - base_rate)
    scores = [top * i / points for i in range(points)]
    ratios = [odds * failing.pdf(x) / other.pdf(x) for x in scores]
    return (
        tuple(ratio / (1.0 + ratio) for ratio in ratios),
        tuple(1.0 - failing.cdf(x) for x in scores),
        tuple(1.0 - other.cdf(x) for x in scores),
    )
