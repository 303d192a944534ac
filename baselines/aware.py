"""AWARE: save an output where to recompute it is expected to cost more than to write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from failgym.baselines.base import (
    Bools,
    Choices,
    Heuristic,
    ObservationView,
    check_probability,
    choose,
)
from failgym.baselines.search import tuned
from failgym.traces import Trace
from failgym.vocabulary import DAY, Action

__all__ = ["Aware"]


@dataclass(frozen=True)
class Aware(Heuristic):
    """Checkpoint a task if its recomputation is expected to cost more than its checkpoint.

    Ghit and Epema, "Better safe than sorry: grappling with failures of in-memory data analytics
    frameworks", HPDC 2017, section 4. The recomputation cost is the probability that the machine
    fails times the time to recompute the output, inputs lost with it included. The checkpoint cost
    is the 95th percentile of the stage's checkpoint times so far, shared over the level of the
    stage; until a first checkpoint is complete it is 0, so that the first waves are saved. Stages
    one hop away from the input are not saved at all (section 6.4): their inputs are in stable
    storage.

    The level is that of the stage in the workflow. Theirs is the longest path to be recomputed,
    which checkpoints of earlier stages cut short.
    """

    name: ClassVar[str] = "aware"
    after: ClassVar[str] = "Ghit and Epema 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"save_outputs"})
    reads: ClassVar[frozenset[str]] = frozenset({"outputs"})

    probability: float = tuned(1.0, 0.01, 1.0, log=True)
    """Probability that a machine fails (section 6.1: 1)."""

    def __post_init__(self) -> None:
        check_probability("probability", self.probability)

    @classmethod
    def of_outages(cls, trace: Trace, start: int, length: int = DAY) -> Self:
        """Take the probability of failure from a log: machines that failed over machines.

        Args:
            trace: has the machines and their outages.
            start: of the interval in which failures are counted [ms].
            length: of the interval [ms].

        Raises:
            ValueError: if the trace has no machines or the length is not positive.
        """
        machines = trace.rows("machines")
        if machines == 0:
            raise ValueError("trace: expected machines")
        if length < 1:
            raise ValueError(f"length: expected at least 1 ms, got {length}")
        down = trace.column("outages", "down")
        within = (down >= start) & (down < start + length)
        failed = np.unique(trace.column("outages", "machine")[within])
        return cls(len(failed) / machines)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT at OUTPUT where it is expected to pay, CONTINUE elsewhere."""
        level = view.count("level")
        recomputation = self.probability * view.minutes("recomputation_cost")
        pays = recomputation * level > view.minutes("checkpoint_p95")
        return choose(view.is_on("output") & (level > 1) & pays, Action.CHECKPOINT)
