"""Files of predictors whose arrays are not what was learned are refused when they are loaded."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.predictors import LEARNED, UserHistory, models
from failgym.traces import generate
from tests.predictors.quick import QUICK, REFITTING

NAMES = (*LEARNED, "user_history")


@lru_cache(maxsize=8)
def _fitted(name: str) -> Any:
    if name == "user_history":
        return UserHistory().fit(generate("system-a", jobs=200, seed=2))
    settings = {**QUICK[name], **REFITTING}
    return LEARNED[name](**settings).fit(generate("google-2011", jobs=60, seed=1))


def _loaded(name: str, array: str, values: npt.NDArray[Any]) -> Any:
    """What `load_predictor` makes of a file that holds other values in one array."""
    fitted = _fitted(name)
    settings = {field.name: getattr(fitted, field.name) for field in fields(fitted) if field.init}
    return models._restored(type(fitted)(**settings), name, {**fitted.arrays(), array: values})


def _answer(name: str, array: str, values: npt.NDArray[Any]) -> str:
    try:
        _loaded(name, array, values)
    except ValueError as error:
        return str(error)
    return "taken up"


def _others(array: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """What an array must not be replaced by."""
    others: dict[str, npt.NDArray[Any]] = {
        "times": np.zeros(array.shape, dtype="datetime64[s]"),
        "a dimension more": array[None],
    }
    if array.dtype.kind != "U":
        others["texts"] = np.full(array.shape, "1")
    if array.dtype.kind == "i":
        others["fractions"] = array.astype(np.float64)
    if array.dtype.kind == "f":
        others["infinite"] = np.full_like(array, np.inf)
        others["complex"] = array.astype(np.complex128)
    return others


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_other_types_and_infinities_are_refused(name: str) -> None:
    arrays = dict(_fitted(name).arrays())
    assert len(arrays) > 5
    for array, values in arrays.items():
        for what, other in _others(np.asarray(values)).items():
            said = _answer(name, array, other)
            assert said.startswith(f"the arrays do not fit {name}: "), (array, what, said)


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("random_forest", "attempt_share", np.nan),
        ("random_forest", "job_share", -1.0),
        ("random_forest", "lesson_task_rows", np.nan),
        ("gradient_boosting", "shares", np.nan),
        ("gradient_boosting", "shares", 2.0),
        ("gradient_boosting", "recent/weight", -1.0),
        ("gradient_boosting", "recent/weight", np.nan),
        ("two_level_network", "job_network_hidden", np.nan),
        ("two_level_network", "task_network_deviation", 0.0),
        ("two_level_network", "job_features", np.nan),
        ("two_level_network", "job_class", 2),
        ("two_level_network", "task_class", -1),
        ("user_history", "norms", np.nan),
    ],
)
def test_values_that_mean_nothing_are_refused(name: str, array: str, value: float) -> None:
    other = np.full_like(np.asarray(_fitted(name).arrays()[array]), value)
    with pytest.raises(ValueError, match=f"the arrays do not fit {name}: "):
        _loaded(name, array, other)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_learned_is_taken_up(name: str) -> None:
    for array, values in _fitted(name).arrays().items():
        loaded = _loaded(name, array, np.array(values))
        np.testing.assert_array_equal(loaded.arrays()[array], values)
