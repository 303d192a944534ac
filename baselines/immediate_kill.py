"""Immediate kill: the grace-period policy with no grace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.grace_period import predicted_unfinished
from failgym.sim.records import Action

__all__ = ["ImmediateKill"]


@dataclass(frozen=True)
class ImmediateKill(Heuristic):
    """Kill a task at its first decision if its predicted class is not FINISH.

    Rosà, Chen and Binder, IWQoS 2015, section IV-3, "no grace period": saves more, and kills every
    task that is wrongly predicted not to finish. A first KILL arms the task, a second one ends it
    now.
    """

    name: ClassVar[str] = "immediate_kill"
    needs: ClassVar[frozenset[str]] = frozenset({"kill"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL, armed or not, for every task predicted not to finish."""
        return choose(view.is_on("window") & predicted_unfinished(view), Action.KILL)
