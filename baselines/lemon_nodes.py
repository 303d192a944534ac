"""Lemon nodes: pass over machines that have failed unusually often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["LemonNodes"]


@dataclass(frozen=True)
class LemonNodes(Heuristic):
    """Refuse a machine that has failed often so far, a few times and never the last free one.

    Kokolis et al., "Revisiting reliability in large-scale machine learning research clusters", HPCA
    2025: a few "lemon" nodes cause many of the failures, and are taken out of the pool
    when what was counted of them passes thresholds that were set by hand. Here a machine is only
    refused, for one task at a time, and the machines are offered in order of earliest finish.

    Fidelity: of their signals there is one, the failures of the machine since the trace began. How
    many the other machines had is not observed, nor how long ago that beginning is; so
    ``failures`` is an absolute number, which fits traces and moments of similar length. The last
    free machine is known where machines have one slot and tasks are one slot wide, as in
    `Workflow-v1`; elsewhere ``refusals`` alone keeps the task from being held.
    """

    name: ClassVar[str] = "lemon_nodes"
    after: ClassVar[str] = "Kokolis et al. 2025"
    needs: ClassVar[frozenset[str]] = frozenset({"place"})
    reads: ClassVar[frozenset[str]] = frozenset({"outages"})

    failures: int = tuned(80, 1, 250, log=True)
    """Failures of a machine so far from which it is a lemon: four of the 32 machines of
    `Workflow-v1` had so many by the end of the train split, where the mean was 53."""
    refusals: int = tuned(1, 1, 16)
    """Machines refused for one task at most."""

    def __post_init__(self) -> None:
        for name in ("failures", "refusals"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected at least 0, got {getattr(self, name)}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return RETRY, the next machine, at DISPATCH on a lemon; CONTINUE elsewhere."""
        lemon = view.is_on("dispatch") & (view.count("machine_failures") >= self.failures)
        refused = view.count("offer_rank")
        others = refused + 1 < view.count("free")
        return choose(lemon & others & (refused < self.refusals), Action.RETRY)
