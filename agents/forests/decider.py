"""What ensembles of trees decide: an answer is changed where even doubts say that it saves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from failgym.agents.forests.forest import Forest
from failgym.vocabulary import ACTIONS, Action

__all__ = ["Decider", "cautious"]

Floats = npt.NDArray[np.float32]

CONTINUE = int(Action.CONTINUE)


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
    """An answer that each of some rounds may change where it is sure.

    Before the first round the answer is CONTINUE. A round changes it to the legal action whose
    cautious margin is highest, if that is above 0, and leaves it as it is else. So where models
    that have learned from other jobs disagree nothing changes: of a gain its lower bound counts.
    """

    forest: Forest
    """its outputs: of the first round one for each action, then those of the second"""
    actions: tuple[int, ...]
    """what the outputs of a round are about: CONTINUE, and then others"""
    caution: float
    """standard deviations between models that are taken off their mean"""

    @property
    def rounds(self) -> int:
        """How often the answer may change."""
        return self.forest.outputs // len(self.actions)

    def answers(self, shown: Floats, legal: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The action of each row, int64 [rows].

        Args:
            shown: float32 [rows, columns] that the trees ask about, finite.
            legal: bool [rows, ACTIONS].
        """
        actions, rows = np.asarray(self.actions, dtype=np.int64), np.arange(len(shown))
        # CONTINUE comes first, and what the first round says of it changes nothing.
        asked = self.forest.only(slice(1, None))
        sure = np.zeros((len(shown), self.forest.outputs), dtype=np.float32)
        sure[:, 1:] = cautious(asked.margins(shown), self.caution)
        sure = sure.reshape(len(shown), self.rounds, len(actions))
        answer = np.zeros(len(shown), dtype=np.int64)
        for number in range(self.rounds):
            found = np.where(legal[:, actions], sure[:, number], -np.inf)
            found[rows, answer] = 0.0
            answer = np.where(found.max(axis=1) > 0.0, found.argmax(axis=1), answer)
        return actions[answer]

    def up_to(self, rounds: int) -> Decider:
        """What it decided after its first rounds."""
        return replace(self, forest=self.forest.only(slice(rounds * len(self.actions))))

    def check(self, columns: int) -> None:
        """Raise ValueError, in one line, unless it can decide on rows of so many columns."""
        self.forest.check(columns)
        known, own = set(range(ACTIONS)), set(self.actions)
        if len(own) != len(self.actions) or not own <= known or self.actions[:1] != (CONTINUE,):
            raise ValueError(f"actions: expected CONTINUE, then other ones, got {self.actions}")
        if self.forest.outputs % len(self.actions):
            raise ValueError(
                f"leaves: expected an output for each of {len(self.actions)} actions by round,"
                f" got {self.forest.outputs}"
            )
