"""What all predictors that learn promise."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.predictors import (
    LEARNED,
    Forecast,
    Learned,
    Predictor,
    check_trace,
    load_predictor,
    save_predictor,
)
from failgym.predictors.base import window_offsets
from failgym.predictors.store import check_shapes, read_arrays, write_arrays
from failgym.traces import Meta, Trace, generate
from tests.predictors.quick import QUICK, REFITTING

FIELDS = [field.name for field in dataclasses.fields(Forecast)]


@lru_cache(maxsize=4)
def parts(profile: str = "google-2011") -> tuple[Trace, Trace]:
    whole = generate(profile, jobs=150, seed=6)
    return whole.split("train"), whole.split("test")


def make(name: str, **parameters: Any) -> Learned:
    kind: Any = LEARNED[name]
    return kind(**{**QUICK[name], **parameters})


@lru_cache(maxsize=8)
def fitted(name: str, refitting: bool = False) -> Learned:
    return make(name, **(REFITTING if refitting else {})).fit(parts()[0])


def assert_same(one: Forecast, other: Forecast) -> None:
    for name in FIELDS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("name", LEARNED)
class TestEveryLearned:
    def test_is_a_predictor_with_the_fields_that_scenarios_set(self, name: str) -> None:
        predictor = make(name, window=60_000, seed=3)
        assert isinstance(predictor, Predictor)
        assert (predictor.window, predictor.seed) == (60_000, 3)  # type: ignore[attr-defined]
        assert fitted(name).name == name

    @pytest.mark.parametrize("part", [0, 1])
    def test_speaks_of_every_attempt_task_and_job(self, name: str, part: int) -> None:
        trace = parts()[part]
        forecast = fitted(name).predict(trace)
        check_shapes(check_trace(forecast, trace), trace)
        assert forecast.offset.tolist() == window_offsets(trace, forecast.window).tolist()
        for array in (forecast.risk, forecast.confidence, forecast.job_confidence):
            assert array.dtype == np.float32
            assert np.all((array >= 0) & (array <= 1))
        assert forecast.confidence.sum(axis=1) == pytest.approx(1.0, abs=1e-4)
        assert forecast.risk.std() > 0

    @pytest.mark.parametrize("refitting", [False, True])
    def test_stored_is_fitted_bit_for_bit(self, name: str, refitting: bool, tmp_path: Path) -> None:
        predictor, test = fitted(name, refitting), parts()[1]
        save_predictor(predictor, tmp_path / "stored.npz")
        loaded = load_predictor(tmp_path / "stored.npz")
        assert type(loaded) is type(predictor)
        for field in dataclasses.fields(predictor):  # type: ignore[arg-type]
            if field.init:
                mine, theirs = getattr(predictor, field.name), getattr(loaded, field.name)
                assert (type(mine), mine) == (type(theirs), theirs)
        assert_same(loaded.predict(test), predictor.predict(test))
        mine, theirs = predictor.arrays(), loaded.arrays()
        assert list(mine) == list(theirs)
        assert all(
            np.array_equal(mine[key], theirs[key], equal_nan=_numbers(mine[key])) for key in mine
        )

    def test_learning_and_predicting_are_deterministic(self, name: str) -> None:
        again = make(name).fit(parts()[0])
        assert_same(again.predict(parts()[1]), fitted(name).predict(parts()[1]))
        assert_same(again.predict(parts()[1]), again.predict(parts()[1]))

    def test_an_example_of_another_system_is_no_special_case(self, name: str) -> None:
        other = parts("system-a")[1]
        forecast = fitted(name).predict(other)
        check_shapes(forecast, other)
        assert np.isfinite(forecast.risk).all()

    def test_an_empty_trace_is_no_special_case(self, name: str) -> None:
        forecast = fitted(name).predict(Trace(Meta("nothing")))
        assert forecast.offset.tolist() == [0]
        assert forecast.confidence.shape == (0, 4)
        assert forecast.job_confidence.shape == (0,)

    def test_learns_from_something_only(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"^{LEARNED[name].__name__}: ") as refused:
            make(name).fit(Trace(Meta("nothing")))
        assert "\n" not in str(refused.value)

    def test_has_to_be_fitted(self, name: str) -> None:
        with pytest.raises(ValueError, match="fit it first"):
            make(name).predict(parts()[1])
        with pytest.raises(ValueError, match="fit it first"):
            make(name).arrays()

    def test_refuses_impossible_parameters(self, name: str) -> None:
        for wrong in ({"window": 0}, {"seed": -1}, {"refit": -1}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                make(name, **wrong)

    def test_arrays_that_do_not_fit_are_refused(self, name: str, tmp_path: Path) -> None:
        file = tmp_path / "stored.npz"
        save_predictor(fitted(name), file)
        content = read_arrays(file, "anything")
        for key, array in content.items():
            if not key.startswith("learned/"):
                continue
            write_arrays(file, {**content, key: array[None]})
            with pytest.raises(ValueError, match=r"stored.npz: array .* not ") as refused:
                load_predictor(file)
            assert "\n" not in str(refused.value)


def _numbers(array: Any) -> bool:
    return array.dtype.kind in "fiu"


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("field", ["window", "refit", "memory"])
def test_times_that_no_array_holds_are_refused(name: str, field: str) -> None:
    kind: Any = LEARNED[name]
    with pytest.raises(ValueError, match=f"^{field}: expected at most {2**63 - 1}, got {2**63}$"):
        kind(**{field: 2**63})
    assert getattr(kind(**{field: 2**63 - 1}), field) == 2**63 - 1
