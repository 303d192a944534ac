"""Checkpoint all: write every output to stable storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.vocabulary import Action

__all__ = ["CheckpointAll"]


@dataclass(frozen=True)
class CheckpointAll(Heuristic):
    """Write every output that others still need to stable storage.

    One end of the scale on which the policies of Ghit and Epema (HPDC 2017) lie: nothing that has
    finished is ever computed again, at the highest price. The other end is `replay`.
    """

    name: ClassVar[str] = "checkpoint_all"
    after: ClassVar[str] = "Ghit and Epema 2017, their upper end"
    needs: ClassVar[frozenset[str]] = frozenset({"save_outputs"})
    reads: ClassVar[frozenset[str]] = frozenset({"outputs"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT at OUTPUT, CONTINUE elsewhere."""
        return choose(view.is_on("output"), Action.CHECKPOINT)
