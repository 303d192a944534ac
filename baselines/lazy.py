"""Lazy checkpointing: the longer the last failure is ago, the rarer the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.baselines.young import check_factor
from failgym.vocabulary import Action

__all__ = ["Lazy"]


@dataclass(frozen=True)
class Lazy(Heuristic):
    """Checkpoint when the unsaved work reaches Young's interval at the present rate of failures.

    After Tiwari, Gupta and Vazhkudai, "Lazy checkpointing: exploiting temporal locality in
    failures to mitigate checkpointing overheads on extreme-scale systems", DSN 2014: times between
    failures are Weibull with a shape below 1, so the hazard h(t) falls with the time t since the
    last failure, and the interval may grow. Here it is sqrt(2 C / h(t)), Young's with h(t) in the
    place of 1/MTBF; this density of checkpoints is the best to first order for any hazard (Ling,
    Mi and Lin, "A variational calculus approach to optimal checkpoint placement", IEEE TC 2001).

    Readings: t is the age of the attempt, which began after the failure before it; h is counted in
    the train split, by class of task and doubling age, instead of a fitted Weibull law; only ends
    after which the task was started again count (`failgym.sim.shared.context.interruption_rates`).
    """

    name: ClassVar[str] = "lazy"
    after: ClassVar[str] = "Tiwari et al. 2014"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})
    reads: ClassVar[frozenset[str]] = frozenset({"restarts"})

    factor: float = tuned(1.0, 0.25, 4.0, log=True)
    """The interval in units of sqrt(2 C / h(t))."""

    def __post_init__(self) -> None:
        check_factor(self.factor)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT where the interval is over, CONTINUE elsewhere."""
        over = view["unsaved_over_lazy"] >= np.float32(self.factor)
        return choose(view.is_on("window") & over, Action.CHECKPOINT)
