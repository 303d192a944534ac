"""`Evaluation`: how a policy did on slices of a scenario, beside replay and the bound."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from failgym.evaluation.room import COSTS, said_of_room

__all__ = ["FEW", "Evaluation", "plural"]

FEW = 10
"""An interval of fewer units says little, and is marked."""


@dataclass(frozen=True)
class Evaluation:
    """How a policy did. Ratios are relative to replay on the same slices; NaN is "not defined"."""

    policy: str
    env: str
    split: str
    traces: int
    """traces whose slices are counted together"""
    episodes: int
    """slices"""
    tasks: int
    unit: str
    """what the bootstrap resamples: "job", "block of jobs", "slice" or "block of slices", as
    `failgym.evaluation.statistics.sampling_units` says"""
    units: int
    """how many of them there are"""
    seed: int
    score: float
    """0 is replay, 100 the bound; NaN where there is nothing to gain, which `reason` says"""
    low: float
    high: float
    """95 % bootstrap interval of the score, over traces and their units: of several traces, it is
    that of traces like these, of one, that of this trace; NaN where there is no score, or the room
    hangs on too few units"""
    reason: str | None
    """why there is no score, in a line; None if there is one"""
    room: float
    """what the bound saves over replay, in units of cost"""
    room_share: float
    """the room over what replay spends (`failgym.evaluation.room`); below 1 % there is no score"""
    room_of_cost: float
    """the room over replay's cost, at most 1"""
    room_hours: float
    """machine-time that costs as much as the room, if it is wasted [machine-h]"""
    bound: str
    """what 100 is: "clairvoyant", a plan, or "bound", which may be out of reach"""
    cost: float
    """sum of the terms, all slices"""
    costs: dict[str, float]
    """cost by term"""
    wasted_work: float
    """lost, redundant and ghost work of all tasks that are charged for, with ``charge="episode"``
    those of others too; a share of replay's"""
    checkpoint_work: float
    """checkpoint and restore time of these tasks, a share of the work that replay wastes"""
    completion_ratio: float
    """median of completion time over the recorded one, of tasks that ran and have the recorded
    outcome"""
    forfeited: int | None
    """tasks that forfeited something (`failgym.evaluation.Run`)"""
    false_kills: int | None
    """tasks that the record finishes and the policy killed"""
    rescued: int | None
    """tasks that the policy finished and the record did not"""
    decisions: int
    illegal: int
    """actions that the mask forbade; each counted as CONTINUE"""
    steps_per_second: float
    forecast_note: str | None = None
    """why nobody has the forecast that was shown: it is drawn from how a record ends"""
    same_as_replay: bool = False
    """did it leave every task as replay does? Then nothing that it did made a difference"""
    oracle: float | None = None
    """score of the cheapest episodes found by somebody who knows all fates
    (`failgym.evaluation.oracle`): how far 100 was shown to be reached; None if nobody asked"""

    @property
    def few(self) -> bool:
        """Is the interval of so few units that it says little?"""
        return self.units < FEW

    @property
    def interval_of(self) -> str:
        """What the interval is of, and what was resampled for it, in words."""
        units = f"{self.units:,} {plural(self.unit, self.units)}"
        if self.traces == 1:
            return f"this trace: {units} resampled"
        return f"traces like these: {self.traces} traces resampled, then their {units}"

    @property
    def said_of_room(self) -> str:
        """What the bound saves over replay, in words."""
        return said_of_room(self.room_of_cost, self.room_hours, COSTS)

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not defined is None. With `few` and `interval_of`."""
        plain = {name: _plain(value) for name, value in asdict(self).items()}
        return plain | {"few": self.few, "interval_of": self.interval_of}


def plural(unit: str, count: int) -> str:
    """The name of a sampling unit, of so many: "blocks of jobs".

    >>> plural("block of jobs", 2), plural("job", 1)
    ('blocks of jobs', 'job')
    """
    first, *rest = unit.split(" ")
    return " ".join([first if count == 1 else f"{first}s", *rest])


def _plain(value: Any) -> Any:
    """NaN as None, so that JSON can hold it."""
    return None if isinstance(value, float) and math.isnan(value) else value
