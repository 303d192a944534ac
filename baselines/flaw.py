"""FLAW: pass over machines that are predicted to fail while they run the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.vocabulary import Action

__all__ = ["Flaw"]


@dataclass(frozen=True)
class Flaw(Heuristic):
    """Place a task on the machine that finishes it first and is not predicted to fail meanwhile.

    FLAW, "Failure-aware workflow scheduling in cluster environments", Cluster Computing 2010,
    section IV-B: the machines free for a task are tried in order of earliest finish; if all of them
    are predicted to fail, the task waits. Everything else is RANK_HYBD.
    """

    name: ClassVar[str] = "flaw"
    after: ClassVar[str] = "FLAW 2010"
    needs: ClassVar[frozenset[str]] = frozenset({"place"})
    reads: ClassVar[frozenset[str]] = frozenset({"node_forecast"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return RETRY, the next machine, at DISPATCH on a doomed one; CONTINUE elsewhere."""
        return choose(view.is_on("dispatch") & view.is_on("predicted_to_fail"), Action.RETRY)
