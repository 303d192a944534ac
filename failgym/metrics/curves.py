"""Scores against what happened: precision and recall at every threshold, and the ROC's area."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.metrics.columns import ratio

__all__ = [
    "PrecisionRecall",
    "average_precision",
    "binormal",
    "binormal_auc",
    "precision_recall",
    "roc_auc",
]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class PrecisionRecall(NamedTuple):
    """A precision-recall curve: one point for each distinct score, the highest first."""

    threshold: Floats
    """[points] Flagged is what reaches it; falling."""
    precision: Floats
    """[points] Share of the flagged that are bad."""
    recall: Floats
    """[points] Share of the bad that are flagged; rising to 1. NaN if nothing is bad."""


def precision_recall(bad: Bools, score: npt.ArrayLike) -> PrecisionRecall:
    """Precision and recall of flagging what scores at least as high, at each score that occurs."""
    scores = np.asarray(score, dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], len(ranked) > 0)[: len(ranked)])
    right = np.cumsum(bad[order])[last].astype(np.float64)
    total = float(np.sum(bad))
    recall = right / total if total else np.full(len(last), np.nan)
    return PrecisionRecall(ranked[last], right / (last + 1.0), recall)


def average_precision(bad: Bools, score: npt.ArrayLike) -> float:
    """The mean precision over recall, as steps; NaN if nothing is bad."""
    curve = precision_recall(bad, score)
    if not np.any(bad):
        return float("nan")
    return float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))


def roc_auc(bad: Bools, score: npt.ArrayLike) -> float:
    """The probability that something bad scores higher than something that is not, ties half.

    NaN if nothing is bad or everything.
    """
    scores = np.asarray(score, dtype=np.float64)
    good = np.sort(scores[~bad])
    below = np.searchsorted(good, scores[bad], side="left")
    upto = np.searchsorted(good, scores[bad], side="right")
    return ratio(float(np.sum(below + upto)) / 2.0, float(np.sum(bad)) * len(good))


def binormal(
    distance: float, spread: float, base_rate: float, threshold: npt.ArrayLike
) -> PrecisionRecall:
    """Precision and recall of scores that are normal: of the bad N(distance, spread), else N(0, 1).

    A share `base_rate` is bad; one point for each threshold, in the order given. Where so few are
    flagged that the arithmetic underflows the precision is NaN.
    """
    at = np.asarray(threshold, dtype=np.float64)
    recall, fpr = _above((at - distance) / spread), _above(at)
    right, wrong = base_rate * recall, (1.0 - base_rate) * fpr
    with np.errstate(invalid="ignore"):
        return PrecisionRecall(at, right / (right + wrong), recall)


def binormal_auc(distance: float, spread: float) -> float:
    """The area under the ROC curve of `binormal` scores: P(bad scores higher than good)."""
    return float(_above(np.array([-distance / math.hypot(1.0, spread)]))[0])


def _above(score: Floats) -> Floats:
    """P(a standard normal number is larger), exact in the tail too."""
    return np.array([0.5 * math.erfc(x / math.sqrt(2.0)) for x in score.tolist()])
