"""Replay: leave everything to the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.vocabulary import Action

__all__ = ["Replay"]


@dataclass(frozen=True)
class Replay(Heuristic):
    """Always CONTINUE: what the cluster did without help. Every score is relative to it."""

    name: ClassVar[str] = "replay"
    idle: ClassVar[bool] = True

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CONTINUE everywhere."""
        return np.full(len(view), int(Action.CONTINUE), dtype=np.int64)
