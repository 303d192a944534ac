"""`Continuing`: how records go on where ``beyond_record="continued"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from failgym.worlds.settings.checked import Checked

__all__ = ["Continuing"]

MOST_DRAWS = 2**20


@dataclass(frozen=True, kw_only=True)
class Continuing(Checked):
    """What is chosen of the laws by which records go on (`failgym.continued`).

    They are counted from what was known before the split is played ("train", or "fit"), and with
    ``split="all"``, which has no such part, from all of the trace. Each field is there so that one
    can see what depends on it.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    task_share: float | None = None
    """kappa: share of the logarithm of a task's slowness that is its own, 0 to 1. None: as
    estimated (`failgym.continued.TASK_SHARE`)."""
    strata: Literal["name", "class", "all"] = "name"
    """The finest strata that are told apart: jobs of one name; of one class; none."""
    draw_seed: int = 0
    """Which draw of all that lies beyond the record, with the same record, forecast and laws."""

    def __post_init__(self) -> None:
        share = self.task_share
        self._check("task_share", share is None or 0.0 <= share <= 1.0, "in [0, 1]")
        known = ("name", "class", "all")
        self._check("strata", self.strata in known, f"one of {', '.join(known)}")
        self._check("draw_seed", 0 <= self.draw_seed <= MOST_DRAWS, f"0 to {MOST_DRAWS}")
