"""Blind kill: a time limit on every task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.sim.shared.fields import HIGH, INDEX
from failgym.vocabulary import Action

__all__ = ["BlindKill"]

LONGEST = float(HIGH[INDEX["age_over_grace"]])
"""More grace periods than this an observation does not tell apart."""


@dataclass(frozen=True)
class BlindKill(Heuristic):
    """Kill every task that still runs after its grace period, whatever is predicted.

    The control for Rosà, Chen and Binder, IWQoS 2015: it uses the length of the grace period and no
    prediction of the class. A policy that uses predictions has to do better than this one.
    """

    name: ClassVar[str] = "blind_kill"
    needs: ClassVar[frozenset[str]] = frozenset({"kill"})

    limit: float = tuned(1.0, 1.0, 64.0, log=True)
    """The time limit in grace periods of the task. A kill cannot come before the grace period."""

    def __post_init__(self) -> None:
        if not 1.0 <= self.limit <= LONGEST:
            raise ValueError(f"limit: expected 1 to {LONGEST}, got {self.limit}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL where a task is not armed yet; with a longer limit, once that is over."""
        over = (self.limit == 1.0) | (view["age_over_grace"] >= np.float32(self.limit))
        return choose(view.is_on("window") & ~view.is_on("armed") & over, Action.KILL)
