"""`GradientBoosting`: failures foretold from the use of resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.predictors import Forecast
from failgym.predictors.base import window_offsets
from failgym.predictors.boosting.curves import curves
from failgym.predictors.boosting.examples import (
    FEATURES,
    JOB_TYPES,
    failed,
    fates_known,
    moments,
)
from failgym.predictors.boosting.gradient_boosting import GradientBoosting
from failgym.predictors.learned import window_moments
from failgym.traces import Trace
from failgym.traces.schema import make_table
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE

WINDOW = 5 * MINUTE


@pytest.fixture(scope="module")
def trace() -> Trace:
    return generate("system-a", jobs=2_000, seed=3)


@pytest.fixture(scope="module")
def watched() -> tuple[GradientBoosting, Trace]:
    """A predictor of failures of the system, and a trace that it has not seen."""
    trace = generate("system-a-harsh", jobs=6_000, seed=0)
    fitted = small(target="system", trees=25, rate=0.2).fit(trace.split("train"))
    return fitted, trace.split("test")


def small(**parameters: Any) -> GradientBoosting:
    """A quick one, with some of its parameters changed."""
    given: dict[str, Any] = {"trees": 8, "rate": 0.3, "least": 5} | parameters
    return GradientBoosting(**given)


@pytest.mark.parametrize("profile", ["system-a", "system-b", "google-2011"])
@pytest.mark.parametrize("target", ["fail", "unfinished"])
def test_a_forecast_of_everything(profile: str, target: Any) -> None:
    trace = generate(profile, jobs=300, seed=1)
    fitted = small(target=target, window=MINUTE if profile == "system-b" else WINDOW).fit(trace)
    forecast = fitted.predict(trace)
    assert np.array_equal(forecast.offset, window_offsets(trace, fitted.window))
    for values in (forecast.risk, forecast.confidence, forecast.job_confidence):
        assert values.dtype == np.float32
        assert np.all((values >= 0) & (values <= 1))
    np.testing.assert_allclose(forecast.confidence.sum(axis=1), 1, rtol=1e-5)
    assert len(forecast.risk) == forecast.offset[-1]
    assert len(forecast.job_confidence) == trace.rows("jobs")


@pytest.mark.parametrize("refit", [0, 12 * 60 * MINUTE])
def test_of_some_jobs_it_says_what_it_says_of_all(refit: int) -> None:
    trace = generate("system-a", jobs=600, seed=1)
    fitted = small(refit=refit).fit(generate("system-a", jobs=400, seed=2))
    asked = np.arange(trace.rows("jobs")) % 3 == 0
    said, whole = fitted.predict_jobs(trace, asked), fitted.predict(trace)
    tasks = asked[trace.column("tasks", "job")]
    windows = np.repeat(tasks[trace.column("attempts", "task")], np.diff(whole.offset))
    np.testing.assert_array_equal(said.offset, whole.offset)
    np.testing.assert_array_equal(said.risk[windows], whole.risk[windows])
    np.testing.assert_array_equal(said.confidence[tasks], whole.confidence[tasks])
    np.testing.assert_array_equal(said.job_confidence[asked], whole.job_confidence[asked])
    assert not said.risk[~windows].any()  # the others were not asked about


def test_one_model_per_job_type_and_one_of_all(trace: Trace) -> None:
    kinds = [JOB_TYPES[kind] for kind in small(least=1).fit(trace).models_.boosters]
    assert kinds == list(JOB_TYPES)
    assert list(small(least=10**6).fit(trace).models_.boosters) == [0]
    google = generate("google-2011", jobs=200, seed=1)
    assert list(small().fit(google).models_.boosters) == [0]


@pytest.mark.parametrize("parameters", [{}, {"most_rows": 10_000}, {"samples": "tail"}])
def test_a_risk_is_a_probability_at_the_rate_of_failures(parameters: dict[str, Any]) -> None:
    """On the whole, and where it is high and where it is low, on another trace."""
    learned, other = (generate("system-a-harsh", jobs=6_000, seed=seed) for seed in (0, 50))
    fitted = small(trees=20, rate=0.2, **parameters).fit(learned)
    bad, known = failed(other, "fail"), fates_known(other, "fail")
    if fitted.samples == "tail":
        risk, bad = fitted.scores(other)[known], bad[known]
    else:
        at = moments(other, WINDOW, 0)
        here = known[at.attempt]
        risk, bad = fitted.predict(other).risk[at.new][here], bad[at.attempt[here]]
    assert np.mean(risk) == pytest.approx(np.mean(bad), rel=0.3)
    group = np.digitize(risk, np.quantile(risk, [0.5, 0.8, 0.95]))
    shares = [float(np.mean(bad[group == number])) for number in range(4)]
    risks = [float(np.mean(risk[group == number])) for number in range(4)]
    assert shares == sorted(shares)
    np.testing.assert_allclose(risks, shares, atol=0.3)


def test_the_risk_rises_towards_failures_of_the_system(
    watched: tuple[GradientBoosting, Trace],
) -> None:
    fitted, test = watched
    forecast = fitted.predict(test)
    long = np.diff(forecast.offset) > 6
    first = forecast.risk[forecast.offset[:-1][long]]
    fails = failed(test, "system")[long]
    last = forecast.risk[forecast.offset[1:][long] - 1]
    assert np.mean(last[fails]) > np.mean(first[fails]) + 0.15
    assert np.mean(last[fails]) > 3 * np.mean(last[~fails])


@pytest.mark.parametrize(
    ("profile", "window", "jobs", "least"),
    [
        (
            *("system-a", WINDOW, 6_000),
            {"shared single": 0.95, "nonshared single": 0.96, "nonshared multi": 0.96},
        ),
        ("system-b", MINUTE, 20_000, {"nonshared multi": 0.97}),
    ],
)
def test_tails_of_failed_jobs_are_told_as_published_or_better(
    profile: str, window: int, jobs: int, least: dict[str, float]
) -> None:
    """Kumar et al., Fig. 8: Table VIII implies areas of .949, .961, .962 and .994."""
    trace = generate(profile, jobs=jobs, seed=0)
    fitted = small(target="system", samples="tail", window=window, trees=30)
    fitted.fit(trace.split("train"))
    test = trace.split("test")
    found = curves(test, fitted.scores(test), "system")
    for name, area in least.items():
        assert found[name].auc > area
        points = found[name].points
        assert np.all(np.diff(points.recall) >= 0)
        assert points.recall[-1] == 1
    if profile == "system-b":  # not usable, as in the paper
        assert found["nonshared single"].failures < 10


def test_failures_are_foretold_before_they_come(watched: tuple[GradientBoosting, Trace]) -> None:
    fitted, test = watched
    score = fitted.scores(test)
    some_usage = np.diff(fitted.predict(test).offset) > 1
    found = curves(test, np.where(some_usage, score, np.nan), "system")
    assert found["nonshared single"].auc > 0.8
    assert found["nonshared multi"].auc > 0.8


# --- Nothing of the future ------------------------------------------------------------------------


@pytest.mark.parametrize("refit", [0, 3 * 24 * 60 * MINUTE])
@pytest.mark.parametrize("samples", ["moments", "tail"])
@pytest.mark.parametrize("profile", ["system-a", "google-2011"])
def test_nothing_later_is_read(profile: str, samples: Any, refit: int) -> None:
    """The trace as it was known at a boundary has the same risks up to there."""
    trace = generate(profile, jobs=500 if profile == "system-a" else 150, seed=7)
    fitted = small(samples=samples, refit=refit, trees=5).fit(trace.split("train", 0.4))
    future = trace.split("test", 0.4)
    early = future.split("train", 0.5)
    whole_forecast, early_forecast = fitted.predict(future), fitted.predict(early)
    at = future.boundary(0.5)
    jobs = future.column("jobs", "submit") <= at
    job = future.column("tasks", "job")[future.column("attempts", "task")]
    started = future.present("attempts", "start") & (future.column("attempts", "start") <= at)
    rows = np.flatnonzero(jobs[job] & started)
    cut = np.flatnonzero(early.present("attempts", "start"))
    assert len(rows) == len(cut)
    compared = 0
    for row, number in zip(rows, cut, strict=True):
        expected = risks_of(whole_forecast, int(row))
        got = risks_of(early_forecast, int(number))
        np.testing.assert_array_equal(got, expected[: len(got)])
        compared += len(got)
    assert compared > 1_000
    np.testing.assert_array_equal(
        early_forecast.job_confidence, whole_forecast.job_confidence[jobs]
    )
    known = future.task_submit <= at
    tasks = np.flatnonzero(known & jobs[future.column("tasks", "job")])
    np.testing.assert_array_equal(early_forecast.confidence, whole_forecast.confidence[tasks])


def risks_of(forecast: Forecast, attempt: int) -> npt.NDArray[np.float32]:
    return forecast.risk[forecast.offset[attempt] : forecast.offset[attempt + 1]]


def test_what_is_refitted_is_what_would_be_fitted_then() -> None:
    """From a multiple of `refit` on, the models are those of all that had ended by then."""
    trace = without_texts(generate("system-a", jobs=900, seed=2))
    refit = trace.boundary(0.5)
    fitted = small(refit=refit, memory=10 * refit).fit(
        without_texts(generate("system-a", jobs=300))
    )
    fitted.recent_ = fitted.recent_.within(0, 0)  # it has forgotten what it was fitted to
    fitted.recent_tasks_ = fitted.recent_tasks_.within(0, 0)
    later = trace.split("test", 0.5)
    risk = fitted.predict(trace).risk[-window_offsets(later, WINDOW)[-1] :]
    direct = small().fit(trace.split("train", 0.5)).predict(later).risk
    here = window_moments(later, WINDOW)[2] < 2 * refit
    assert here.sum() > 1_000
    np.testing.assert_array_equal(risk[here], direct[here])
    before = small().fit(without_texts(generate("system-a", jobs=300))).predict(later).risk
    assert np.mean(before[here] != direct[here]) > 0.5


def test_fitted_and_predicted_trace_are_learned_from_together() -> None:
    trace = generate("system-a", jobs=900, seed=2)
    train, test = trace.split("train"), trace.split("test")
    plain = small().fit(train)
    risk, time = plain.predict(test).risk, window_moments(test, WINDOW)[2]

    def refitted(refit: int, memory: int) -> npt.NDArray[np.float32]:
        return small(refit=refit, memory=memory).fit(train).predict(test).risk

    boundary = trace.boundary()
    at_boundary = time < 2 * (boundary + 1)
    # At the boundary all that has ended is what was fitted to.
    same = refitted(boundary + 1, 10 * boundary)
    np.testing.assert_array_equal(same[at_boundary], risk[at_boundary])
    later = int(1.15 * boundary)
    changed = refitted(later, 10 * boundary) != risk
    assert not changed[time < later].any()
    assert np.mean(changed[time >= later]) > 0.3
    # Nothing ended in the last millisecond: the fitted models serve.
    np.testing.assert_array_equal(refitted(later, 1), risk)
    assert len(plain.recent_.end) == 0  # not kept in vain


def without_texts(trace: Trace) -> Trace:
    """The trace without users and names, whose numbers depend on what was fitted."""
    texts = ("user", "group", "name", "queue", "exit_category")
    names = [name for name in trace.jobs.schema.names if name not in texts]
    jobs = make_table("jobs", {name: trace.jobs.column(name) for name in names})
    return replace(trace, jobs=jobs)


# --- State ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"refit": 10 * 24 * 60 * MINUTE}, {"most_rows": 500}])
def test_what_was_learned_is_plain_and_predicts_the_same_bits(
    trace: Trace, parameters: dict[str, Any]
) -> None:
    train, test = trace.split("train"), trace.split("test")
    fitted, again = small(**parameters).fit(train), small(**parameters).fit(train)
    arrays = fitted.arrays()
    assert {array.dtype.kind for array in arrays.values()} <= set("Uiufb")
    restored = small(**parameters).restore(arrays)
    expected = fitted.predict(test)
    for other in (again.predict(test), restored.predict(test)):
        np.testing.assert_array_equal(other.risk, expected.risk)
        np.testing.assert_array_equal(other.confidence, expected.confidence)
        np.testing.assert_array_equal(other.job_confidence, expected.job_confidence)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model/any": None}, "array 'model/any' is missing"),
        ({"model/any": np.zeros(3, dtype=np.uint8)}, "booster"),
        ({"shares": np.ones(3)}, "4 shares"),
        ({"recent_tasks/until": None}, "array 'until' is missing"),
        ({"words/user": np.arange(3)}, "array 'words/user'"),
        ({"recent/bad": None}, "array 'bad' is missing"),
        ({"recent/end": np.arange(7)}, "different lengths"),
        ({"recent/features": np.zeros((0, 3), dtype=np.float32)}, f"{len(FEATURES)} features"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(
    trace: Trace, change: dict[str, Any], message: str
) -> None:
    arrays = dict(small(trees=1).fit(trace).arrays()) | change
    with pytest.raises(ValueError, match=message):
        small().restore({key: value for key, value in arrays.items() if value is not None})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target": "kill"}, "target: expected one of fail, system, unfinished, got 'kill'"),
        ({"samples": "all"}, "samples: expected one of moments, tail"),
        ({"window": 0}, "window: expected at least 1"),
        ({"rate": 0.0}, "rate: expected above 0 and at most 1"),
        ({"least_weight": float("nan")}, "least_weight: expected at least 0"),
        ({"refit": -1}, "refit: expected at least 0"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientBoosting(**parameters)


def test_nothing_to_learn_from() -> None:
    trace = generate("system-a", jobs=30, seed=1, usage=False)
    with pytest.raises(ValueError, match="GradientBoosting: fit it first"):
        GradientBoosting().predict(trace)
    with pytest.raises(ValueError, match="GradientBoosting: fit it first"):
        GradientBoosting().arrays()
    google = generate("google-2011", jobs=60, seed=1)
    with pytest.raises(ValueError, match="nothing to learn from"):
        GradientBoosting(target="system").fit(google)
