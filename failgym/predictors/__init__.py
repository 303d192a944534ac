"""Predictors: tables in, a `Forecast` of every attempt, task and job out, or of the machines.

- `drawn`: what learns nothing: none, perfect, and forecasts of a stated quality, also of machines.
- `forest`: `RandomForest` (El-Sayed et al.), and the sweeps of their paper.
- `boosting`: `GradientBoosting` (Kumar et al.).
- `network`: `TwoLevelNetwork` (Rosà et al.), and the grace periods that are chosen by what it says.
- `history`: `UserHistory` (Kumar et al.), which foretells use and run time, no failures.
- `features`: what is known of jobs, tasks and attempts at a moment, shared by all that learn.

Here are what predictors share (`base`, `endings`, `learned`, `parameters`), and their files:
`models` of predictors, `store` of forecasts.

Those that learn need optional packages (`pip install 'failgym[predictors]'`), and are imported
when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.predictors.base import CLASSES, Predictor, check_trace
from failgym.predictors.drawn.alarms import Alarms
from failgym.predictors.drawn.calibrated import Calibrated
from failgym.predictors.drawn.classes import ClassQuality
from failgym.predictors.drawn.node_failures import CalibratedNodes, NodeForecast
from failgym.predictors.drawn.none import NoForecast
from failgym.predictors.drawn.perfect import Perfect
from failgym.predictors.learned import Learned
from failgym.predictors.models import LEARNED, class_called, load_predictor, save_predictor
from failgym.predictors.store import load_forecast, save_forecast
from failgym.sim.shared.forecast import Forecast

if TYPE_CHECKING:
    from failgym.predictors.boosting.gradient_boosting import GradientBoosting
    from failgym.predictors.forest.random_forest import RandomForest
    from failgym.predictors.history.user_history import UserHistory
    from failgym.predictors.network.two_level_network import TwoLevelNetwork

__all__ = [
    "CLASSES",
    "LEARNED",
    "Alarms",
    "Calibrated",
    "CalibratedNodes",
    "ClassQuality",
    "Forecast",
    "GradientBoosting",
    "Learned",
    "NoForecast",
    "NodeForecast",
    "Perfect",
    "Predictor",
    "RandomForest",
    "TwoLevelNetwork",
    "UserHistory",
    "check_trace",
    "load_forecast",
    "load_predictor",
    "save_forecast",
    "save_predictor",
]


def __getattr__(name: str) -> Any:
    """Import a predictor that learns when it is first asked for."""
    found = class_called(name) if name in __all__ else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
