"""`Forecast`: what a predictor says about a trace, as the arrays that the engine reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.alarms import AlarmLaw

__all__ = ["Forecast"]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Risks and class confidences, aligned with one trace.

    A risk is the probability that *this attempt ends in FAIL*, as seen after each whole window of
    the recorded attempt. It is read by progress, or, with the rule ``forecast_by="age"``, by the
    time since the attempt started, and held at its last value beyond its end. A prediction never
    changes what happens.
    """

    trace_hash: str
    """Content hash of the trace that the forecast speaks of."""
    window: int
    """Length of a window [ms]."""
    offset: npt.NDArray[np.int64]
    """[attempts + 1] The risks of attempt row i are ``risk[offset[i]:offset[i + 1]]``."""
    risk: npt.NDArray[np.float32]
    """[windows] Risk at progress, or age, 0, ``window``, 2 ``window`` ...; in [0, 1]."""
    confidence: npt.NDArray[np.float32]
    """[tasks, 4] Confidence that the task ends in FINISH, EVICT, FAIL, KILL; in [0, 1]."""
    job_confidence: npt.NDArray[np.float32]
    """[jobs] Confidence that the job does not finish; in [0, 1]."""
    alarms: AlarmLaw | None = None
    """What the risks of drawn attempts follow (rules A1 to A4 of `failgym.sim.reference`); None:
    they look like the task's last started row."""

    @staticmethod
    def none(trace_hash: str, jobs: int, tasks: int, attempts: int, window: int) -> Forecast:
        """The forecast that says nothing: every field is zero."""
        return Forecast(
            trace_hash=trace_hash,
            window=window,
            offset=np.zeros(attempts + 1, dtype=np.int64),
            risk=np.zeros(0, dtype=np.float32),
            confidence=np.zeros((tasks, 4), dtype=np.float32),
            job_confidence=np.zeros(jobs, dtype=np.float32),
        )
