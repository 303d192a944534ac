"""How often an agent decides: as often as where it was trained.

What an agent was never asked it has not learned. One that was trained to decide every fifth minute
knows no minute but those: asked a minute after it has saved, it may well save again, and again a
minute later. So it answers as often as it was asked in training, and leaves what lies between as it
is (CONTINUE). Where it is asked less often than it was trained, it answers whenever it is asked.

This is about WINDOW decisions that come at equal distances (``decide="every"``): every so many
windows since the start of the attempt. Other decisions are always answered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.sim.fields import FIELDS
from failgym.sim.rules import MINUTE, Rules

__all__ = ["Cadence", "distance"]

_NAMES = [field.name for field in FIELDS]
_WINDOW, _AGE = _NAMES.index("window"), _NAMES.index("age")
_OLDEST = FIELDS[_AGE].high


def distance(rules: Rules) -> int | None:
    """Time between two WINDOW decisions of an attempt [ms]; None where they are not even."""
    return rules.every * rules.window if rules.decide == "every" else None


@dataclass
class Cadence:
    """When an agent that was trained to decide every so often is due to."""

    own: int
    """time between two decisions where it was trained [ms]"""
    asked: int
    """the same where it is asked [ms]"""

    @property
    def counts(self) -> bool:
        """Is the agent asked more often than it decides?"""
        return self.asked < self.own

    def due(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        """Whether each open decision is the first that has come since the agent was due, [batch].

        Args:
            observations: [batch, fields], as the environment shows them. Ages are read from there,
                in single precision: after a year a minute may be taken for the next.
        """
        minutes = np.exp2(np.clip(observations[:, _AGE].astype(np.float64), 0.0, _OLDEST)) - 1.0
        ages = np.rint(minutes * MINUTE / self.asked).astype(np.int64) * self.asked
        between = ages // self.own == (ages - self.asked) // self.own
        return ~between | (observations[:, _WINDOW] == 0.0)
