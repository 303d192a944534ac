"""How often the two levels err, by the learning window (Rosà et al., IWQoS 2015, Fig. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from failgym.metrics.columns import ratio
from failgym.metrics.forecasts import false_negative_rate
from failgym.predictors.base import task_classes
from failgym.predictors.network.two_level_network import TwoLevelNetwork, considered
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, Outcome

__all__ = ["Misclassified", "misclassified", "misclassified_by_days"]


class Misclassified(NamedTuple):
    """How often the two levels err (Rosà et al., section III-1); NaN where there is nothing."""

    jobs: int
    """Jobs whose end is known."""
    job_rate: float
    """Share of the jobs that are misclassified."""
    job_false_negatives: float
    """Share of the jobs that finish and are predicted not to."""
    tasks: int
    """Tasks whose end is known, of jobs predicted not to finish."""
    task_rate: float
    """Share of these tasks that are misclassified, among four classes."""
    task_false_negatives: float
    """Share of these tasks that finish and are predicted not to."""


def misclassified(trace: Trace, forecast: Forecast) -> Misclassified:
    """Compare a forecast's classes with what happened."""
    outcome, fails = trace.column("jobs", "outcome"), considered(forecast.job_confidence)
    jobs = outcome != Outcome.CENSORED
    finishing, flagged = outcome[jobs] == Outcome.FINISH, fails[jobs]
    counts = fails[trace.column("tasks", "job")] & (trace.task_outcome != Outcome.CENSORED)
    classes, said = task_classes(trace)[counts], forecast.confidence[counts].argmax(axis=1)
    return Misclassified(
        len(finishing),
        ratio(int(np.sum(finishing == flagged)), len(finishing)),
        false_negative_rate(finishing, flagged),
        len(classes),
        ratio(int(np.sum(classes != said)), len(classes)),
        false_negative_rate(classes == 0, said > 0),
    )


def misclassified_by_days(
    trace: Trace,
    days: Sequence[int] = (1, 2, 3, 4, 5),
    predictor: TwoLevelNetwork | None = None,
    boundary_share: float = 0.5,
) -> dict[int, Misclassified]:
    """How often the two levels err, by the learning window D (Rosà et al., Fig. 4).

    For each D the networks are fitted on the train split and predict the test split day by day.
    The paper chooses the D of the least sum of both rates.

    Args:
        trace: as many days as the longest D before the boundary, and some after it.
        days: values of D [days].
        predictor: whose other hyper-parameters are used; by default the paper's.
        boundary_share: share of the jobs in the train split; the paper's 29 days are halved.
    """
    base = predictor or TwoLevelNetwork()
    early, late = (trace.split(part, boundary_share) for part in ("train", "test"))
    networks = {number: replace(base, memory=number * DAY) for number in days}
    return {
        number: misclassified(late, network.fit(early).predict(late))
        for number, network in networks.items()
    }
