"""PERIODIC: save the outputs of what runs whenever Young's interval is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.vocabulary import Action

__all__ = ["PeriodicOutputs"]


@dataclass(frozen=True)
class PeriodicOutputs(Heuristic):
    """Checkpoint a task if one of the job's checkpoint times fell into its run.

    Ghit and Epema, "Better safe than sorry: grappling with failures of in-memory data analytics
    frameworks", HPDC 2017, section 4: periodic checkpointing adapted to data analytics "checkpoints
    all completing tasks" every tau seconds, tau being Young's interval for a checkpoint cost and a
    mean time to failure that are known beforehand (section 6.1).

    The paper does not say which tasks complete "at" a checkpoint time, when hardly any task does.
    Here they are those under way at that time, saved as each of them completes: what a classical
    checkpoint would save, at the next moment at which it can be. The times are the multiples of the
    interval since the job's submission; cost and mean time are the scenario's.
    """

    name: ClassVar[str] = "periodic_outputs"
    after: ClassVar[str] = "Ghit and Epema 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"save_outputs"})
    reads: ClassVar[frozenset[str]] = frozenset({"outputs"})

    intervals: int = tuned(1, 1, 8)
    """Checkpoint times that must fall into the run; more than the source's one spares the tasks
    that take less than an interval."""

    def __post_init__(self) -> None:
        if self.intervals < 1:
            raise ValueError(f"intervals: expected at least 1, got {self.intervals}")

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT at OUTPUT if intervals ended during the run, CONTINUE elsewhere."""
        ended = view["unsaved_over_young"] >= np.float32(self.intervals)
        return choose(view.is_on("output") & ended, Action.CHECKPOINT)
