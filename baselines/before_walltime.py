"""Before the walltime: a last checkpoint just before the scheduler ends the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import choice, fixed
from failgym.baselines.young import period_is_over
from failgym.vocabulary import Action

__all__ = ["BeforeWalltime"]

TOLERANCE = 0.05
"""Slack in times that were stored as float32 [min]."""


@dataclass(frozen=True)
class BeforeWalltime(Heuristic):
    """Checkpoint at the last decision from which the checkpoint is durable before the walltime.

    Kumar et al., DSN 2020, Table II, recommendation R6: enable a checkpoint "when job termination
    is signaled due to walltime", since a third of the node-hours of System A and 43 % of System B
    end there; for the rest checkpoint at a varying frequency, here Young's.

    A job that is never submitted again after its walltime gains nothing by it. No checkpoint is
    made that saves less than it costs.
    """

    name: ClassVar[str] = "before_walltime"
    after: ClassVar[str] = "Kumar et al. 2020, R6"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    periodic: bool = choice(True, False)
    """Checkpoint at Young's intervals too?"""
    window: float = fixed(1.0)
    """Time to the next decision [min]; the monitoring window of Checkpoint-v1."""

    def __post_init__(self) -> None:
        if not self.window > 0.0:
            raise ValueError(f"window: expected a positive number of minutes, got {self.window}")

    def inputs(self) -> frozenset[str]:
        """Walltimes, unless it checkpoints periodically too."""
        return frozenset() if self.periodic else frozenset({"walltimes"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT just before the walltime or after an interval, CONTINUE elsewhere."""
        wanted = view.is_on("window") & self._last_chance(view)
        if self.periodic:
            wanted |= period_is_over(view, 1.0)
        return choose(wanted, Action.CHECKPOINT)

    def _last_chance(self, view: ObservationView) -> Bools:
        """Is a checkpoint durable in time if it begins now, but not if at the next decision?"""
        share, cost = view["walltime_left"].astype(np.float64), view.minutes("checkpoint_cost")
        used = np.maximum(1.0 - share, np.finfo(np.float32).eps)
        spare = view.minutes("age") * share / used - cost - TOLERANCE
        return (spare > 0.0) & (spare <= self.window) & (view.minutes("unsaved") > cost)
