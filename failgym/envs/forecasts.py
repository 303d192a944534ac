"""The forecast that a scenario names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from failgym.envs.scenario import Scenario
from failgym.predictors import (
    Calibrated,
    Forecast,
    NoForecast,
    Perfect,
    Predictor,
    load_forecast,
)
from failgym.traces import Trace

__all__ = ["PREDICTORS", "forecast_of"]

PREDICTORS: dict[str, Callable[[Scenario], Predictor]] = {
    "none": lambda s: NoForecast(window=s.window),
    "perfect": lambda s: Perfect(window=s.window),
    "elsayed": lambda s: Calibrated.elsayed(window=s.window, seed=s.seed),
    "rosa": lambda s: Calibrated.rosa(window=s.window, seed=s.seed),
    "kumar": lambda s: Calibrated.kumar(window=s.window, seed=s.seed),
}
"""Predictors that a scenario may name."""


def forecast_of(scenario: Scenario, trace: Trace, train: Callable[[], Trace]) -> Forecast:
    """The forecast of a trace; a predictor is fitted on what ``train`` gives.

    Raises:
        ValueError: for a name that is neither a predictor nor a file.
    """
    wanted = scenario.forecast
    if isinstance(wanted, Forecast):
        return wanted
    if isinstance(wanted, str):
        if wanted not in PREDICTORS:
            if Path(wanted).is_file():
                return load_forecast(Path(wanted), trace)
            known = ", ".join(PREDICTORS)
            raise ValueError(f"forecast: expected one of {known} or a file, got {wanted!r}")
        wanted = PREDICTORS[wanted](scenario)
    return wanted.fit(train()).predict(trace)
