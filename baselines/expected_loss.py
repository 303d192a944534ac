"""Expected loss: checkpoint when what is likely to be lost exceeds the cost of saving it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.baselines.young import check_factor
from failgym.vocabulary import Action

__all__ = ["ExpectedLoss"]


@dataclass(frozen=True)
class ExpectedLoss(Heuristic):
    """Checkpoint when risk x unsaved work is at least the cost of a checkpoint.

    The rule of risk-based cooperative checkpointing (Oliner, Rudolph and Sahoo, "Cooperative
    checkpointing: a robust approach to large-scale systems reliability", ICS 2006; Oliner and
    Sahoo, "Evaluating cooperative checkpointing for supercomputing systems", IPDPS 2006): a
    checkpoint that the application asks for is skipped unless the predicted probability of failure
    times the work at stake exceeds its cost.

    Readings: every monitoring window is such a request. The probability is the forecast's, that the
    attempt fails at all, where theirs is that it fails before the next request; so a risk that
    stands for long is paid for again and again. Without an alarm there is no risk, nor a
    checkpoint: what is not predicted is lost.
    """

    name: ClassVar[str] = "expected_loss"
    after: ClassVar[str] = "Oliner et al. 2006"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})
    reads: ClassVar[frozenset[str]] = frozenset({"risk"})

    factor: float = tuned(1.0, 0.1, 64.0, log=True)
    """Least expected loss, in units of the cost of a checkpoint; at most 64, the bound of the
    observation."""

    def __post_init__(self) -> None:
        check_factor(self.factor)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT where saving is cheaper than the expected loss, CONTINUE elsewhere."""
        pays = view["risk_over_cost"] >= np.float32(self.factor)
        return choose(view.is_on("window") & pays, Action.CHECKPOINT)
