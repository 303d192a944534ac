"""How well forests predict: the experiments of El-Sayed et al. (ICDCS 2017, section V).

A sweep predicts the final outcome of jobs, tasks or attempts from one scenario's features, as the
paper does: trained on 70 % of the jobs, drawn at random, and measured on the others, at decision
thresholds and sampling ratios. Its features are as of these moments:

- configuration: the submission;
- usage: five minutes after the start, or the end of what ends sooner, as in the paper, which so
  includes what a short run shows only as it ends. That of a job is the mean, and the variation, of
  the first runs of its tasks that begin in its own first five minutes;
- TaskFailFlag and AttemptFailFlag of jobs and tasks: just before the end, which the paper leaves
  open. So the last failure of a job is not among them. Those of an attempt: its start.

The forecasts of `RandomForest` are stated at the moments of a run instead, and measured by
`failgym.metrics.detections`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.metrics import detection
from failgym.metrics.curves import roc_auc
from failgym.predictors.forest.cases import cases
from failgym.predictors.forest.forest import Forest, Growth
from failgym.predictors.forest.random_forest import RandomForest
from failgym.predictors.forest.rows import LEVELS, SCENARIOS
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["TARGETS", "Point", "Sweep", "sweep"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Decision thresholds (section V-A: .1 to .9, by default .5)."""
LEARNED = 0.7
"""Share of the jobs that is learned from (section V-A)."""
TARGETS = {"fail": Outcome.FAIL, "kill": Outcome.KILL}
"""The responses of Table IV."""


class Point(NamedTuple):
    """How well one threshold and one sampling ratio do."""

    ratio: float
    """Share of the most frequent class that was learned from."""
    threshold: float
    """Predicted is what has at least this share of the trees' leaves."""
    precision: float
    """Share of the predicted that come true; NaN if none is predicted."""
    recall: float
    """Share of those that come true that are predicted."""
    false_positive_rate: float
    """Share of the others that are predicted."""
    work_precision: float
    """Precision, each weighted by the machine-time that it used."""
    work_recall: float
    """Recall, weighted likewise."""


@dataclass(frozen=True)
class Sweep:
    """What a sweep measures."""

    points: tuple[Point, ...]
    """By ratio, then threshold."""
    auc: dict[float, float]
    """Area under the receiver operating characteristic, by ratio; NaN with one class only."""
    importance: dict[float, dict[str, float]]
    """Mean decrease of impurity by each feature, which sum to 1, by ratio."""
    tested: int
    """Jobs, tasks or attempts that were predicted."""
    positive: int
    """Those of them that came true."""


def sweep(
    trace: Trace,
    level: str,
    scenario: str,
    *,
    target: str = "fail",
    thresholds: Sequence[float] = THRESHOLDS,
    ratios: Sequence[float] = (1.0,),
    trees: int = 50,
    seed: int = 0,
) -> Sweep:
    """Measure precision, recall and false positives by threshold and sampling ratio.

    Args:
        trace: the trace, whole.
        level: "job", "task" or "attempt".
        scenario: "config", "usage", "flags" or "all".
        target: "fail" or "kill".
        thresholds: decision thresholds.
        ratios: sampling ratios; a forest is grown for each.
        trees: as for `RandomForest`.
        seed: draws the jobs and grows the forests.

    Raises:
        ValueError: for a name that there is not, and if either part of the jobs has nothing whose
            end is known.
    """
    for name, value, known in (
        ("level", level, LEVELS),
        ("scenario", scenario, SCENARIOS),
        ("target", target, TARGETS),
    ):
        if value not in known:
            raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    jobs = trace.rows("jobs")
    learned = np.random.default_rng(seed).permutation(jobs) < LEARNED * jobs
    case = cases(trace, level, scenario, learned)
    early, positive = learned[case.job], case.outcome == TARGETS[target]
    if not early.any() or early.all():
        raise ValueError(f"trace: no {level} whose end is known among the jobs of either part")
    label = positive.astype(np.int64)
    points: list[Point] = []
    auc: dict[float, float] = {}
    importance: dict[float, dict[str, float]] = {}
    for ratio in ratios:
        growth = Growth(trees, RandomForest.leaf, RandomForest.tree_rows, ratio, seed)
        forest = Forest.grow(case.rows[early], label[early], 2, growth)
        score = forest.shares(case.rows[~early])[:, 1]
        bad, work = positive[~early], case.work[~early]
        points += [_point(bad, score, work, ratio, threshold) for threshold in thresholds]
        auc[ratio] = roc_auc(bad, score)
        importance[ratio] = dict(zip(case.names, forest.importance.tolist(), strict=True))
    tested = positive[~early]
    return Sweep(tuple(points), auc, importance, len(tested), int(tested.sum()))


def _point(bad: Bools, score: Floats, work: Ints, ratio: float, threshold: float) -> Point:
    flagged = score >= threshold
    good = ~bad
    false = float(np.mean(flagged[good])) if good.any() else float("nan")
    precision, recall = detection(bad, flagged)
    weighted = detection(bad, flagged, work)
    return Point(ratio, threshold, precision, recall, false, *weighted)
