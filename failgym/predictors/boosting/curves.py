"""Precision-recall curves by job type (Kumar et al., DSN 2020, Fig. 8)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.metrics.curves import PrecisionRecall, precision_recall, roc_auc
from failgym.predictors.boosting.examples import (
    JOB_TYPES,
    Target,
    failed,
    fates_known,
    job_types,
)
from failgym.traces.trace import Trace

__all__ = ["Curve", "curves"]


class Curve(NamedTuple):
    """How well attempts that fail are told from the others."""

    points: PrecisionRecall
    """Precision and recall at each threshold."""
    auc: float
    """Area under the ROC curve."""
    attempts: int
    """Attempts that count."""
    failures: int
    """Those of them that failed."""


def curves(trace: Trace, score: npt.ArrayLike, target: Target = "fail") -> dict[str, Curve]:
    """Precision-recall curves by job type (Kumar et al., Fig. 8), of a score of each attempt.

    Attempts without a score (NaN), or whose fate is not known, do not count. A job type in which
    nothing fails, or everything, has no curve.
    """
    scores = np.asarray(score, dtype=np.float64)
    bad, counts = failed(trace, target), fates_known(trace, target) & ~np.isnan(scores)
    kind = job_types(trace)[trace.column("attempts", "task")]
    result: dict[str, Curve] = {}
    for number, name in enumerate(JOB_TYPES):
        here = np.flatnonzero(counts & (kind == number))
        these, values = bad[here], scores[here]
        failures = int(np.sum(these))
        if 0 < failures < len(here):
            points = precision_recall(these, values)
            result[name] = Curve(points, roc_auc(these, values), len(here), failures)
    return result
