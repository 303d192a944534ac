"""`NoForecast`: the predictor that says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from failgym.predictors.parameters import check_whole
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE

__all__ = ["NoForecast"]


@dataclass(frozen=True)
class NoForecast:
    """No risks and no confidences: every forecast field of the observation is zero."""

    window: int = 5 * MINUTE
    """Monitoring window [ms]."""

    def __post_init__(self) -> None:
        """Raise ValueError for a window that is none."""
        check_whole(self, 1, "window")

    def fit(self, trace: Trace) -> Self:
        """Return itself: nothing is learned."""
        return self

    def predict(self, trace: Trace) -> Forecast:
        """Return the empty forecast of the trace."""
        rows = (trace.rows("jobs"), trace.rows("tasks"), trace.rows("attempts"))
        return Forecast.none(trace.content_hash, *rows, self.window)
