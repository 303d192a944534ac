"""What ensembles decide: an answer changes where even doubts say that it saves."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.advice import Adviser, advised
from failgym.agents.ensembles.ensemble import Ensemble
from failgym.agents.ensembles.inputs import PRICES, Inputs
from failgym.baselines.base import Heuristic
from failgym.vocabulary import ACTIONS, Action

__all__ = ["Decider"]

Actions = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Decider:
    """An answer that each of some rounds may change where it is sure.

    Before the first round the answer is that of the first rule of `advice`, or CONTINUE. A round
    changes it to another legal action that is surely better: the margins of the pair, some standard
    deviations between models taken off their mean, are above 0. Of several that are, it is the one
    that does best against the others. So where models that have learned from other jobs disagree
    nothing changes: of a gain its lower bound counts.

    What is chosen among are answers; or rules, whose answers are taken. To follow at each decision
    the rule that would be the best one to follow from then on is max-following (Hussing, Kearns,
    Roth, Sengupta and Sorrell, "Oracle-efficient reinforcement learning for max value ensembles",
    NeurIPS 2024): as good as the best of them, and better where others are better elsewhere.
    """

    ensemble: Ensemble
    """its outputs: of the first round one for each pair of choices (`itertools.combinations`), then
    those of the second; above 0 the second of a pair is better"""
    choices: tuple[int, ...]
    """actions, CONTINUE first; or, if it follows rules, the numbers of all of them"""
    caution: float
    """standard deviations between models that are taken off their mean, where `inputs` say nothing
    else"""
    advice: tuple[Heuristic, ...] = ()
    """rules whose answers the ensemble is shown behind the fields"""
    follows: bool = False
    """does it choose among these rules?"""
    priced: tuple[str, ...] = ()
    """fields of the scenario that the ensemble is shown between the fields and the advice"""
    inputs: Inputs | None = None
    """what it is shown in the environment that it plays in; None: the same in all"""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions of choices that the outputs of a round are about."""
        return list(itertools.combinations(range(len(self.choices)), 2))

    @property
    def rounds(self) -> int:
        """How often the answer may change."""
        return self.ensemble.outputs // len(self.pairs)

    def answers(self, shown: Floats, legal: Bools) -> Actions:
        """The action of each row, int64 [rows].

        Args:
            shown: float32 [rows, columns] that the ensemble is shown, finite; the last ones are
                what the advice answers, as `asked` puts them there.
            legal: bool [rows, ACTIONS].
        """
        said = shown[:, shown.shape[1] - len(self.advice) :].astype(np.int64)
        choices = np.asarray(self.choices, dtype=np.int64)
        if self.follows:
            answer = said[:, 0].copy()
            apart = np.flatnonzero((said != said[:, :1]).any(axis=1))  # else nothing is to choose
            if len(apart):
                begun, allowed = np.zeros_like(apart), np.ones_like(said[apart], dtype=np.bool_)
                answer[apart] = said[apart, self._chosen(shown[apart], begun, allowed)]
            return answer
        heard = range(len(self.advice)) if self.inputs is None else self.inputs.heard
        first = said[:, heard[0]] if heard else np.full(len(shown), int(Action.CONTINUE))
        begun = (first[:, np.newaxis] == choices).argmax(axis=1)  # where it is decided at all
        chosen = self._chosen(shown, begun, legal[:, choices])
        return np.where(chosen == begun, first, choices[chosen])

    def asked(self, shown: Floats, observations: Floats, legal: Bools) -> Actions:
        """The same, of columns without advice and the whole observations that they are of.

        Raises:
            ValueError: if what is charged is to be shown, and nobody has said where it plays.
        """
        if self.inputs is not None:
            whole = self.inputs.shown(shown, observations, legal, self.advice)
        elif self.priced:
            raise ValueError("prices: expected to be told where: take playing_by(scenario)")
        else:
            whole = advised(shown, observations, legal, self.advice)
        return self.answers(whole, legal)

    def _chosen(self, shown: Floats, chosen: Actions, allowed: Bools) -> Actions:
        """Positions of what is chosen, [rows], if it is ``chosen`` before the first round.

        ``allowed`` is bool [rows, choices].
        """
        rows = np.arange(len(shown))
        margins = self.ensemble.margins(shown, self._compared(chosen, allowed))
        mean, doubt = margins.mean(axis=2), self._doubt(margins)
        for number in range(self.rounds):
            better, doubts = self._matrices(mean, doubt, number)
            sure = allowed & (better[rows, :, chosen] - doubts[rows, :, chosen] > 0.0)
            worst = np.where(sure[:, np.newaxis, :], better, np.inf).min(axis=2)
            worst[~sure] = -np.inf
            chosen = np.where(sure.any(axis=1), worst.argmax(axis=1), chosen)
        return chosen

    def _compared(self, chosen: Actions, allowed: Bools) -> Bools:
        """Which outputs are about two choices that may be compared, bool [rows, outputs]."""
        if allowed.all():
            return np.ones((len(allowed), self.ensemble.outputs), dtype=np.bool_)
        among = allowed.copy()
        among[np.arange(len(among)), chosen] = True
        one, other = np.transpose(self.pairs)
        return np.ascontiguousarray(np.tile(among[:, one] & among[:, other], self.rounds))

    @property
    def advisers(self) -> tuple[Adviser, ...]:
        """The rules as they are written down."""
        return tuple(Adviser.of(rule) for rule in self.advice)

    def _doubt(self, margins: Floats) -> Floats:
        """What is taken off the means of margins [rows, outputs]."""
        own = None if self.inputs is None else self.inputs.caution
        caution = self.caution if own is None else own
        if caution == 0.0 or margins.shape[2] == 1:
            return np.zeros(margins.shape[:2], dtype=np.float32)
        return np.float32(caution) * margins.std(axis=2, ddof=1)

    def _matrices(self, mean: Floats, doubt: Floats, number: int) -> tuple[Floats, Floats]:
        """How much better a choice is than another, and the doubt, of a round.

        Both are [rows, one, other]; a choice is neither better nor worse than itself.
        """
        count = len(self.choices)
        better = np.zeros((len(mean), count, count), dtype=np.float32)
        doubts = np.zeros_like(better)
        for at, (one, other) in enumerate(self.pairs, number * len(self.pairs)):
            better[:, other, one], better[:, one, other] = mean[:, at], -mean[:, at]
            doubts[:, other, one] = doubts[:, one, other] = doubt[:, at]
        return better, doubts

    def up_to(self, rounds: int) -> Decider:
        """What it decided after its first rounds."""
        return replace(self, ensemble=self.ensemble.only(slice(rounds * len(self.pairs))))

    def check(self, columns: int) -> None:
        """Raise ValueError, in one line, unless it can decide on so many fields and its advice."""
        if wrong := [name for name in self.priced if name not in PRICES]:
            raise ValueError(f"prices: expected some of {', '.join(PRICES)}, got {wrong[0]!r}")
        self.ensemble.check(columns + len(self.priced) + len(self.advice))
        known, own = set(range(ACTIONS)), set(self.choices)
        if self.follows:
            if self.choices != tuple(range(len(self.advice))) or len(self.advice) < 2:
                raise ValueError(f"advice: expected two rules or more, got {len(self.advice)}")
        elif not 1 < len(own) == len(self.choices) or not own <= known or self.choices[0] != 0:
            raise ValueError(f"actions: expected CONTINUE, then other ones, got {self.choices}")
        if self.ensemble.outputs % len(self.pairs):
            raise ValueError(
                f"base: expected an output for each of {len(self.pairs)} pairs of choices by"
                f" round, got {self.ensemble.outputs}"
            )
