"""How often an agent decides: as often as where it was trained, where it is asked more often.

What an agent was never asked it has not learned. One that was trained to decide every fifth minute
knows no minute but those: asked a minute after it has saved, it may well save again, and again a
minute later. So it answers as often as it was asked in training, and leaves what lies between as it
is (CONTINUE). Where it is asked less often than it was trained, it answers whenever it is asked.

This is about WINDOW decisions at even distances (``decide="every"``), every so many windows since
the start of the attempt, in training and in play; elsewhere it answers whenever it is asked. Other
decisions than these it always answers.

Asked ``every`` window where it was trained on every fourth, it plays as in a world that asks as
seldom, but for one field: `flagged_before` is the largest risk at earlier decisions, those between
included. With windows of another length (``window``), forecasts and hazards are others, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.fields import FIELDS, INDEX
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import MINUTE

__all__ = ["Cadence"]

_OLDEST = FIELDS[INDEX["age"]].high


@dataclass(frozen=True)
class Cadence:
    """When an agent that is asked more often than it was trained to decide is due to."""

    own: int
    """time between two WINDOW decisions of an attempt where it was trained [ms]"""
    asked: int
    """the same where it is asked, less [ms]"""

    @classmethod
    def of(cls, trained: Rules, rules: Rules) -> Cadence | None:
        """That of an agent trained by some rules, under others; None: it always answers."""
        own, asked = _spacing(trained), _spacing(rules)
        return None if own is None or asked is None or asked >= own else cls(own, asked)

    def due(
        self, window: npt.NDArray[np.float32], age: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        """Which open decisions are to be answered, [batch]: one for each interval of the agent's.

        Of the times at which it is asked, these are the first at or after each multiple of its own
        interval. If an attempt is not asked then, since it is being saved or restored, it is
        answered in the next interval.

        Args:
            window: [batch] the field `window` of the observation.
            age: [batch] the field `age`, in single precision: beyond half a million windows ages
                may be one off.
        """
        minutes = np.exp2(np.clip(age.astype(np.float64), 0.0, _OLDEST)) - 1.0
        ages = np.rint(minutes * MINUTE / self.asked).astype(np.int64) * self.asked
        between = ages // self.own == (ages - self.asked) // self.own
        return ~between | (window == 0.0)


def _spacing(rules: Rules) -> int | None:
    """Time between two WINDOW decisions of an attempt [ms]; None where they are not even."""
    return rules.every * rules.window if rules.decide == "every" else None
