"""What an ensemble is shown: fields, what is charged, and the answers of rules; by environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.advice import advised
from failgym.baselines.base import Heuristic
from failgym.sim.shared.rules import Rules
from failgym.worlds.settings.prices import Prices

__all__ = ["PRICES", "Inputs", "prices_in"]

Floats = npt.NDArray[np.float32]

PRICES = tuple(field.name for field in fields(Prices))
"""Fields of a scenario that say what is charged."""
NOT_STATED = -1.0
"""What is shown for a price that a scenario does not state."""


@dataclass(frozen=True)
class Inputs:
    """What an ensemble of several environments is shown in one of them.

    An environment has rules of its own. The columns of all others show CONTINUE there, as if they
    said nothing.
    """

    heard: tuple[int, ...]
    """numbers of the rules that are asked here; the answer of the first stands in doubt, CONTINUE
    if there is none"""
    hidden: tuple[int, ...] = ()
    """columns of fields that are shown as 0"""
    prices: tuple[float, ...] = ()
    """what is charged here, shown behind the fields"""
    caution: float | None = None
    """standard deviations between models that are taken off their mean here; None: as elsewhere"""

    def shown(
        self,
        columns: Floats,
        observations: Floats,
        legal: npt.NDArray[np.bool_],
        advice: Sequence[Heuristic],
    ) -> Floats:
        """All columns: fields, prices, and the number of the action that each rule answers.

        Args:
            columns: float32 [rows, columns] of the observations.
            observations: float32 [rows, fields], whole ones, that rules read.
            legal: bool [rows, ACTIONS].
            advice: the rules of all environments.

        Returns:
            float32 [rows, columns + prices + rules].
        """
        shown = columns
        if self.hidden:
            shown = columns.copy()
            shown[:, list(self.hidden)] = 0.0
        if self.prices:
            charged = np.tile(np.array(self.prices, dtype=np.float32), (len(shown), 1))
            shown = np.column_stack([shown, charged])
        return advised(shown, observations, legal, advice, self.heard)


def prices_in(rules: Rules, names: Sequence[str]) -> tuple[float, ...]:
    """What these rules charge, by the names of fields; -1 for a price that they do not state.

    Raises:
        ValueError: for rules that are not those of a scenario.
    """
    if not isinstance(rules, Prices):
        raise ValueError("prices: expected a scenario, which says what is charged")
    values = [getattr(rules, name) for name in names]
    return tuple(NOT_STATED if value is None else float(value) for value in values)
