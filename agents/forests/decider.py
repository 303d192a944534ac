"""What ensembles of trees decide: an answer is changed where even doubts say that it saves."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from failgym.agents.forests.forest import Forest
from failgym.vocabulary import ACTIONS, Action

__all__ = ["Decider"]

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Decider:
    """An answer that each of some rounds may change where it is sure.

    Before the first round the answer is CONTINUE. A round changes it to another legal action that
    is surely better: the margins of the pair, some standard deviations between models taken off
    their mean, are above 0. Of several that are, it is the one that does best against the others.
    So where models that have learned from other jobs disagree nothing changes: of a gain its lower
    bound counts.
    """

    forest: Forest
    """its outputs: of the first round one for each pair of actions (`itertools.combinations`), then
    those of the second; above 0 the second of a pair is better"""
    actions: tuple[int, ...]
    """CONTINUE, and then others"""
    caution: float
    """standard deviations between models that are taken off their mean"""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions of actions that the outputs of a round are about."""
        return list(itertools.combinations(range(len(self.actions)), 2))

    @property
    def rounds(self) -> int:
        """How often the answer may change."""
        return self.forest.outputs // len(self.pairs)

    def answers(self, shown: Floats, legal: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The action of each row, int64 [rows].

        Args:
            shown: float32 [rows, columns] that the trees ask about, finite.
            legal: bool [rows, ACTIONS].
        """
        actions, rows = np.asarray(self.actions, dtype=np.int64), np.arange(len(shown))
        margins = self.forest.margins(shown)
        mean, doubt = margins.mean(axis=2), self._doubt(margins)
        allowed = legal[:, actions]
        answer = np.zeros(len(shown), dtype=np.int64)
        for number in range(self.rounds):
            better, doubts = self._matrices(mean, doubt, number)
            sure = allowed & (better[rows, :, answer] - doubts[rows, :, answer] > 0.0)
            worst = np.where(sure[:, np.newaxis, :], better, np.inf).min(axis=2)
            worst[~sure] = -np.inf
            answer = np.where(sure.any(axis=1), worst.argmax(axis=1), answer)
        return actions[answer]

    def _doubt(self, margins: Floats) -> Floats:
        """What is taken off the means of margins [rows, outputs]."""
        if self.caution == 0.0 or margins.shape[2] == 1:
            return np.zeros(margins.shape[:2], dtype=np.float32)
        return np.float32(self.caution) * margins.std(axis=2, ddof=1)

    def _matrices(self, mean: Floats, doubt: Floats, number: int) -> tuple[Floats, Floats]:
        """How much better an action is than another, and the doubt, of a round.

        Both are [rows, one, other]; an action is neither better nor worse than itself.
        """
        count = len(self.actions)
        better = np.zeros((len(mean), count, count), dtype=np.float32)
        doubts = np.zeros_like(better)
        for at, (one, other) in enumerate(self.pairs, number * len(self.pairs)):
            better[:, other, one], better[:, one, other] = mean[:, at], -mean[:, at]
            doubts[:, other, one] = doubts[:, one, other] = doubt[:, at]
        return better, doubts

    def up_to(self, rounds: int) -> Decider:
        """What it decided after its first rounds."""
        return replace(self, forest=self.forest.only(slice(rounds * len(self.pairs))))

    def check(self, columns: int) -> None:
        """Raise ValueError, in one line, unless it can decide on rows of so many columns."""
        self.forest.check(columns)
        known, own = set(range(ACTIONS)), set(self.actions)
        sound = len(own) == len(self.actions) > 1 and own <= known
        if not sound or self.actions[0] != int(Action.CONTINUE):
            raise ValueError(f"actions: expected CONTINUE, then other ones, got {self.actions}")
        if self.forest.outputs % len(self.pairs):
            raise ValueError(
                f"leaves: expected an output for each of {len(self.pairs)} pairs of actions by"
                f" round, got {self.forest.outputs}"
            )
