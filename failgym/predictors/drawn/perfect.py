"""`Perfect`: the predictor that knows every outcome from the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from failgym.predictors.base import CLASSES, task_classes, window_offsets
from failgym.predictors.parameters import check_whole
from failgym.sim.shared.forecast import Forecast
from failgym.traces.trace import Trace
from failgym.vocabulary import MINUTE, Outcome

__all__ = ["Perfect"]


@dataclass(frozen=True)
class Perfect:
    """Risk 1 from the start for the attempts that FAIL, else 0; all confidence in the true class.

    What the end of the data cut off counts as finishing. El-Sayed et al. (ICDCS 2017) note that
    with such a forecast Algorithm 1 costs no work.
    """

    window: int = 5 * MINUTE
    """Monitoring window [ms]."""

    def __post_init__(self) -> None:
        """Raise ValueError for a window that is none."""
        check_whole(self, 1, "window")

    def fit(self, trace: Trace) -> Self:
        """Return itself: nothing is learned."""
        return self

    def predict(self, trace: Trace) -> Forecast:
        """Return the forecast that the record makes come true."""
        offset = window_offsets(trace, self.window)
        fails = trace.column("attempts", "outcome") == Outcome.FAIL
        finishing = np.isin(trace.column("jobs", "outcome"), (Outcome.FINISH, Outcome.CENSORED))
        return Forecast(
            trace_hash=trace.content_hash,
            window=self.window,
            offset=offset,
            risk=np.repeat(fails.astype(np.float32), np.diff(offset)),
            confidence=np.eye(len(CLASSES), dtype=np.float32)[task_classes(trace)],
            job_confidence=(~finishing).astype(np.float32),
        )
