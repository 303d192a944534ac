"""RANK_HYBD: place each task on the machine that finishes it first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.vocabulary import Action

__all__ = ["RankHybd"]


@dataclass(frozen=True)
class RankHybd(Heuristic):
    """Take every machine that is offered, whatever is predicted of it.

    Yu and Shi, "A planner-guided scheduling strategy for multiple workflow applications", 2008: the
    scheduler picks the task by its rank and offers the free machine that finishes it earliest. It
    is what the cluster does by itself, and so equals `replay` where nothing but the placement is
    decided.
    """

    name: ClassVar[str] = "rank_hybd"
    after: ClassVar[str] = "Yu and Shi 2008"
    idle: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"place"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CONTINUE everywhere: at DISPATCH it places the task."""
        return np.full(len(view), int(Action.CONTINUE), dtype=np.int64)
