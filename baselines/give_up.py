"""Give up: never try again after a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.vocabulary import Action

__all__ = ["GiveUp"]


@dataclass(frozen=True)
class GiveUp(Heuristic):
    """Give a task up at its first failure: the retry cap of El-Sayed et al. (ICDCS 2017) at R = 0.

    It saves all the work of futile retries and forfeits every task that a retry would have
    rescued. A reward under which it wins is badly weighted.
    """

    name: ClassVar[str] = "give_up"
    after: ClassVar[str] = "El-Sayed et al. 2017, no retries"
    needs: ClassVar[frozenset[str]] = frozenset({"give_up"})
    reads: ClassVar[frozenset[str]] = frozenset({"failures"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return KILL at FAILED, CONTINUE elsewhere."""
        return choose(view.is_on("failed"), Action.KILL)
