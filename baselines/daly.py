"""Daly: checkpoint at the higher-order estimate of the best interval of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView, choose
from failgym.baselines.search import tuned
from failgym.baselines.young import check_factor
from failgym.vocabulary import Action

__all__ = ["Daly", "daly_over_young"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Daly(Heuristic):
    """Checkpoint when the unsaved work reaches Daly's interval.

    Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS
    22(3), 2006: with checkpoints of cost C and a mean time between failures M the interval of work
    is sqrt(2 C M) [1 + 1/3 sqrt(C/(2M)) + C/(18M)] - C where C < 2 M, else M. It is shorter than
    Young's, and noticeably so only where a checkpoint is not short against M: 1056 s instead of
    1095 s at C = 60 s, M = 10,000 s.

    The checkpoint comes at the first monitoring window at which the interval is over.
    """

    name: ClassVar[str] = "daly"
    after: ClassVar[str] = "Daly 2006"
    needs: ClassVar[frozenset[str]] = frozenset({"checkpoint"})

    factor: float = tuned(1.0, 0.25, 4.0, log=True)
    """The interval in units of Daly's."""

    def __post_init__(self) -> None:
        check_factor(self.factor)

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CHECKPOINT where the interval is over, CONTINUE elsewhere."""
        interval = daly_over_young(view.minutes("checkpoint_cost"), view.minutes("mtbf"))
        over = view["unsaved_over_young"] >= self.factor * interval
        return choose(view.is_on("window") & over, Action.CHECKPOINT)


def daly_over_young(cost: Floats, mtbf: Floats) -> Floats:
    """Daly's interval in units of Young's [batch], from times in any one unit.

    With s = sqrt(C/(2M)) it is 1 + s/3 + s^2/9 - s = (1 - s/3)^2 where s < 1, else 1/(2s); s is 0
    where no MTBF is known.
    """
    s = np.sqrt(np.divide(cost, 2.0 * mtbf, out=np.zeros_like(cost), where=mtbf > 0.0))
    return np.where(s < 1.0, (1.0 - s / 3.0) ** 2, 0.5 / np.maximum(s, 1.0))
