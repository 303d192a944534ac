"""Boosters as bytes: what is not sound is refused before XGBoost sees it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from failgym.predictors.boosting.boosters import check_booster, train_booster


def booster() -> Any:
    """A sound booster of two features, as what its JSON says."""
    features = np.random.default_rng(0).random((200, 2)).astype(np.float32)
    weight = np.ones(200, dtype=np.float32)
    stored = train_booster(
        features,
        features[:, 0] > 0.5,
        weight,
        trees=2,
        depth=2,
        rate=0.3,
        least_weight=1.0,
        seed=0,
    )
    return json.loads(stored.tobytes())


def as_bytes(stored: Any) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(stored).encode(), dtype=np.uint8)


def test_a_sound_booster_is_taken() -> None:
    check_booster(as_bytes(booster()), 2)
    with pytest.raises(ValueError, match="sound trees over 3 features"):
        check_booster(as_bytes(booster()), 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left_children", 10**6),
        ("right_children", 0),
        ("split_indices", 2),
        ("split_indices", -1),
        ("split_type", 1),
    ],
)
def test_a_booster_that_would_lead_astray_is_refused(name: str, value: int) -> None:
    stored = booster()
    stored["learner"]["gradient_booster"]["model"]["trees"][0][name][0] = value
    with pytest.raises(ValueError, match="booster: expected sound trees over 2 features"):
        check_booster(as_bytes(stored), 2)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("gradient_booster", "model", "tree_info", 0), 10**6),  # written to, out of memory
        (("gradient_booster", "model", "tree_info", 0), -1),
        (("gradient_booster", "model", "tree_info"), []),
        (("gradient_booster", "model", "trees", 0, "sum_hessian"), []),
        (("gradient_booster", "model", "trees", 0, "categories_nodes"), [0]),
        (("gradient_booster", "model", "trees", 0, "tree_param", "size_leaf_vector"), "9"),
        (("learner_model_param", "num_class"), "3"),
        (("learner_model_param", "num_target"), "2"),
        (("objective", "name"), "reg:squarederror"),  # no probabilities
    ],
)
def test_a_booster_of_other_outputs_is_refused(path: tuple[Any, ...], value: Any) -> None:
    stored = booster()
    inner = stored["learner"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ValueError, match="booster: expected sound trees over 2 features"):
        check_booster(as_bytes(stored), 2)


@pytest.mark.parametrize("name", ["split_conditions", "default_left", "tree_param"])
def test_a_tree_that_lacks_something_is_refused(name: str) -> None:
    stored = booster()
    del stored["learner"]["gradient_booster"]["model"]["trees"][1][name]
    with pytest.raises(ValueError, match="booster: not XGBoost's JSON"):
        check_booster(as_bytes(stored), 2)


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"\xff", b'{"learner": 3}', b"[" * 10_000])
def test_a_booster_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="booster: not XGBoost's JSON"):
        check_booster(np.frombuffer(text, dtype=np.uint8), 2)
