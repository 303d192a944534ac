"""Prediction-aware: a longer period where most failures are predicted, and trusted predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
from failgym.baselines.young import period_is_over
from failgym.sim.records import Action

__all__ = ["PredictionAware"]


@dataclass(frozen=True)
class PredictionAware(Heuristic):
    """Periodic checkpoints against the failures that are not predicted, others at predictions.

    Aupy, Robert, Vivien and Zaidouni, "Checkpointing algorithms and fault prediction", JPDC 74(2),
    2014 (arXiv 1302.3752). A predictor of recall r leaves failures a mean time M/(1 - r) apart to
    the periodic method, whose interval becomes sqrt(2 C M/(1 - r)); and a prediction of precision p
    is trusted, by a checkpoint, if it comes when at least C/p of work is unsaved, otherwise
    ignored.
    """

    name: ClassVar[str] = "prediction_aware"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    threshold: float = tuned(0.75, 0.05, 0.99)
    """Risk from which failure is predicted, as in `MLPeriodic`."""
    recall: float = tuned(0.76, 0.0, 0.99)
    """r at this threshold: that of Kumar et al., Table VIII, "ML+Periodic" at an MTBF of 1e4 s."""
    precision: float = tuned(0.26, 0.01, 1.0, log=True)
    """p at this threshold, likewise."""
    standing: bool = choice(False, True)
    """Is a flag a new prediction at each window at which it stands?"""

    def __post_init__(self) -> None:
        check_probability("threshold", self.threshold)
        if not 0.0 <= self.recall < 1.0:
            raise ValueError(f"recall: expected a share from 0 to less than 1, got {self.recall}")
        if not 0.0 < self.precision <= 1.0:
            raise ValueError(f"precision: expected a share in (0, 1], got {self.precision}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT after a period or at a trusted prediction, CONTINUE elsewhere."""
        trusted = self.precision * view.minutes("unsaved") >= view.minutes("checkpoint_cost")
        predicted = (flagged if self.standing else first_flag)(view, self.threshold)
        over = period_is_over(view, (1.0 - self.recall) ** -0.5)
        return choose(over | (view.is_on("window") & predicted & trusted), Action.CHECKPOINT)
