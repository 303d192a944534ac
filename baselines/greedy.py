"""GREEDY: save outputs, whichever come first, until the budget of the stage is used up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["Greedy"]


@dataclass(frozen=True)
class Greedy(Heuristic):
    """Checkpoint any completing task as long as its stage has budget left.

    Ghit and Epema, "Better safe than sorry: grappling with failures of in-memory data analytics
    frameworks", HPDC 2017, section 4: the budget of a stage is a fraction of the bytes that its
    parent stages transfer to it; what is being written when it runs out is written to the end. So
    the output with which the budget is exceeded is the last one saved, and a stage that reads
    nothing from other stages has no budget.
    """

    name: ClassVar[str] = "greedy"
    after: ClassVar[str] = "Ghit and Epema 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"save_outputs"})
    reads: ClassVar[frozenset[str]] = frozenset({"outputs"})

    budget: float = tuned(0.1, 0.0, 1.0)
    """Bytes saved of a stage's outputs, as a share of the bytes into it (section 6.1: 10 %, the
    median selectivity of their tasks)."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.budget <= 1.0:
            raise ValueError(f"budget: expected a share in [0, 1], got {self.budget}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT at OUTPUT while the stage's budget lasts, CONTINUE elsewhere."""
        left = view["stage_budget"] < np.float32(self.budget)
        return choose(view.is_on("output") & left, Action.CHECKPOINT)
