"""What no paper did: the quality of forecasts, each other's worlds, and the price of open loops."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.cross_table import PLACES, policies
from experiments.forecast_sensitivity import CASES, Case, attempt_alarms, task_alarms
from experiments.open_loop import (
    ALL,
    FAILING,
    MEDIAN,
    OTHERS,
    WORK,
    Fates,
    failing,
    fates,
    gains,
    profile,
    ran,
)
from failgym.baselines import REGISTRY, Replay
from failgym.envs import SCENARIOS
from failgym.predictors import Calibrated
from failgym.traces import Outcome, Trace
from failgym.traces.synthetic import generate

CLONING, KILLING = SCENARIOS["Cloning-v1"], SCENARIOS["GracePeriod-v1"]


@pytest.fixture(scope="module")
def jobs() -> Trace:
    return generate(profile(), jobs=60, seed=1, usage=False)


def flagged_attempts(
    forecast: Calibrated, trace: Trace
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    told = forecast.predict(trace)
    high = np.concatenate([[0], np.cumsum(told.risk >= 1.0)])
    return np.diff(high[told.offset]) > 0


@pytest.mark.parametrize(("recall", "precision"), [(0.5, 1.0), (0.75, 0.7), (0.95, 0.6)])
def test_alarms_have_the_recall_and_precision_that_are_asked_for(
    recall: float, precision: float
) -> None:
    trace = generate("google-2011-failing", jobs=400, seed=1, usage=False)
    fails = trace.column("attempts", "outcome") == Outcome.FAIL
    forecast = attempt_alarms(CLONING, trace, recall, precision)
    assert forecast is not None
    flagged = flagged_attempts(forecast, trace)
    assert flagged[fails].mean() == pytest.approx(recall, abs=0.04)
    assert fails[flagged].mean() == pytest.approx(precision, abs=0.04)


def test_classes_have_the_recall_and_precision_that_are_asked_for() -> None:
    trace = generate("google-2011", jobs=600, seed=1, usage=False)
    forecast = task_alarms(KILLING, trace, 0.75, 0.7)
    assert forecast is not None
    flagged = forecast.predict(trace).confidence.argmax(axis=1) > 0
    job = trace.column("jobs", "outcome")[trace.column("tasks", "job")]
    considered = (job != Outcome.FINISH) & (job != Outcome.CENSORED)
    fate = trace.task_outcome
    lost = considered & (fate != Outcome.FINISH) & (fate != Outcome.CENSORED)
    known = flagged & (fate != Outcome.CENSORED)
    assert not flagged[~considered & (fate != Outcome.CENSORED)].any()
    assert flagged[lost].mean() == pytest.approx(0.75, abs=0.04)
    assert lost[known].mean() == pytest.approx(0.7, abs=0.04)


def test_a_precision_below_that_of_flagging_everything_is_none(jobs: Trace) -> None:
    assert attempt_alarms(CLONING, jobs, 1.0, 1e-6) is None
    assert task_alarms(KILLING, jobs, 1.0, 1e-6) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.env)
def test_policies_are_compatible_with_their_environment(case: Case) -> None:
    for make in case.policies.values():
        assert make(0.5, 0.5).compatible(SCENARIOS[case.env])


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != Replay.name])
def test_every_baseline_has_a_place_in_the_cross_table(name: str) -> None:
    assert any(policy.name == name for place in PLACES for policy in policies(place.scenario(0)))


def test_policies_meet_each_others_worlds() -> None:
    found = {p.env: {x.name for x in policies(p.scenario(0))} for p in PLACES}
    assert {"young", "algorithm_1", "grace_period"} <= found["Cloning-v1"]
    assert found["Cloning-v1"] == found["GracePeriod-v1"] == found["Checkpoint-v1"]
    assert found["Cloning-v1"] == found["Mitigation-v1"]


def test_checkpoints_are_never_free() -> None:
    for place in PLACES[:4]:
        scenario = place.scenario(0)
        assert scenario.checkpoint_cost == scenario.restore_cost == 60_000
        assert scenario.weight_overhead == scenario.weight_wasted > 0.0


def test_gains_are_ratios_over_the_tasks_that_are_meant() -> None:
    before = Fates(np.array([10.0, 20.0, 0.0, 30.0]), 100.0)
    after = Fates(np.array([5.0, 20.0, 0.0, 33.0]), 110.0)
    found = gains(after, before, np.array([True, True, False, False]))
    assert found[ALL] == pytest.approx(58 / 60)
    assert found[FAILING] == pytest.approx(25 / 30)
    assert found[OTHERS] == pytest.approx(33 / 30)
    assert found[MEDIAN] == pytest.approx(0.75)
    assert found[WORK] == pytest.approx(1.1)


def test_clones_delay_nobody_in_the_open_loop(jobs: Trace) -> None:
    before, after = fates(jobs, None, None), fates(jobs, None, 0.1)
    assert len(before.time) == len(after.time) == ran(jobs).sum() == len(failing(jobs))
    assert (after.time <= before.time).all()
    assert (after.time < before.time).any()
    assert not (after.time < before.time)[~failing(jobs)].all()


def test_in_a_loaded_cluster_others_wait_for_clones(jobs: Trace) -> None:
    before, after = fates(jobs, 0.9, None), fates(jobs, 0.9, 0.1)
    assert len(before.time) == len(after.time) == ran(jobs).sum()
    assert (after.time > before.time).any()
