"""Reroll: start attempts without end, until one has a better fate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.vocabulary import Action

__all__ = ["Reroll"]


@dataclass(frozen=True)
class Reroll(Heuristic):
    """Clone a task whenever that is legal, and retry whatever fails: a probe, not a policy.

    Nobody runs a cluster like that. It is a probe of the environment: where a further attempt drew
    its fate anew, as often as one likes, to start as many as one may would be the best policy. In a
    world whose records are continued each attempt has one fate (rule C1), and a bad one cannot be
    drawn again.
    """

    name: ClassVar[str] = "reroll"
    needs: ClassVar[frozenset[str]] = frozenset({"clone", "retry"})

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return CLONE at WINDOW and RETRY at FAILED as long as they are legal."""
        again = np.where(mask[:, Action.RETRY], Action.RETRY, Action.CONTINUE)
        return np.where(mask[:, Action.CLONE], Action.CLONE, again).astype(np.int64)
