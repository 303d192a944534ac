"""The experiment on forecasts: its measures, its choices, and that it runs and resumes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer

from experiments import forecast_quality
from experiments.forecast_measures import (
    BINS,
    calibration_error,
    grace_of_days,
    half_of_the_time,
    quality,
    reliability,
)
from experiments.forecast_policies import BY_JOB, BY_TASK, CASES, chosen_in_training
from failgym.envs import resolve
from failgym.predictors import Perfect, TwoLevelNetwork
from failgym.traces import generate
from failgym.worlds.forecast import PREDICTORS

pytest.importorskip("sklearn", reason="needs failgym[predictors]")
pytest.importorskip("torch", reason="needs failgym[predictors]")


def test_reliability_by_hand() -> None:
    bad = np.array([True, False, False, True])
    bins = reliability(bad, [1.0, 0.95, 0.05, 0.05])
    assert [each.rows for each in bins] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert bins[0][1:] == pytest.approx((0.05, 0.5))
    assert bins[-1][1:] == pytest.approx((0.975, 0.5))
    assert np.isnan([bins[4].predicted, bins[4].observed]).all()
    assert calibration_error(bad, [1.0, 0.95, 0.05, 0.05]) == pytest.approx((0.45 + 0.475) / 2)
    weighted = reliability(bad, [0.5, 0.5, 0.5, 0.5], [3, 1, 1, 1])[5]
    assert weighted == (4, 0.5, pytest.approx(4 / 6))


def test_the_calibration_error_is_the_mean_gap_of_the_bins() -> None:
    rng = np.random.default_rng(0)
    risk = rng.random(5_000)
    bad = rng.random(5_000) < risk**2
    bins = reliability(bad, risk)
    gap = sum(each.rows * abs(each.predicted - each.observed) for each in bins) / 5_000
    assert calibration_error(bad, risk) == pytest.approx(gap)
    assert len(bins) == BINS
    honest = rng.random(200_000)
    assert calibration_error(rng.random(200_000) < honest, honest) < 0.01 < gap
    assert np.isnan(calibration_error(np.zeros(0, dtype=np.bool_), []))


def test_the_record_is_a_forecast_without_fault_and_a_constant_tells_nothing() -> None:
    trace = generate("google-2011", jobs=150, seed=0)
    record = Perfect().fit(trace).predict(trace)
    exact = quality("perfect", trace, record)
    assert 0 < exact.failures < exact.attempts
    assert (exact.precision, exact.recall) == (1.0, 1.0)
    assert (exact.auc_highest, exact.auc_task, exact.auc_job) == (1.0, 1.0, 1.0)
    nothing = quality("none", trace, replace(record, risk=np.zeros_like(record.risk)))
    assert (nothing.auc_start, nothing.auc_highest, nothing.recall) == (0.5, 0.5, 0.0)
    share = nothing.failures / nothing.attempts
    assert (nothing.error_start, nothing.error_moments) == pytest.approx((share, share))
    assert nothing.bins[0].observed == pytest.approx(share)


def test_half_of_the_time_is_not_half_of_the_jobs() -> None:
    trace = generate("google-2011", jobs=300, seed=1)
    submit = trace.column("jobs", "submit")
    early = trace.split("train", half_of_the_time(trace))
    assert early.rows("jobs") == np.sum(submit <= (submit.min() + submit.max()) // 2)


def test_grace_periods_are_judged_on_days_that_they_were_not_chosen_on() -> None:
    trace = generate("google-2011", jobs=900, seed=0, usage=False)
    found = grace_of_days(trace, 0, 0.01, TwoLevelNetwork(steps=60, refit=0))
    assert found.chosen <= 0.01
    assert found.held_out <= found.unmitigated
    assert 0 < found.considered < trace.split("test", 0.7).rows("tasks")
    assert set(found.reduction) == {"cpu", "memory", "disk", "time"}
    assert all(0.0 <= share < 1.0 for share in found.reduction.values())


def test_of_equal_thresholds_the_first_is_chosen() -> None:
    case = next(case for case in CASES if case.env == "GracePeriod-v1")
    scenario = resolve(case.env).override(jobs=150, forecast="none")
    assert getattr(chosen_in_training(case, scenario), case.parameter) == case.grid[0]


def test_every_case_has_forecasts_of_all_kinds_and_the_published_parameter_in_its_grid() -> None:
    for case in CASES:
        names = list(case.forecasts())
        assert names == ["none", *case.trained, BY_TASK, BY_JOB, "perfect"]
        scenario = resolve(case.env)
        drawn = [made(scenario) for made in (case.by_task, case.by_job)]
        own = PREDICTORS[str(scenario.forecast)](scenario)
        assert own in [PREDICTORS[x](scenario) if isinstance(x, str) else x for x in drawn]
        assert list(case.grid) == sorted(case.grid)
        assert getattr(case.policy(), case.parameter) in case.grid


def test_a_quick_run_is_kept_and_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = ["days", "history", "GracePeriod-v1"]
    first, second, cache = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "cache"
    forecast_quality.main(part=parts, quick=True, cache=cache, json=first)
    result = json.loads(first.read_text("utf-8"))
    assert list(result["parts"]) == parts
    assert [row["days"] for row in result["parts"]["days"]] == [1, 2, 3, 4, 5]
    told = {row["forecast"] for row in result["parts"]["GracePeriod-v1"]}
    assert {"none", "TwoLevelNetwork", BY_JOB, "perfect"} <= told
    shown = capsys.readouterr().out
    assert "Policies on the test splits" in shown

    def never(*_: object, **__: object) -> None:
        raise AssertionError("done before")

    monkeypatch.setattr(forecast_quality, "generate", never)
    monkeypatch.setattr(forecast_quality, "compared", never)
    forecast_quality.main(part=parts, quick=True, cache=cache, json=second)
    assert json.loads(second.read_text("utf-8"))["parts"] == result["parts"]


def test_a_stored_trace_is_judged_by_its_time(tmp_path: Path) -> None:
    generate("google-2011", jobs=300, seed=3).save(tmp_path / "trace")
    file = tmp_path / "found.json"
    forecast_quality.main(trace=tmp_path / "trace", part=["trace"], quick=True, json=file)
    rows = json.loads(file.read_text("utf-8"))["parts"]["trace"]
    assert len(rows) == 7
    assert all(len(row["bins"]) == BINS and row["attempts"] > 50 for row in rows)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(typer.BadParameter, match=r"expected profile, .*; got 'trace'"):
        forecast_quality.main(part=["trace"], quick=True)
