"""Points and areas of curves, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as published

from failgym.metrics.curves import (
    average_precision,
    binormal,
    binormal_auc,
    precision_recall,
    roc_auc,
)


def test_curves_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    bad = rng.random(500) < 0.1
    score = np.round(rng.random(500) + 0.3 * bad, 2)  # with ties
    points = precision_recall(bad, score)
    precision, recall, threshold = published.precision_recall_curve(bad, score)
    np.testing.assert_allclose(points.threshold[::-1], threshold)
    np.testing.assert_allclose(points.precision[::-1], precision[:-1])
    np.testing.assert_allclose(points.recall[::-1], recall[:-1])
    assert roc_auc(bad, score) == pytest.approx(published.roc_auc_score(bad, score))
    expected = published.average_precision_score(bad, score)
    assert average_precision(bad, score) == pytest.approx(expected)


def test_curves_where_nothing_can_be_told() -> None:
    none = np.zeros(3, dtype=np.bool_)
    assert np.isnan(roc_auc(none, [0.1, 0.2, 0.3]))
    assert np.isnan(average_precision(none, [0.1, 0.2, 0.3]))
    assert len(precision_recall(none[:0], []).threshold) == 0
    assert roc_auc(np.array([True, False]), [0.5, 0.5]) == 0.5


@pytest.mark.parametrize(("distance", "spread"), [(2.1, 0.8), (1.0, 1.5), (0.0, 1.0)])
def test_a_binormal_curve_is_that_of_normal_scores(distance: float, spread: float) -> None:
    rng = np.random.default_rng(5)
    bad = np.arange(200_000) < 20_000
    score = np.where(bad, distance + spread * rng.standard_normal(len(bad)), 0.0)
    score[~bad] = rng.standard_normal(int((~bad).sum()))
    threshold = np.array([-1.0, 0.0, 1.5])
    curve = binormal(distance, spread, 0.1, threshold)
    for at, precision, recall in zip(*curve, strict=True):
        assert recall == pytest.approx((score[bad] >= at).mean(), abs=0.01)
        assert precision == pytest.approx(bad[score >= at].mean(), abs=0.01)
    assert binormal_auc(distance, spread) == pytest.approx(roc_auc(bad, score), abs=0.01)


def test_a_binormal_curve_ends_where_nothing_is_flagged() -> None:
    curve = binormal(2.0, 1.0, 0.1, [60.0])
    assert curve.recall.tolist() == [0.0]
    assert np.isnan(curve.precision).all()
