"""What an ensemble of trees decides: the answer that even its doubts say saves most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.agents.forests.forest import Forest
from failgym.vocabulary import ACTIONS, Action

__all__ = ["Decider", "cautious"]

Floats = npt.NDArray[np.float32]


def cautious(margins: Floats, caution: float) -> Floats:
    """How sure an ensemble is that an answer saves, [rows, outputs].

    Args:
        margins: [rows, outputs, models].
        caution: standard deviations between models that are taken off their mean.
    """
    mean = margins.mean(axis=2)
    if caution == 0.0 or margins.shape[2] == 1:
        return mean
    return mean - np.float32(caution) * margins.std(axis=2, ddof=1)


@dataclass(frozen=True)
class Decider:
    """The legal action whose cautious margin is highest; CONTINUE where none is above 0.

    Models that have learned from other jobs agree where many jobs say the same. Where they
    disagree, nothing is done: of the gain of an action its lower bound counts.
    """

    forest: Forest
    actions: tuple[int, ...]
    """[outputs] what each output is about; CONTINUE is none of them"""
    caution: float

    def answers(self, shown: Floats, legal: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The action of each row, int64 [rows].

        Args:
            shown: float32 [rows, columns] that the trees ask about, finite.
            legal: bool [rows, ACTIONS].
        """
        actions = np.asarray(self.actions, dtype=np.int64)
        sure = cautious(self.forest.margins(shown), self.caution)
        sure = np.where(legal[:, actions], sure, -np.inf)
        best = sure.argmax(axis=1)
        acts = sure[np.arange(len(sure)), best] > 0.0
        return np.where(acts, actions[best], int(Action.CONTINUE))

    def check(self, columns: int) -> None:
        """Raise ValueError, in one line, unless it can decide on rows of so many columns."""
        self.forest.check(columns)
        known = set(range(ACTIONS)) - {int(Action.CONTINUE)}
        if len(set(self.actions)) != len(self.actions) or not set(self.actions) <= known:
            raise ValueError(f"actions: expected different ones, none CONTINUE, got {self.actions}")
        if len(self.actions) != self.forest.outputs:
            raise ValueError(
                f"leaves: expected one output for each of {len(self.actions)} actions,"
                f" got {self.forest.outputs}"
            )
