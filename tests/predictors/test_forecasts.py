"""Perfect and absent forecasts, and forecasts on disk."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from failgym import memory
from failgym.predictors import (
    Calibrated,
    Forecast,
    NoForecast,
    Perfect,
    Predictor,
    check_trace,
    load_forecast,
    save_forecast,
)
from failgym.traces import Cause, Meta, Outcome, Trace
from tests.chains import single_jobs


@pytest.fixture
def trace() -> Trace:
    """Five tasks, one for each fate but one; the second fails once and then finishes."""
    fates = [Outcome.KILL, Outcome.FAIL, Outcome.FINISH, Outcome.FAIL, Outcome.EVICT]
    causes = [Cause.REQUEUE, Cause.INTRINSIC, None, Cause.INTRINSIC, Cause.PREEMPTION]
    return Trace.of(
        Meta("five tasks"),
        jobs={
            "original_id": ["0", "1", "2"],
            "submit": [0, 0, 0],
            "width": [1, 2, 2],
            "outcome": [Outcome.KILL, Outcome.FINISH, Outcome.CENSORED],
        },
        tasks={"job": [0, 1, 1, 2, 2], "index": [0, 0, 1, 0, 1], "width": 1},
        attempts={
            "task": [0, 1, 1, 2, 3, 4],
            "queued": [0, 0, 0, 0, 0, 0],
            "start": [None, 0, 400_000, 0, 0, 0],
            "end": [5, 300_001, 800_000, 900_000, 1, 50],
            "outcome": [fates[0], fates[1], fates[2], Outcome.CENSORED, fates[3], fates[4]],
            "cause": [causes[0], causes[1], None, None, causes[3], causes[4]],
        },
    )


def test_perfect_knows_every_outcome_from_the_start(trace: Trace) -> None:
    forecast = Perfect().fit(trace).predict(trace)
    assert forecast.offset.tolist() == [0, 0, 2, 4, 7, 8, 9]
    assert forecast.risk.tolist() == [1, 1, 0, 0, 0, 0, 0, 1, 0]
    assert forecast.confidence.argmax(axis=1).tolist() == [3, 0, 0, 2, 1]
    assert forecast.confidence.sum() == 5
    assert forecast.job_confidence.tolist() == [1, 0, 0]


def test_no_forecast_is_zero(trace: Trace) -> None:
    forecast = NoForecast().fit(trace).predict(trace)
    assert forecast.trace_hash == trace.content_hash
    assert not forecast.offset.any()
    assert len(forecast.risk) == 0
    assert forecast.confidence.shape == (5, 4)
    assert not forecast.confidence.any()
    assert not forecast.job_confidence.any()


@pytest.mark.parametrize("predictor", [Calibrated(), Calibrated.kumar(), Perfect(), NoForecast()])
class TestEveryPredictor:
    def test_speaks_of_the_trace(self, trace: Trace, predictor: Predictor) -> None:
        forecast = predictor.fit(trace).predict(trace)
        assert check_trace(forecast, trace) is forecast
        arrays = (forecast.risk, forecast.confidence, forecast.job_confidence)
        assert all(array.dtype == np.float32 for array in arrays)
        assert all(np.all((array >= 0) & (array <= 1)) for array in arrays)
        assert forecast.offset.dtype == np.int64
        assert forecast.offset.shape == (7,)

    def test_a_saved_forecast_comes_back(
        self, trace: Trace, predictor: Predictor, tmp_path: Path
    ) -> None:
        forecast = predictor.predict(trace)
        save_forecast(forecast, tmp_path / "forecast.npz")
        assert [file.name for file in tmp_path.iterdir()] == ["forecast.npz"]
        loaded = load_forecast(tmp_path / "forecast.npz", trace)
        for field in dataclasses.fields(Forecast):
            assert np.array_equal(getattr(loaded, field.name), getattr(forecast, field.name))

    def test_an_empty_trace_is_no_special_case(self, trace: Trace, predictor: Predictor) -> None:
        forecast = predictor.predict(Trace(Meta("nothing")))
        assert forecast.offset.tolist() == [0]
        assert forecast.confidence.shape == (0, 4)


class TestRefusals:
    @pytest.fixture
    def file(self, trace: Trace, tmp_path: Path) -> Path:
        path = tmp_path / "forecast.npz"
        save_forecast(Calibrated().predict(trace), path)
        return path

    def refuse(self, path: Path, trace: Trace, reason: str) -> None:
        with pytest.raises(ValueError, match=reason) as refused:
            load_forecast(path, trace)
        assert "\n" not in str(refused.value)

    def test_of_another_trace(self, trace: Trace, file: Path) -> None:
        other = Trace(Meta("nothing"))
        self.refuse(file, other, "forecast of another trace: made for")
        with pytest.raises(ValueError, match="forecast of another trace"):
            check_trace(Calibrated().predict(trace), other)

    def test_no_file_or_not_a_forecast(self, trace: Trace, tmp_path: Path) -> None:
        self.refuse(tmp_path / "absent.npz", trace, "no such file")
        text = tmp_path / "text.npz"
        text.write_text("not a forecast")
        self.refuse(text, trace, "not readable as a saved forecast")
        single = tmp_path / "single.npy"
        np.save(single, np.zeros(3))
        self.refuse(single, trace, "not readable as a saved forecast")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_a_truncated_file(self, trace: Trace, file: Path, share: float) -> None:
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])
        self.refuse(file, trace, "not readable as a saved forecast")

    def test_code_is_never_run(self, trace: Trace, file: Path) -> None:
        self.change(file, risk=np.array([{"an": "object"}], dtype=object))
        self.refuse(file, trace, "not readable as a saved forecast")

    def change(self, file: Path, **arrays: object) -> None:
        with np.load(file) as archive:
            content = {name: archive[name] for name in archive.files}
        np.savez(file, **(content | arrays))  # pyright: ignore[reportArgumentType]

    def test_arrays_that_do_not_fit(self, trace: Trace, file: Path) -> None:
        whole = file.read_bytes()
        for arrays, reason in (
            ({"version": np.int64(9)}, "format version 9, expected 1"),
            ({"risk": np.zeros(9)}, "risk is float64, expected float32"),
            (
                {"risk": np.zeros(4, np.float32)},
                "expected offset to cut risk into a piece for each",
            ),
            ({"confidence": np.zeros((5, 3), np.float32)}, "confidence has shape"),
            ({"window": np.int64(0)}, "window is 0 ms"),
            ({"window": np.float64(np.inf)}, "cannot convert float infinity"),
            ({"job_confidence": np.full(3, np.nan, np.float32)}, "job_confidence: expected prob"),
            ({"job_confidence": np.full(3, 1.5, np.float32)}, "expected probabilities in"),
            ({"job_confidence": np.full(3, -0.5, np.float32)}, "expected probabilities in"),
        ):
            self.change(file, **arrays)
            self.refuse(file, trace, reason)
            file.write_bytes(whole)

    def test_a_missing_array(self, trace: Trace, file: Path) -> None:
        np.savez(file, version=np.int64(1))
        self.refuse(file, trace, "not a saved forecast: offset is missing")


def test_a_window_for_each_moment_of_an_age_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = {"task": [0], "start": [0], "end": [2**45], "outcome": [1], "cause": [0]}
    trace = single_jobs(attempts, 1)
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    expected = r"^forecast of 117,281,241 windows of 300000 ms \(attempts of up to 35,184,372,088 s"
    with pytest.raises(
        MemoryError, match=expected + r"\): needs 938 MB of memory, and 100 MB are free$"
    ):
        Perfect().predict(trace)
