"""Predictors: tables in, a `Forecast` of every attempt, task and job out, or of the machines."""

from __future__ import annotations

from failgym.predictors.base import CLASSES, Predictor, check_trace
from failgym.predictors.calibrated import Calibrated, ClassQuality
from failgym.predictors.node_failures import CalibratedNodes, NodeForecast
from failgym.predictors.none import NoForecast
from failgym.predictors.perfect import Perfect
from failgym.predictors.store import load_forecast, save_forecast
from failgym.sim.forecast import Forecast

__all__ = [
    "CLASSES",
    "Calibrated",
    "CalibratedNodes",
    "ClassQuality",
    "Forecast",
    "NoForecast",
    "NodeForecast",
    "Perfect",
    "Predictor",
    "check_trace",
    "load_forecast",
    "save_forecast",
]
