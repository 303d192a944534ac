"""Introspective: the more attempts the system has ended lately, the shorter the interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

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
from failgym.baselines.young import check_factor
from failgym.vocabulary import Action

__all__ = ["Introspective"]


@dataclass(frozen=True)
class Introspective(Heuristic):
    """Checkpoint at Young's interval for the present rate of failures, and when one is predicted.

    Failures come in regimes: a system is degraded for a quarter of the time, in which most of its
    failures strike; a run-time that sees in which regime it is, and checkpoints at the interval of
    that regime's own MTBF, wastes less (Bautista-Gomez et al., "Reducing waste in extreme scale
    systems through introspective analysis", IPDPS 2016).

    Theirs has two regimes, told by the failures of the last interval. Here the rate is estimated
    from the n interruptions of the last hour: it is (n + k)/(e + k) times the usual one, where e
    are those that MTBF and the number of attempts that run let expect. It is the mean of a rate
    whose prior is a gamma distribution of k interruptions around the usual rate. The interval is
    sqrt(2 C / rate).

    As with `MLPeriodic`, an attempt that is flagged first is saved too.
    """

    name: ClassVar[str] = "introspective"
    after: ClassVar[str] = "Bautista-Gomez et al. 2016"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    prior: float = tuned(1.0, 0.1, 30.0, log=True)
    """k: interruptions that the usual rate counts as much as. The larger, the slower the response
    to what happens."""
    factor: float = tuned(1.0, 0.25, 4.0, log=True)
    """The interval in units of sqrt(2 C / rate)."""
    threshold: float = tuned(0.75, 0.01, 1.0)
    """Risk from which failure is predicted, as in `MLPeriodic`; without forecasts no risk is."""
    by_age: bool = choice(False, True)
    """Is the usual rate that of class and age, as in `Lazy`, instead of 1/MTBF?"""

    def __post_init__(self) -> None:
        if not 0.0 < self.prior < math.inf:
            raise ValueError(f"prior: expected a positive number, got {self.prior}")
        check_factor(self.factor)
        check_probability("threshold", self.threshold)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT where the interval is over or failure is predicted, else CONTINUE."""
        usual = view["unsaved_over_lazy" if self.by_age else "unsaved_over_young"]
        over = usual * np.sqrt(self._times_the_usual(view)) >= self.factor
        predicted = first_flag(view, self.threshold)
        return choose(view.is_on("window") & (over | predicted), Action.CHECKPOINT)

    def _times_the_usual(self, view: ObservationView) -> npt.NDArray[np.float64]:
        """The present rate of interruptions over the usual one [batch]; 1 if no MTBF is known."""
        hours = np.exp2(view["running"].astype(np.float64))  # of attempts, one more than run
        mtbf = view.minutes("mtbf") / 60.0
        known = mtbf > 0.0
        expected = np.divide(hours, mtbf, out=np.zeros_like(hours), where=known)
        found = np.where(known, view["interruption_rate"] * hours, 0.0)
        return (found + self.prior) / (expected + self.prior)
