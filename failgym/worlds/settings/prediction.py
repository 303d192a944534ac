"""`Prediction` and `NodePrediction`: what is foretold of attempts, and of machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from failgym.predictors import Forecast, NodeForecast, Predictor
from failgym.worlds.settings.checked import Checked

__all__ = ["NodePrediction", "Prediction"]


@dataclass(frozen=True, kw_only=True)
class Prediction(Checked):
    """A forecast of attempts, tasks and jobs."""

    forecast: str | Forecast | Predictor = "none"
    """What is predicted: the name of a predictor (`failgym.worlds.forecast.PREDICTORS`), the file
    of a stored forecast or predictor, a predictor, or a forecast of the split or of the whole
    trace. A predictor that is not fitted yet learns from the train split ("fit" for "fit" and
    "validation"). One that is fitted speaks of what it is asked: give one that knows only "fit"
    when you choose models on "validation"."""
    seed: int = 0
    """Key of the lengths of attempts that were cut, and of drawn forecasts."""


@dataclass(frozen=True, kw_only=True)
class NodePrediction(Checked):
    """A forecast of machines.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    node_forecast: Literal["none", "exact", "calibrated"] | NodeForecast = "none"
    """DISPATCH: what is predicted of machines: nothing, every failure, with an accuracy, or what a
    forecast of the split (`failgym.worlds.build.split_of`) says."""
    node_accuracy: float = 0.7
    """``node_forecast="calibrated"``: application-oblivious accuracy AOA (FLAW, section V-B)."""
    node_false_positives: float = 0.5
    """``node_forecast="calibrated"``: share of false positives among the errors."""

    def __post_init__(self) -> None:
        if not isinstance(self.node_forecast, NodeForecast):
            self._check_choice("node_forecast", ("none", "exact", "calibrated"))
        for name in ("node_accuracy", "node_false_positives"):
            self._check(name, 0.0 <= getattr(self, name) <= 1.0, "in [0, 1]")
