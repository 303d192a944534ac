"""`Prices`: what a scenario charges for."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from failgym.worlds.settings.checked import Checked

__all__ = ["WEIGHTS", "Prices"]

WEIGHTS = ("wasted", "overhead", "completion", "forfeited")
"""Terms of the cost that have a weight of their own; what others cost has theirs."""


@dataclass(frozen=True, kw_only=True)
class Prices(Checked):
    """Prices of the terms of a cost.

    Raises:
        ValueError: if a value is out of range; the message names the field.
    """

    weight_wasted: float = 1.0
    """Price of lost, redundant and ghost work, in mean machine-times of a task."""
    weight_overhead: float = 1.0
    """Price of checkpoint and restore time, in mean machine-times of a task."""
    weight_completion: float = 1.0
    """Price of completion time, in mean completion times of a task."""
    weight_forfeited: float = 1.0
    """Price of the finished work of a forfeited task and of its recorded completion time again."""

    task_value: float | None = None
    """Value of a finished task, as a multiple of the machine-time of its own work. A task that does
    not finish forfeits it, in replay too, at the price of wasted work times `weight_forfeited`.
    Only where the record is continued, and both prices are above 0. None: a task is forfeited if
    it finishes in the record and not with the agent."""
    waiting_price: float | None = None
    """Price of an hour of completion time in machine-hours, times `weight_completion`: only where
    that is above 0, as it is not in GracePeriod-v1 and Checkpoint-v1. None: it is priced in mean
    completion times of a task."""

    def __post_init__(self) -> None:
        for field in fields(Prices):
            given = getattr(self, field.name)
            good = given is None or 0.0 <= given < math.inf
            self._check(field.name, good, "at least 0, finite")
