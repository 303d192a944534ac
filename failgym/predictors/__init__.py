"""Predictors: tables in, a `Forecast` of every attempt, task and job out, or of the machines.

- Nothing learned: `none`, `perfect`, `calibrated` with its `classes`, drawn at a stated quality;
  `node_failures`: of machines.
- `random_forest` (El-Sayed et al.): its trees in `forests`, what they look at in `forest_rows`, the
  paper's sweeps in `forest_sweep`.
- `gradient_boosting` (Kumar et al.): its trees in `boosters`, what they learn from in `examples`.
- `two_level_network` (Rosà et al.): one network in `networks`, who has arrived in `arrived`;
  `grace_periods` are chosen by what it says.
- `user_history` (Kumar et al.), on the `job_use` of earlier jobs.
- What they share: `base`, `learned`, `parameters`, the `features`; on disk by `models` (predictors)
  and `store` (forecasts).

Those that learn need optional packages (`pip install 'failgym[predictors]'`), and are imported
when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.predictors.base import CLASSES, Predictor, check_trace
from failgym.predictors.calibrated import Calibrated, ClassQuality
from failgym.predictors.learned import Learned
from failgym.predictors.models import LEARNED, class_called, load_predictor, save_predictor
from failgym.predictors.node_failures import CalibratedNodes, NodeForecast
from failgym.predictors.none import NoForecast
from failgym.predictors.perfect import Perfect
from failgym.predictors.store import load_forecast, save_forecast
from failgym.sim.forecast import Forecast

if TYPE_CHECKING:
    from failgym.predictors.gradient_boosting import GradientBoosting
    from failgym.predictors.random_forest import RandomForest
    from failgym.predictors.two_level_network import TwoLevelNetwork
    from failgym.predictors.user_history import UserHistory

__all__ = [
    "CLASSES",
    "LEARNED",
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
