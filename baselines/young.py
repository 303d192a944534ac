"""Young: checkpoint at regular intervals of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["Young", "clock_has_struck", "period_is_over"]


@dataclass(frozen=True)
class Young(Heuristic):
    """Checkpoint when the unsaved work reaches Young's interval.

    Young, "A first order approximation to the optimum checkpoint interval", CACM 1974: the
    interval is sqrt(2 C MTBF), C the cost of a checkpoint. It is the periodic method of Kumar et
    al., DSN 2020, section VI-A, with the square root of 2 that their Table VII omits and their
    Table VIII needs.

    The checkpoint comes at the first monitoring window at which the interval is over.
    """

    name: ClassVar[str] = "young"
    after: ClassVar[str] = "Young 1974"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    factor: float = tuned(1.0, 0.25, 8.0, log=True)
    """The interval in units of Young's."""

    def __post_init__(self) -> None:
        check_factor(self.factor)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT where the interval is over, CONTINUE elsewhere."""
        return choose(period_is_over(view, self.factor), Action.CHECKPOINT)


def period_is_over(view: ObservationView, factor: float) -> Bools:
    """Is the unsaved work at least ``factor`` times Young's interval?"""
    return view.is_on("window") & (view["unsaved_over_young"] >= np.float32(factor))


def clock_has_struck(view: ObservationView, factor: float) -> Bools:
    """Did the clock of the periodic method strike since the last checkpoint was durable?

    It strikes whenever the attempt has grown older by ``factor`` times Young's interval and the
    time of a checkpoint. Other checkpoints do not restart it; one that is under way at that moment
    serves for both.
    """
    cost, mtbf = view.minutes("checkpoint_cost"), view.minutes("mtbf")
    beat = factor * np.sqrt(2.0 * cost * mtbf) + cost
    known = view.is_on("window") & (beat > 0.0)
    beat = np.where(known, beat, 1.0)
    age = view.minutes("age")
    return known & (np.floor(age / beat) > np.floor((age - view.minutes("unsaved")) / beat))


def check_factor(factor: float) -> None:
    """Raise ValueError unless the factor is positive."""
    if not factor > 0.0:
        raise ValueError(f"factor: expected a positive number, got {factor}")
