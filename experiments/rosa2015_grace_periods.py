"""Grace periods of tasks, and the features that the forecasts of Rosà et al. are made from.

Claim
    The grace period of a task is the sum of the class grace periods of 324, 56 and 83 minutes
    (evict, fail, kill), weighted by the prediction confidences of these classes (Rosà, Chen and
    Binder, IWQoS 2015, sections III-4 and IV-2). Features: 10 static ones of a job, 5 of a task,
    36 of the system (section III-2).

Kind and band
    Exact: closed form, and counts. The paper has no worked example; the values for two sets of
    confidences are worked by hand.

Choices
    - The confidence of finish has no weight: the three others are normalised among themselves.
    - The paper names four features of a task and nine of a job; the scheduling class is taken for
      the one that is missing. System features: arrivals, throughput and number of tasks, of the
      same, lower and higher priority, their values and changes, as means and standard deviations.
"""

from __future__ import annotations

import numpy as np

from experiments.reproduction import Experiment, Kind, Measured, Options, Row, within
from experiments.rosa2015 import CLASS_MINUTES
from failgym.evaluation.progress import Advance
from failgym.metrics import grace_period
from failgym.predictors.features.static import JOB_STATIC, TASK_STATIC
from failgym.predictors.features.system import SYSTEM

EXAMPLES = (
    ((0.1, 0.2, 0.6), (0.1 * 324 + 0.2 * 56 + 0.6 * 83) / 0.9),
    ((0.05, 0.05, 0.8), (0.05 * 324 + 0.05 * 56 + 0.8 * 83) / 0.9),
)
"""Confidences of evict, fail and kill, and the grace period [min]: 103.778 and 94.889."""
EXACT = 1e-9
CORNERS = np.eye(3)


def measure(options: Options, advance: Advance) -> Measured:
    """Closed forms and counts."""
    rows = [
        Row(f"GP of confidences {said} [min]", hand, ours, band=within(hand, EXACT))
        for said, hand in EXAMPLES
        for ours in [float(grace_period(*said))]
    ]
    for name, minutes, ours in zip(
        CLASS_MINUTES,
        CLASS_MINUTES.values(),
        grace_period(CORNERS[0], CORNERS[1], CORNERS[2]),
        strict=True,
    ):
        rows.append(Row(f"CG {name} [min]", minutes, float(ours), band=within(minutes, EXACT)))
    for name, features, paper in (
        ("job static", JOB_STATIC, 10),
        ("task static", TASK_STATIC, 5),
        ("system", SYSTEM, 36),
    ):
        count = len(set(features))
        rows.append(Row(f"{name} features", paper, count, band=(paper, paper)))
    advance(1)
    return Measured(tuple(rows))


EXPERIMENT = Experiment(
    paper="Rosà et al. 2015",
    item="grace periods",
    title="grace periods of tasks, numbers of features",
    kind=Kind.EXACT,
    measure=measure,
    seeds=0,
)

if __name__ == "__main__":
    EXPERIMENT.command()
