"""The spaces that every environment shares, and what its episodes report."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from failgym.sim.fields import HIGH, LOW
from failgym.sim.records import ACTIONS

__all__ = ["SCHEDULED_TOTALS", "TERMS", "TOTALS", "action_space", "observation_space", "totals"]

TERMS = ("wasted", "overhead", "completion", "forfeited")
"""Names of the reward terms, in the order of `records.Output.terms`."""
TOTALS = (
    *("useful", "lost", "redundant", "ghost", "checkpoint", "restore"),
    *("forfeited", "decisions", "illegal", "tasks", "slice"),
)
"""Fields of `records.EPISODE` that an episode reports at its end."""
SCHEDULED_TOTALS = ("transfer", "passes", "background")
"""What one of the scheduled world reports beside."""


def observation_space() -> spaces.Box:
    """The named fields of `failgym.envs.FIELDS` as one flat box."""
    return spaces.Box(LOW, HIGH, dtype=np.float32)


def action_space() -> spaces.Discrete:
    """The one action alphabet: CONTINUE, CLONE, CHECKPOINT, KILL, RETRY."""
    return spaces.Discrete(ACTIONS)


def totals(episodes: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
    """What episodes that ended report, an array per name of `TOTALS`.

    In the scheduled world those of `SCHEDULED_TOTALS` too; ``tasks`` are those that are asked about
    and charged, ``background`` the others.
    """
    found = {name: episodes[name].astype(np.int64) for name in TOTALS}
    if "own" in (episodes.dtype.names or ()):
        found["background"] = found["tasks"] - episodes["own"]
        found["tasks"] = episodes["own"].astype(np.int64)
        found |= {name: episodes[name].astype(np.int64) for name in ("transfer", "passes")}
    return found
