"""The quality of calibrated forecasts is the stated one, and they reveal nothing beyond it."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import pytest

from failgym.metrics import alarms, false_negative_rate
from failgym.predictors import Calibrated, ClassQuality, Forecast, Predictor
from failgym.predictors.base import task_classes
from failgym.predictors.drawn.calibrated import _attempt_of
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE

TASKS = 60_000
CAUSELESS = (Outcome.FINISH, Outcome.CENSORED)
FPR = {0.1: 0.139, 0.5: 0.046, 0.9: 0.020, 0.95: 0.017, 0.99: 0.007}


def make_trace(
    duration: npt.NDArray[np.int64],
    outcome: npt.NDArray[np.int64],
    per_job: int = 1,
    applications: int = 0,
) -> Trace:
    """Tasks of one attempt each, in jobs of some tasks that share the outcome of the first."""
    tasks = len(duration)
    first = outcome[::per_job]
    cause = np.where(outcome == Outcome.KILL, Cause.USER, Cause.INTRINSIC)
    called = [f"application {at % max(applications, 1)}" for at in range(len(first))]
    return Trace.of(
        Meta("drawn"),
        jobs={
            "original_id": [f"{i:09}" for i in range(len(first))],
            "submit": 0,
            "width": np.full(len(first), per_job),
            "outcome": first,
            **({"user": ["u"] * len(first), "name": called} if applications else {}),
        },
        tasks={"job": np.arange(tasks) // per_job, "index": np.arange(tasks), "width": 1},
        attempts={
            "task": np.arange(tasks),
            "start": np.zeros(tasks, dtype=np.int64),
            "end": duration,
            "outcome": outcome,
            "cause": np.ma.masked_array(cause, np.isin(outcome, CAUSELESS)),
        },
    )


def durations(seed: int = 0) -> npt.NDArray[np.int64]:
    """Run times as of failed attempts in the published trace: median 111 s, p90 104 min."""
    normal = np.random.default_rng(seed).standard_normal(TASKS)
    return np.minimum(111_000 * np.exp(3.1 * normal), 10**9).astype(np.int64)


@pytest.fixture(scope="module")
def trace() -> Trace:
    fails = np.arange(TASKS) % 2
    return make_trace(durations(), fails * Outcome.FAIL)


@pytest.fixture(scope="module")
def fails(trace: Trace) -> npt.NDArray[np.bool_]:
    return trace.column("attempts", "outcome") == Outcome.FAIL


@pytest.fixture(scope="module")
def elsayed(trace: Trace) -> Forecast:
    return Calibrated.elsayed().fit(trace).predict(trace)


def first_alarm(forecast: Forecast, threshold: float) -> npt.NDArray[np.int64]:
    """Windows before the first alarm; all of them without one."""
    quiet = forecast.risk < np.float32(threshold)
    return np.add.reduceat(quiet, forecast.offset[:-1], dtype=np.int64)


def test_it_is_a_predictor(trace: Trace) -> None:
    predictor = Calibrated()
    assert isinstance(predictor, Predictor)
    assert predictor == Calibrated.elsayed()
    assert predictor.fit(trace) is predictor


def test_windows_follow_the_durations() -> None:
    window = 5 * MINUTE
    ends = np.array([0, 1, window - 1, window, window + 1, 2 * window, 2 * window + 1])
    forecast = Calibrated().predict(make_trace(ends, np.zeros(7, dtype=np.int64)))
    assert np.diff(forecast.offset).tolist() == [1, 1, 1, 1, 2, 2, 3]
    assert forecast.risk.dtype == np.float32
    assert len(forecast.risk) == forecast.offset[-1]


@pytest.mark.parametrize("threshold", FPR)
def test_elsayed_has_the_false_positive_rates_behind_table_5(
    trace: Trace, fails: npt.NDArray[np.bool_], elsayed: Forecast, threshold: float
) -> None:
    raised = alarms(elsayed, threshold)
    spread = np.sqrt(FPR[threshold] / (TASKS / 2))
    assert raised[~fails].mean() == pytest.approx(FPR[threshold], abs=4 * spread)
    recall = Calibrated.elsayed().recall
    assert isinstance(recall, tuple)
    expected = recall[list(FPR).index(threshold)]
    assert raised[fails].mean() == pytest.approx(expected, abs=0.012)


def test_alarms_may_come_at_the_start_and_come_at_a_third_of_the_run_on_average(
    trace: Trace, fails: npt.NDArray[np.bool_], elsayed: Forecast
) -> None:
    windows = np.diff(elsayed.offset)
    first = first_alarm(elsayed, 0.9)
    raised = first < windows
    assert np.all(first[raised & (windows == 1)] == 0)
    several = raised & fails & (windows > 1)
    assert np.mean(first[several] == 0) == pytest.approx(0.3, abs=0.03)
    relative = (first * elsayed.window)[several] / trace.column("attempts", "end")[several]
    assert 0.3 <= relative.mean() <= 0.5


def test_before_its_alarm_and_without_one_every_attempt_looks_alike(elsayed: Forecast) -> None:
    below = elsayed.risk[elsayed.risk < np.float32(0.1)]
    assert np.all(below == np.float32(Calibrated().prior))


def test_one_score_drives_all_windows(elsayed: Forecast) -> None:
    inside = np.ones(len(elsayed.risk), dtype=bool)
    inside[elsayed.offset[:-1]] = False
    step = np.diff(elsayed.risk, prepend=0)[inside]
    assert np.all(step >= 0)
    changes = np.add.reduceat((np.diff(elsayed.risk, prepend=0) != 0) & inside, elsayed.offset[:-1])
    assert changes.max() == 1


def test_the_time_of_an_alarm_tells_no_outcome(
    trace: Trace, fails: npt.NDArray[np.bool_], elsayed: Forecast
) -> None:
    first, windows = first_alarm(elsayed, 0.1), np.diff(elsayed.offset)
    several = (first < windows) & (windows > 1)
    good, bad = first[several & ~fails], first[several & fails]
    for quantile in (0.25, 0.5, 0.75, 0.9):
        at = np.quantile(bad, quantile)
        assert np.mean(good <= at) == pytest.approx(np.mean(bad <= at), abs=0.04)


def test_a_forecast_is_keyed_to_its_attempt() -> None:
    """What happens to others changes nothing; a longer run changes nothing before the alarm."""
    duration, outcome = durations()[:200], np.zeros(200, dtype=np.int64)
    whole = Calibrated().predict(make_trace(duration, outcome))
    part = Calibrated().predict(make_trace(duration[:50], outcome[:50]))
    assert np.array_equal(part.risk, whole.risk[: len(part.risk)])
    assert np.array_equal(part.confidence, whole.confidence[:50])
    other = Calibrated(seed=1).predict(make_trace(duration, outcome))
    assert not np.array_equal(other.confidence, whole.confidence)


def test_what_the_data_cut_off_is_drawn_as_if_it_did_not_fail(trace: Trace) -> None:
    duration = durations()[:2_000]
    finished = Calibrated().predict(make_trace(duration, np.full(2_000, Outcome.FINISH)))
    cut = Calibrated().predict(make_trace(duration, np.full(2_000, Outcome.CENSORED)))
    assert np.array_equal(finished.risk, cut.risk)
    assert np.array_equal(finished.confidence, cut.confidence)
    assert np.array_equal(finished.job_confidence, cut.job_confidence)


def test_kumar_sees_failures_coming(trace: Trace, fails: npt.NDArray[np.bool_]) -> None:
    forecast = Calibrated.kumar().predict(trace)
    raised = alarms(forecast, 0.3)
    assert raised[fails].mean() == pytest.approx(0.95, abs=0.01)  # Table VIII's ML: recall .95
    assert raised[~fails].mean() == pytest.approx(0.2165, abs=0.01)  # at precision .11 of .0276
    first = first_alarm(forecast, 0.3)
    left = trace.column("attempts", "end") - first * forecast.window
    long = raised & fails & (np.diff(forecast.offset) > 120)
    assert left[long].mean() / MINUTE == pytest.approx(10 - 0.5, abs=0.5)


def test_kumar_refuses_an_unknown_model_or_base_rate() -> None:
    with pytest.raises(ValueError, match="model: expected one of shared single"):
        Calibrated.kumar("system c")
    with pytest.raises(ValueError, match="base_rate"):
        Calibrated.kumar(base_rate=1.0)


@pytest.fixture(scope="module")
def mixed() -> Trace:
    """Failed jobs of 500 tasks, .256 of which do not finish, as in the published trace."""
    outcome = np.full(TASKS, Outcome.FINISH, dtype=np.int64)
    outcome.reshape(-1, 500)[:, :128] = Outcome.KILL
    return make_trace(durations(), outcome, per_job=500)


@pytest.fixture(scope="module")
def certain(mixed: Trace) -> Forecast:
    """Every job classified rightly: all tasks are considered."""
    return Calibrated(classes=ClassQuality(job_error=0.0)).predict(mixed)


class TestClasses:
    def test_rates_are_the_published_ones(self, mixed: Trace, certain: Forecast) -> None:
        true, predicted = task_classes(mixed), certain.confidence.argmax(axis=1)
        false_negatives = false_negative_rate(true == 0, predicted > 0)
        assert false_negatives == pytest.approx(0.0941, abs=0.004)
        assert np.mean(predicted != true) == pytest.approx(0.266, abs=0.006)
        assert np.mean(predicted[true > 0] > 0) == pytest.approx(0.75, abs=0.012)

    def test_confidences_are_shares(self, certain: Forecast) -> None:
        np.testing.assert_allclose(certain.confidence.sum(axis=1), 1, atol=1e-6)
        top = certain.confidence.max(axis=1)
        assert top.min() >= 0.5
        assert top.max() <= 0.95

    def test_tasks_of_jobs_that_are_predicted_to_finish_are_not_considered(
        self, mixed: Trace
    ) -> None:
        forecast = Calibrated(classes=ClassQuality(job_error=1.0)).predict(mixed)
        assert np.all(forecast.job_confidence < 0.5)
        assert np.all(forecast.confidence.argmax(axis=1) == 0)

    @pytest.mark.parametrize("outcome", [Outcome.FINISH, Outcome.FAIL])
    def test_jobs_are_misclassified_at_the_stated_rate(self, outcome: Outcome) -> None:
        forecast = Calibrated().predict(make_trace(durations(), np.full(TASKS, outcome)))
        wrong = (forecast.job_confidence >= 0.5) != (outcome != Outcome.FINISH)
        assert wrong.mean() == pytest.approx(0.07, abs=0.005)

    def test_rosa_knows_classes_only(self, mixed: Trace) -> None:
        forecast = Calibrated.rosa().predict(mixed)
        assert np.all(forecast.risk == np.float32(Calibrated().prior))
        assert np.mean(forecast.confidence.argmax(axis=1) > 0) > 0.2

    def test_a_risk_raises_no_alarm_for_a_task_whose_class_looks_sound(self) -> None:
        outcome = np.full(TASKS, Outcome.FAIL, dtype=np.int64)
        quality = ClassQuality(job_error=0.0)
        forecast = Calibrated(classes=quality).predict(make_trace(durations(), outcome))
        raised = alarms(forecast, 0.9)
        assert np.all(forecast.confidence[raised].argmax(axis=1) > 0)

    @pytest.mark.parametrize(
        ("field", "value"),
        [("job_error", 1.5), ("unfinished_confused", 0.9), ("weakest", 0.2), ("false_evict", 0.95)],
    )
    def test_refuses_impossible_rates(self, field: str, value: float) -> None:
        with pytest.raises(ValueError, match=field):
            dataclasses.replace(ClassQuality(), **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("threshold", (0.5, 0.1, 0.9, 0.95, 0.99)),
        ("threshold", (0.01, 0.5, 0.9, 0.95, 0.99)),
        ("recall", (0.5, 0.6, 0.7, 0.8, 0.9)),
        ("fpr", (1.1, 0.5, 0.2, 0.1, 0.0)),
        ("fpr", 0.5),
        ("at_start", -0.1),
        ("delay", 0),
        ("window", 0),
        ("lead", -1),
    ],
)
def test_refuses_what_makes_no_sense(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        Calibrated(**{field: value})  # pyright: ignore[reportArgumentType]


def uneven(per_job: int = 20, applications: int = 0) -> Trace:
    """Jobs of some tasks each, half of them with tasks that end differently."""
    rng = np.random.default_rng(4)
    jobs = TASKS // per_job
    share = np.where(np.arange(jobs) % 2 == 0, 0.5, np.where(rng.random(jobs) < 0.5, 0.0, 1.0))
    bad = rng.random(TASKS) < np.repeat(share, per_job)
    return make_trace(durations(), bad * Outcome.KILL, per_job, applications)


def concordance(flag: npt.NDArray[np.bool_], group: npt.NDArray[np.int64]) -> float:
    """How much likelier than by chance two of a group are flagged alike; 1: always."""
    size, flagged = np.bincount(group), np.bincount(group, flag)
    rate = flagged.sum() / size.sum()
    both = (flagged * (flagged - 1) / (size - 1)).sum() / size.sum()
    return float((both - rate**2) / (rate * (1 - rate)))


def test_without_shared_errors_nothing_changes(trace: Trace, elsayed: Forecast) -> None:
    again = Calibrated(job_share=0.0, application_share=0.0).predict(trace)
    assert (again.risk == elsayed.risk).all()
    assert (again.confidence == elsayed.confidence).all()
    # Of one task each, and of applications that run once, all are their own representatives.
    alone = Calibrated().by_job().predict(trace)
    assert (alone.risk == elsayed.risk).all()
    assert (alone.confidence == elsayed.confidence).all()


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_tasks_err_with_their_job(share: float) -> None:
    trace = uneven()
    job = trace.column("tasks", "job").astype(np.int64)
    true = task_classes(trace) != 0
    found = Calibrated.rosa().fit(trace).predict(trace)
    shared = dataclasses.replace(Calibrated.rosa(), job_share=share).predict(trace)
    flagged = shared.confidence.argmax(axis=1) != 0
    if share == 1.0:
        first = np.searchsorted(job, np.arange(job.max() + 1))
        assert (shared.confidence == shared.confidence[first[job]]).all()
    pure = np.isin(job, np.flatnonzero(np.bincount(job, true) % 20 == 0))
    finishing, number = ~true & pure, np.unique(job[~true & pure], return_inverse=True)[1]
    assert concordance(flagged[finishing], number) == pytest.approx(share**2, abs=0.05)
    before = found.confidence.argmax(axis=1) != 0
    for rows in (finishing, true & pure):
        assert flagged[rows].mean() == pytest.approx(before[rows].mean(), abs=0.05)
    # What ends differently in one job is no longer told apart.
    apart, now = (of[true & ~pure].mean() - of[~true & ~pure].mean() for of in (before, flagged))
    assert apart > 0.25
    assert now < apart / 3.0 or share < 1.0


def test_jobs_err_with_their_application() -> None:
    trace = uneven(applications=50)
    whole = dataclasses.replace(Calibrated.rosa(), job_share=1.0, application_share=1.0)
    assert len(np.unique(whole.predict(trace).job_confidence)) <= 50
    half = dataclasses.replace(whole, application_share=0.5).predict(trace).job_confidence
    counts = np.unique(half, return_counts=True)[1]
    assert (counts > 1).sum() <= 50
    assert (counts == 1).sum() == pytest.approx(trace.rows("jobs") / 2, rel=0.05)


def test_an_attempt_goes_with_one_as_late_or_the_last() -> None:
    task, number = np.array([0, 0, 0, 1, 2, 2]), np.array([0, 1, 2, 0, 0, 1])
    assert _attempt_of(task, number, np.array([1, 2, 2])).tolist() == [3, 3, 3, 4, 4, 5]
    # Task 1 never ran: who would go with it keeps its own.
    assert _attempt_of(np.array([0, 2, 2]), np.array([0, 0, 1]), np.array([1, 1, 0])).tolist() == [
        0,
        0,
        0,
    ]


def test_shares_are_shares() -> None:
    with pytest.raises(ValueError, match="job_share: expected a share, got 2"):
        Calibrated(job_share=2)
    with pytest.raises(ValueError, match="application_share: expected a share, got -1"):
        Calibrated(application_share=-1)
