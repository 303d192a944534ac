"""ML checkpointing: one checkpoint when failure is predicted."""

from __future__ import annotations

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
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["MLCheckpoint", "first_flag", "never_saved"]

TOLERANCE = 0.5
"""Slack in comparing two times that were stored as float32 logarithms [min]."""


@dataclass(frozen=True)
class MLCheckpoint(Heuristic):
    """Checkpoint an attempt once, at the first decision at which failure is predicted for it.

    Kumar et al., DSN 2020, section VI-A: "forcing a checkpoint whenever it predicts a failure and
    the probability is above a threshold"; their saving charges one checkpoint for each flagged
    job, so a flag that stays up does not trigger another one.
    """

    name: ClassVar[str] = "ml_checkpoint"
    after: ClassVar[str] = "Kumar et al. 2020"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})
    reads: ClassVar[frozenset[str]] = frozenset({"risk"})

    threshold: float = tuned(0.3, 0.01, 1.0)
    """Risk from which failure is predicted. On the scale of `Calibrated.kumar` 0.3 is the working
    point of Table VIII's "ML", shared single-node jobs: recall .95."""

    def __post_init__(self) -> None:
        check_probability("threshold", self.threshold)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT for a flagged attempt that was not saved yet, CONTINUE elsewhere."""
        now = view.is_on("window") & flagged(view, self.threshold)
        return choose(now & never_saved(view), Action.CHECKPOINT)


def never_saved(view: ObservationView) -> Bools:
    """Was nothing of this attempt saved so far?

    Then all its age is unsaved work, but for the restore with which it may have begun. The restore
    is assumed to take no longer than a checkpoint does.
    """
    restore = view.minutes("restore_cost") * (view["durable_fraction"] > 0)
    return view.minutes("age") - view.minutes("unsaved") <= restore + TOLERANCE


def first_flag(view: ObservationView, threshold: float) -> Bools:
    """Is failure predicted now, and was it not one window ago, or not of this task, or unsaved?"""
    limit = np.float32(threshold)
    before = (view["risk"] - view["risk_change"] >= limit) & (view["flagged_before"] >= limit)
    return flagged(view, threshold) & (~before | never_saved(view))
