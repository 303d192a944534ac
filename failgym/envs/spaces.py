"""The spaces that every environment shares, and what its episodes report."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from failgym.sim.fields import HIGH, LOW
from failgym.vocabulary import ACTIONS

__all__ = ["TERMS", "TOTALS", "action_space", "observation_space", "totals"]

TERMS = ("wasted", "overhead", "completion", "forfeited")
"""Names of the reward terms, in the order of `records.Output.terms`."""
TOTALS = (
    *("useful", "lost", "redundant", "ghost", "checkpoint", "restore"),
    *("forfeited", "decisions", "illegal", "tasks", "slice"),
    *("transfer", "passes", "background"),
)
"""What an episode reports at its end. The last three are those of the scheduled world, 0 elsewhere:
machine-ms of transfers, passes of the scheduler, and tasks that are not asked about."""


def observation_space() -> spaces.Box:
    """The named fields of `failgym.envs.FIELDS` as one flat box."""
    return spaces.Box(LOW, HIGH, dtype=np.float32)


def action_space() -> spaces.Discrete:
    """The one action alphabet: CONTINUE, CLONE, CHECKPOINT, KILL, RETRY."""
    return spaces.Discrete(ACTIONS)


def totals(episodes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """What episodes (EPISODE [k]) that ended report, in the order of `TOTALS`, [k, totals].

    ``tasks`` are those that are asked about and charged.
    """
    found = np.zeros((len(episodes), len(TOTALS)), dtype=np.int64)
    names = episodes.dtype.names or ()
    for i, name in enumerate(TOTALS):
        if name in names:
            found[:, i] = episodes[name]
    if "own" in names:
        found[:, TOTALS.index("tasks")] = episodes["own"]
        found[:, TOTALS.index("background")] = episodes["tasks"] - episodes["own"]
    return found
