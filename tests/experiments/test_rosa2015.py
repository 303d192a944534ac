"""The experiments of Rosà et al.: closed forms, and the population that they share."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from experiments import (
    rosa2015,
    rosa2015_figure1,
    rosa2015_figure2,
    rosa2015_figure5,
    rosa2015_figure6,
    rosa2015_figure7,
    rosa2015_grace_periods,
)
from experiments.reproduction import Experiment, Options
from failgym.metrics import resource_reduction
from failgym.predictors.network.grace_periods import task_grace_periods
from failgym.traces import Outcome
from failgym.vocabulary import MINUTE

QUICK = Options(seeds=1, quick=True)


def test_grace_periods_are_exact() -> None:
    measured, _ = rosa2015_grace_periods.EXPERIMENT.run(Options(seeds=0))
    assert {row.verdict for row in measured.rows} == {"within"}
    assert [round(row.ours, 3) for row in measured.rows[:2]] == [103.778, 94.889]


def test_the_population_has_the_papers_percentiles() -> None:
    trace = rosa2015.population(0, jobs=12_000)
    minutes = (trace.column("attempts", "end") - trace.column("attempts", "start")) / MINUTE
    kinds = (Outcome.EVICT, Outcome.FAIL, Outcome.KILL)
    share = rosa2015.PERCENTILE
    density = NormalDist().pdf(NormalDist().inv_cdf(share)) / rosa2015.SPREAD
    for kind, expected in zip(kinds, rosa2015.CLASS_MINUTES.values(), strict=True):
        of_kind = minutes[trace.task_outcome == kind]
        error = np.sqrt(share * (1.0 - share) / len(of_kind)) / density  # of its logarithm
        assert abs(np.log(np.quantile(of_kind, share) / expected)) < 4.0 * error < 0.5
    failing = trace.column("jobs", "outcome") != Outcome.FINISH
    assert failing.mean() == pytest.approx(0.42, abs=1e-4)
    of_failing = trace.task_outcome[failing[trace.column("tasks", "job")]]
    assert np.mean(of_failing != Outcome.FINISH) == pytest.approx(0.256, abs=0.01)


def test_what_is_saved_is_what_runs_beyond_grace_periods() -> None:
    """The simulated policy and a sum over tasks agree."""
    trace, said, outcomes = rosa2015.simulated(3, 100)
    among = rosa2015.considered(trace, said)
    flagged = np.zeros(trace.rows("tasks"), dtype=np.bool_)
    flagged[among.tasks[among.flagged]] = True
    took = trace.column("attempts", "end") - trace.column("attempts", "start")
    periods = {f"grace_{k}": int(v * MINUTE) for k, v in rosa2015.CLASS_MINUTES.items()}
    left = np.where(flagged, np.minimum(took, task_grace_periods(said, periods)), took)
    unfinished = trace.task_outcome != Outcome.FINISH
    by_hand = 1.0 - left[unfinished].sum() / took[unfinished].sum()
    assert resource_reduction(outcomes.grace, outcomes.replay) == pytest.approx(by_hand, abs=1e-9)
    immediate = np.where(flagged, 0, took)
    by_hand = 1.0 - immediate[unfinished].sum() / took[unfinished].sum()
    assert resource_reduction(outcomes.immediate, outcomes.replay) == pytest.approx(by_hand)


FAST = (rosa2015_figure1, rosa2015_figure2, rosa2015_figure5, rosa2015_figure6, rosa2015_figure7)


@pytest.mark.parametrize("experiment", [module.EXPERIMENT for module in FAST])
def test_quick_runs_make_finite_rows(experiment: Experiment) -> None:
    measured, _ = experiment.run(QUICK)
    judged = [row for row in measured.rows if row.band is not None]
    assert judged
    assert all(np.isfinite(row.ours) for row in judged)


def test_waiting_saves_less_and_spares_more() -> None:
    _, _, outcomes = rosa2015.simulated(0, 300)
    saved = [
        resource_reduction(table, outcomes.replay) for table in (outcomes.grace, outcomes.immediate)
    ]
    assert 0.0 < saved[0] < saved[1]
    kills = [
        int(np.sum(table["killed"] & (outcomes.replay["outcome"] == Outcome.FINISH)))
        for table in (outcomes.grace, outcomes.immediate)
    ]
    assert kills[0] < kills[1]
