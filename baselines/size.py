"""SIZE: save the outputs of the tasks that took long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["Size"]


@dataclass(frozen=True)
class Size(Heuristic):
    """Checkpoint stragglers: tasks that ran much longer than the median of their job so far.

    Ghit and Epema, "Better safe than sorry: grappling with failures of in-memory data analytics
    frameworks", HPDC 2017, section 4: the run time is "at least some number of times as high as
    the current estimation of the median". The first task of a job to finish is its own median.
    """

    name: ClassVar[str] = "size"
    after: ClassVar[str] = "Ghit and Epema 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"save_outputs"})
    reads: ClassVar[frozenset[str]] = frozenset({"outputs"})

    multiplier: float = tuned(1.5, 0.5, 10.0, log=True)
    """Run time in medians from which a task is a straggler (section 6.1: 1.5, the 90th percentile
    over the median of their tasks)."""

    def __post_init__(self) -> None:
        if not self.multiplier > 0.0:
            raise ValueError(f"multiplier: expected a positive number, got {self.multiplier}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT at OUTPUT of a straggler, CONTINUE elsewhere."""
        straggler = view["runtime_over_median"] >= np.float32(self.multiplier)
        return choose(view.is_on("output") & straggler, Action.CHECKPOINT)
