"""Forests as arrays: what scikit-learn grew, to the last bit, without scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from failgym.predictors.forest.forest import Forest, Growth, _fitted

pytest.importorskip("sklearn")

GROWTH = Growth(trees=7, leaf=2, tree_rows=10_000, ratio=1.0, seed=3)


def rows_and_labels(rows: int = 400, classes: int = 3) -> tuple[Any, Any]:
    """Continuous, counted, constant and often missing features; classes that depend on them."""
    rng = np.random.default_rng(5)
    features = rng.standard_normal((rows, 6)).astype(np.float32)
    features[:, 1] = rng.integers(0, 4, rows)
    features[:, 2] = 7
    features[rng.random(rows) < 0.4, 3] = -1e9
    score = features[:, 0] + features[:, 1] + rng.standard_normal(rows)
    return features, np.digitize(score, np.linspace(0, 3, classes - 1))


def grown(growth: Growth = GROWTH, classes: int = 3) -> Forest:
    return Forest.grow(*rows_and_labels(classes=classes), classes, growth)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("leaf", [1, 20])
def test_shares_are_those_of_scikit_learn(classes: int, leaf: int) -> None:
    growth = replace(GROWTH, leaf=leaf)
    rows, label = rows_and_labels(classes=classes)
    varied = [0, 1, 3, 4, 5]
    model = _fitted(rows[:, varied], label, growth)
    forest = Forest.grow(rows, label, classes, growth)
    other = np.random.default_rng(1).standard_normal((300, 6)).astype(np.float32)
    for part in model.estimators_:  # rows that lie on thresholds, and next to them
        inner = part.tree_.feature >= 0
        spot = np.zeros((inner.sum(), 6), dtype=np.float32)
        place = np.array(varied)[part.tree_.feature[inner]]
        spot[np.arange(len(spot)), place] = part.tree_.threshold[inner]
        other = np.concatenate((other, spot, np.nextafter(spot, np.float32(9))))
    for asked in (rows, other):
        expected = model.predict_proba(asked[:, varied])
        np.testing.assert_allclose(forest.shares(asked), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(forest.importance[varied], model.feature_importances_)
    assert forest.importance[2] == 0


def test_a_class_that_was_not_seen_has_no_share() -> None:
    rows, label = rows_and_labels(classes=2)
    forest = Forest.grow(rows, 2 * label, 4, GROWTH)
    shares = forest.shares(rows)
    assert not shares[:, [1, 3]].any()
    np.testing.assert_array_equal(shares[:, [0, 2]], grown(classes=2).shares(rows))


def test_rows_that_are_all_alike_tell_the_shares_of_the_classes() -> None:
    rows = np.full((1000, 3), 4, dtype=np.float32)
    forest = Forest.grow(rows, np.arange(1000) // 900, 2, GROWTH)
    assert forest.shares(rows[:1])[0, 1] == pytest.approx(0.1, abs=0.03)
    assert not forest.importance.any()


def test_one_class_is_certain() -> None:
    rows, _ = rows_and_labels()
    forest = Forest.grow(rows, np.ones(len(rows), dtype=np.int64), 2, GROWTH)
    assert np.all(forest.shares(rows) == [0, 1])
    assert np.all(Forest.certain(1, 2, 6).shares(rows) == [0, 1])


def test_fewer_of_the_most_frequent_class_raise_the_shares_of_the_others() -> None:
    rows, _ = rows_and_labels()
    label = (rows[:, 0] > 1.2).astype(np.int64)
    noisy = np.random.default_rng(0).standard_normal(rows.shape).astype(np.float32)
    shares = [
        Forest.grow(noisy, label, 2, replace(GROWTH, ratio=ratio)).shares(noisy)[:, 1].mean()
        for ratio in (1.0, 0.5, 0.1)
    ]
    count = np.bincount(label)
    expected = [count[1] / (count[1] + ratio * count[0]) for ratio in (1.0, 0.5, 0.1)]
    assert shares == pytest.approx(expected, abs=0.06)


def test_the_same_seed_grows_the_same_forest_and_another_seed_another() -> None:
    first, second = grown().arrays(""), grown().arrays("")
    assert all(np.array_equal(first[name], second[name]) for name in first)
    rows, _ = rows_and_labels()
    other = grown(replace(GROWTH, seed=4))
    assert not np.array_equal(grown().shares(rows), other.shares(rows))


def test_what_was_stored_says_the_same_bits() -> None:
    rows, _ = rows_and_labels()
    again = Forest.restore(grown().arrays("a_"), "a_", 3, 6)
    assert np.array_equal(grown().shares(rows), again.shares(rows))


BREAKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a child before its parent": lambda a: a["left"].__setitem__(0, 0),
    "a child that is not there": lambda a: a["right"].__setitem__(0, len(a["right"])),
    "no child": lambda a: a["right"].__setitem__(0, -1),
    "a root that is not there": lambda a: a["root"].__setitem__(0, len(a["right"])),
    "no root": lambda a: a.update(root=a["root"][:0]),
    "a feature that is not there": lambda a: a["feature"].__setitem__(0, 6),
    "too few thresholds": lambda a: a.update(threshold=a["threshold"][1:]),
    "other types": lambda a: a.update(share=a["share"].astype(np.float64)),
    "too many classes": lambda a: a.update(share=np.repeat(a["share"], 2, axis=1)),
    "too few features": lambda a: a.update(importance=a["importance"][1:]),
    "two dimensions": lambda a: a.update(left=a["left"][:, None]),
    "an array is missing": lambda a: a.pop("share"),
}


@pytest.mark.parametrize("fault", BREAKS)
def test_what_is_not_a_forest_is_refused_in_one_line(fault: str) -> None:
    arrays = {name: values.copy() for name, values in grown().arrays("").items()}
    BREAKS[fault](arrays)
    with pytest.raises(ValueError, match=r"expected trees|is missing") as error:
        Forest.restore(arrays, "", 3, 6)
    assert "\n" not in str(error.value)


def test_nothing_to_learn_from_is_said() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        Forest.grow(np.zeros((0, 3), np.float32), np.zeros(0, np.int64), 2, GROWTH)
