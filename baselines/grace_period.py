"""Grace period: kill what is predicted not to finish, after a delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["CLASSES", "GracePeriod", "check_weight", "predicted_unfinished"]

CLASSES = ("finish", "evict", "fail", "kill")
"""Execution classes in the order in which a tie is decided."""


@dataclass(frozen=True)
class GracePeriod(Heuristic):
    """Kill after a grace period what is predicted not to finish.

    It arms every task whose predicted class is not FINISH; the scenario's grace period does the
    rest.

    Rosà, Chen and Binder, "Catching failures of failures at big-data clusters", IWQoS 2015, section
    III-4: a task belongs to the class of the highest confidence; a task of the classes evict, fail
    and kill is terminated after its grace period, the confidence-weighted sum of the class grace
    periods (324, 56 and 83 minutes), counted from its first start. The period is the scenario's.
    """

    name: ClassVar[str] = "grace_period"
    after: ClassVar[str] = "Rosà et al. 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"kill"})
    reads: ClassVar[frozenset[str]] = frozenset({"classes"})

    finish_weight: float = tuned(1.0, 0.1, 10.0, log=True)
    """What the confidence of FINISH counts for beside the others (the paper: as much)."""

    def __post_init__(self) -> None:
        check_weight(self.finish_weight)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL where a task is to be armed, CONTINUE elsewhere."""
        unarmed = view.is_on("window") & ~view.is_on("armed")
        return choose(unarmed & predicted_unfinished(view, self.finish_weight), Action.KILL)


def predicted_unfinished(view: ObservationView, finish_weight: float = 1.0) -> Bools:
    """Is the class of the highest confidence not FINISH? Ties, and no forecast, are FINISH."""
    confidences = np.stack([view[f"confidence_{name}"] for name in CLASSES], axis=1)
    confidences[:, 0] *= np.float32(finish_weight)
    return np.argmax(confidences, axis=1) > 0


def check_weight(finish_weight: float) -> None:
    """Raise ValueError unless the weight is positive."""
    if not finish_weight > 0.0:
        raise ValueError(f"finish_weight: expected a positive number, got {finish_weight}")
