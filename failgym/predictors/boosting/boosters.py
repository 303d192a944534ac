"""Boosted trees (XGBoost) as bytes: trained, checked, and asked.

A booster is stored as XGBoost's own JSON, which names numbers and nothing that could execute. Its
loader trusts what it reads, so the trees are checked before it sees them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["booster_risk", "check_booster", "train_booster"]

Bytes = npt.NDArray[np.uint8]
Floats32 = npt.NDArray[np.float32]

_LINKS = (
    *("left_children", "right_children", "split_indices", "split_conditions", "default_left"),
    *("parents", "base_weights", "loss_changes", "sum_hessian", "split_type"),
)
"""What a tree holds of each of its nodes."""
_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


def train_booster(
    features: Floats32,
    bad: npt.NDArray[np.bool_],
    weight: Floats32,
    *,
    trees: int,
    depth: int,
    rate: float,
    least_weight: float,
    seed: int,
) -> Bytes:
    """Train a classifier with logistic loss, on one thread.

    Args:
        features: [rows, features], NaN where missing.
        bad: [rows] what is to be told from the others.
        weight: [rows] of each row.
        trees: boosting rounds.
        depth: levels of a tree at most.
        rate: what each tree's share is shrunk by.
        least_weight: of the hessian in a leaf.
        seed: XGBoost's.

    Returns:
        XGBoost's JSON, uint8.
    """
    import xgboost

    parameters = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "max_depth": depth,
        "eta": rate,
        "min_child_weight": least_weight,
        "seed": seed,
        "nthread": 1,
    }
    rows = xgboost.DMatrix(features, label=bad, weight=weight, nthread=1)
    booster: Any = xgboost.train(parameters, rows, num_boost_round=trees)
    return np.frombuffer(bytes(booster.save_raw("json")), dtype=np.uint8).copy()


def booster_risk(stored: Bytes, features: Floats32) -> Floats32:
    """The probability that each row is bad, float32 [rows], from a checked booster."""
    import xgboost

    booster: Any = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(stored.tobytes()))
    booster.set_param({"nthread": 1})
    if not len(features):
        return np.zeros(0, dtype=np.float32)
    return np.asarray(booster.inplace_predict(features), dtype=np.float32)


def check_booster(stored: Bytes, features: int) -> None:
    """Raise ValueError, in one line, unless these are trees over that many features.

    XGBoost follows children and features wherever they point, out of memory and in circles too. A
    tree's children must come after it.
    """
    if stored.ndim != 1 or stored.dtype != np.uint8:
        raise ValueError(f"booster: expected bytes, got {stored.dtype} {list(stored.shape)}")
    try:
        learner = json.loads(stored.tobytes())["learner"]
        model = learner["gradient_booster"]["model"]
        trees = model["trees"]
        sound = _one_risk(learner, features)
        sound = sound and learner["gradient_booster"]["name"] == "gbtree"
        sound = sound and list(model["tree_info"]) == [0] * len(trees)  # outputs it adds to
        sound = sound and all(_sound(tree, features) for tree in trees)
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise ValueError("booster: not XGBoost's JSON") from error
    if not sound:
        raise ValueError(f"booster: expected sound trees over {features} features")


def _one_risk(learner: dict[str, Any], features: int) -> bool:
    """Whether it gives one probability to each row of so many features."""
    shape = learner["learner_model_param"]
    outputs = (int(shape["num_class"]), int(shape["num_target"]))
    logistic = learner["objective"]["name"] == "binary:logistic"
    return bool(logistic and outputs == (0, 1) and int(shape["num_feature"]) == features)


def _sound(tree: dict[str, Any], features: int) -> bool:
    """Whether children follow their node, exist, and splits are on features that exist."""
    nodes = int(tree["tree_param"]["num_nodes"])
    if nodes < 1 or any(len(tree[name]) != nodes for name in _LINKS):
        return False
    left, right, feature = (np.array(tree[name], dtype=np.int64) for name in _LINKS[:3])
    node = np.arange(nodes)
    leaf = (left == -1) & (right == -1)
    inner = (left > node) & (left < nodes) & (right > node) & (right < nodes)
    numeric = not any(tree["split_type"]) and not any(len(tree[name]) for name in _CATEGORIES)
    numeric = numeric and int(tree["tree_param"]["size_leaf_vector"]) == 1
    return bool(numeric and np.all(leaf | inner) and np.all((feature >= 0) & (feature < features)))
