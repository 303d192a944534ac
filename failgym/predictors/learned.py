"""What predictors that learn from a trace share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import window_offsets
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace

__all__ = ["Arrays", "Learned", "window_moments"]

Arrays = Mapping[str, npt.NDArray[Any]]
"""A learned state: plain arrays of numbers and texts by name, nothing that could execute."""


class Learned(ABC):
    """A predictor that learns: a dataclass of hyper-parameters, learned attributes end in ``_``.

    A prediction at time t uses only what had happened by t. What `predict` reads of the trace
    that it is given (ends, outcomes, usage, failures of siblings) it reads up to the time of each
    prediction. `predict` works on the state that `arrays` gives, so that a predictor that was
    stored predicts the same bits as the one that was fitted.
    """

    name: ClassVar[str]
    """The name on the command line, in scenarios and in stored files."""

    @abstractmethod
    def fit(self, trace: Trace) -> Self:
        """Learn from a trace and return the predictor itself. Attempts, tasks and jobs whose end
        is not known in it (CENSORED) teach nothing about their end.

        Raises:
            ValueError: in one line, if the trace has nothing to learn from.
        """

    @abstractmethod
    def predict(self, trace: Trace) -> Forecast:
        """Return the forecast of a trace. Raises ValueError if the predictor is not fitted."""

    def predict_jobs(self, trace: Trace, jobs: npt.NDArray[np.bool_]) -> Forecast:
        """The forecast of a trace as far as it speaks of some jobs.

        What it says of other jobs and of their tasks and attempts counts for nothing: a predictor
        may leave that out.

        Args:
            trace: all that happens.
            jobs: [jobs] those that are asked about.

        Raises:
            ValueError: if the predictor is not fitted.
        """
        return self.predict(trace)

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return what was learned. Raises ValueError if the predictor is not fitted."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> Self:
        """Restore what `arrays` returned. Raises ValueError, in one line, if it does not fit."""


def window_moments(
    trace: Trace, window: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where and when the risks of a forecast are stated.

    Returns:
        The offsets of `window_offsets` [attempts + 1]; and for each window of each attempt, in
        their order, the row of the attempt and the time of the prediction on the trace's clock
        [ms], which is the attempt's start plus a number of whole windows.
    """
    offset = window_offsets(trace, window)
    rows = np.arange(len(offset) - 1, dtype=np.int64)
    attempt = np.repeat(rows, np.diff(offset))
    number = np.arange(len(attempt), dtype=np.int64) - offset[attempt]
    start = trace.column("attempts", "start")
    return offset, attempt, start[attempt] + number * window
