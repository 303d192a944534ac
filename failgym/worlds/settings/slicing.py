"""`Slicing`: which tasks make an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from failgym.sim.shared.rules import Order
from failgym.worlds.settings.checked import Checked

__all__ = ["Select", "Slicing"]

Select = Literal["all", "failing"]


@dataclass(frozen=True, kw_only=True)
class Slicing(Checked):
    """Slices of tasks.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    select: Select = "all"
    """Tasks in slices: "all", or "failing": of jobs with a FAILed attempt in the split and without
    a user's kill. A selection that uses the record."""
    max_attempts: int = 100
    """Tasks of more recorded attempts are in no slice: a few of them would make up most of its cost
    (El-Sayed et al. 2017, Fig. 6: at most 70 to 100 retries)."""
    slice_tasks: int = 256
    """Tasks of an episode."""
    order: Order = "task"
    """Serve the decisions of a slice task by task, or merged by time, as always in the scheduled
    world."""

    def __post_init__(self) -> None:
        for name in ("max_attempts", "slice_tasks"):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        self._check_choice("select", get_args(Select))
        self._check_choice("order", get_args(Order))
