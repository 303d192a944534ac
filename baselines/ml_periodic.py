"""ML + periodic checkpointing: Young's intervals, and one checkpoint when failure is predicted."""

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
)
from failgym.baselines.ml_checkpoint import first_flag
from failgym.baselines.search import choice, tuned
from failgym.baselines.young import check_factor, clock_has_struck, period_is_over
from failgym.vocabulary import Action

__all__ = ["MLPeriodic"]


@dataclass(frozen=True)
class MLPeriodic(Heuristic):
    """Checkpoint when `young` or `ml_checkpoint` would.

    Kumar et al., DSN 2020, section VI-A, "whenever either method suggests taking a checkpoint":
    Young's periodic method, and the prediction's one checkpoint when an attempt is flagged first.
    """

    name: ClassVar[str] = "ml_periodic"
    after: ClassVar[str] = "Kumar et al. 2020"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    threshold: float = tuned(0.75, 0.01, 1.0)
    """Risk from which failure is predicted. On the scale of `Calibrated.kumar` 0.75 is the working
    point of Table VIII's "ML+Periodic" at an MTBF of 1e4 s, shared single-node jobs: recall
    .76."""
    factor: float = tuned(1.0, 0.25, 8.0, log=True)
    """The period in units of Young's interval."""
    own_clock: bool = choice(False, True)
    """Does the periodic method go by a clock of its own, each method as if the other were not there
    (the source does not say)? Otherwise its period begins anew at checkpoints on predictions too,
    which wastes less."""

    def __post_init__(self) -> None:
        check_probability("threshold", self.threshold)
        check_factor(self.factor)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT where either method asks for one, CONTINUE elsewhere."""
        predicted = view.is_on("window") & first_flag(view, self.threshold)
        over = clock_has_struck if self.own_clock else period_is_over
        return choose(predicted | over(view, self.factor), Action.CHECKPOINT)
