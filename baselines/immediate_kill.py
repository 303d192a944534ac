"""Immediate kill: the grace-period policy with no grace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.grace_period import check_weight, predicted_unfinished
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["ImmediateKill"]


@dataclass(frozen=True)
class ImmediateKill(Heuristic):
    """Kill a task at its first decision if it is predicted not to finish.

    Rosà, Chen and Binder, IWQoS 2015, section IV-3, "no grace period": saves more, and kills every
    task that is wrongly predicted not to finish. A first KILL arms the task, a second one ends it
    now.
    """

    name: ClassVar[str] = "immediate_kill"
    after: ClassVar[str] = "Rosà et al. 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"kill"})
    reads: ClassVar[frozenset[str]] = frozenset({"classes"})

    finish_weight: float = tuned(1.0, 0.1, 10.0, log=True)
    """What the confidence of FINISH counts for beside the others (the paper: as much)."""

    def __post_init__(self) -> None:
        check_weight(self.finish_weight)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL, armed or not, for every task predicted not to finish."""
        unfinished = predicted_unfinished(view, self.finish_weight)
        return choose(view.is_on("window") & unfinished, Action.KILL)
