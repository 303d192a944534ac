"""Hyper-parameters that make learned predictors quick enough for tests of all of them."""

from __future__ import annotations

from typing import Any

from failgym.vocabulary import MINUTE

QUICK: dict[str, dict[str, Any]] = {
    "random_forest": {"trees": 5},
    "gradient_boosting": {"trees": 8, "least": 5},
    "two_level_network": {"steps": 60, "least": 20, "refit": 0},
}
"""Of each predictor of `failgym.predictors.LEARNED`."""
REFITTING: dict[str, Any] = {"refit": 240 * MINUTE, "memory": 10 * 24 * 60 * MINUTE}
"""Of one that learns on while it predicts."""
