"""Prediction-aware: a longer period where most failures are predicted, and trusted predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import (
    Bools,
    Choices,
    Heuristic,
    ObservationView,
    check_probability,
    choose,
    flagged,
)
from failgym.baselines.ml_checkpoint import first_flag
from failgym.baselines.search import choice, tuned
from failgym.baselines.young import clock_has_struck, period_is_over
from failgym.vocabulary import Action

__all__ = ["PredictionAware"]


@dataclass(frozen=True)
class PredictionAware(Heuristic):
    """Periodic checkpoints against the failures that are not predicted, others at predictions.

    Aupy, Robert, Vivien and Zaidouni, "Checkpointing algorithms and fault prediction", JPDC 74(2),
    2014 (arXiv 1302.3752). A predictor of recall r leaves failures a mean time M/(1 - r) apart to
    the periodic method, whose interval becomes sqrt(2 C M/(1 - r)); and a prediction of precision p
    is trusted, by a checkpoint, if it comes when at least C/p of work is unsaved, otherwise
    ignored.

    A predictor that tells a window in place of a moment is followed by a proactive mode with a
    period of its own (the same authors, "Checkpointing strategies with prediction windows", PRDC
    2013). While a flag stands, a checkpoint is made whenever the unsaved work reaches
    T = sqrt(2 C ((1 - p) I + p I/2) / p): of a window of length I, a false prediction takes all and
    a true one, that strikes anywhere in it, half; this time is spent at C/T, and a failure loses
    T/2. A policy without memory does not see when a flag went up, so the mode ends with the flag,
    not after I.
    """

    name: ClassVar[str] = "prediction_aware"
    after: ClassVar[str] = "Aupy et al. 2014"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    threshold: float = tuned(0.75, 0.05, 0.99)
    """Risk from which failure is predicted, as in `MLPeriodic`."""
    recall: float = tuned(0.76, 0.0, 0.99)
    """r at this threshold: that of Kumar et al., Table VIII, "ML+Periodic" at an MTBF of 1e4 s."""
    precision: float = tuned(0.26, 0.01, 1.0, log=True)
    """p at this threshold, likewise."""
    window: float = tuned(20.0, 0.0, 240.0)
    """I: time within which a predicted failure strikes [min]; 0: at its predicted moment. Alarms of
    `Calibrated.kumar` come 10 minutes ahead on average, which is that of a window of 20."""

    trust_all: bool = choice(False, True)
    """Is every prediction trusted, however little is unsaved?"""
    own_clock: bool = choice(False, True)
    """Does the period go by a clock of its own, that checkpoints on predictions do not restart? So
    it is in the source's first-order waste, with `trust_all` C/T + ((1 - r) T/2 + r C/p)/M, where
    these checkpoints come on top. Otherwise it begins anew at them too, which wastes less."""

    def __post_init__(self) -> None:
        check_probability("threshold", self.threshold)
        if not 0.0 <= self.recall < 1.0:
            raise ValueError(f"recall: expected a share from 0 to less than 1, got {self.recall}")
        if not 0.0 < self.precision <= 1.0:
            raise ValueError(f"precision: expected a share in (0, 1], got {self.precision}")
        if not 0.0 <= self.window < math.inf:
            raise ValueError(f"window: expected minutes, at least 0, got {self.window}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT after a period or at a trusted prediction, CONTINUE elsewhere."""
        over = clock_has_struck if self.own_clock else period_is_over
        periodic = over(view, (1.0 - self.recall) ** -0.5)
        return choose(periodic | (view.is_on("window") & self._proactive(view)), Action.CHECKPOINT)

    def _proactive(self, view: ObservationView) -> Bools:
        """Is a prediction trusted, and to be answered now?"""
        unsaved, cost = view.minutes("unsaved"), view.minutes("checkpoint_cost")
        trusted = self.trust_all | (unsaved >= cost / self.precision)
        if self.window == 0.0:
            return trusted & first_flag(view, self.threshold)
        inside = (1.0 - self.precision / 2.0) * self.window
        period = np.sqrt(2.0 * cost * inside / self.precision)
        return trusted & flagged(view, self.threshold) & (unsaved >= period)
