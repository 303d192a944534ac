"""Room: what the bound saves over replay, and whether a share of it can mean anything.

A score is a share of the room. Where replay is nearly the best that can be done, it is a share of
next to nothing: rounding, or the luck of one task, makes it any number. So there is no score, and
"nothing to gain here" is said instead, unless the room is at least `LEAST_ROOM` of what replay
spends, which is its machine-time. Below `LITTLE_ROOM` of it a score is marked.

Costs are in units of a scenario's own. In them machine-time is worth the price of wasted work, so
what replay spends is what it would cost if all its machine-time was wasted: useful work, lost,
redundant and ghost work, checkpoints, restores and transfers, of the tasks that are charged for:
with ``charge="episode"`` these are all that an episode holds. Where machine-time has no price, the
completion time of these tasks stands in. A scenario that charges for neither has no room. The room
may well be more than replay's machine-time, where completion time is what can be saved: so it is
shown as a share of replay's cost, of which it is a part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.envs.spaces import TERMS
from failgym.evaluation.ledger import Run
from failgym.worlds.world import World

__all__ = [
    "COSTS",
    "LEAST_ROOM",
    "LITTLE_ROOM",
    "MARK",
    "NOTHING",
    "NothingToGain",
    "Room",
    "enough_room",
    "said_of_room",
    "spent_by",
    "warning_of",
]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

LEAST_ROOM = 0.01
"""Share of what replay spends; with less room there is nothing to gain, and no score."""
LITTLE_ROOM = 0.05
"""Share of what replay spends below which a score is marked."""
MARK = "*"
"""The sign behind a score over little room."""
NOTHING = "nothing to gain here"
"""What is said in place of a score."""
SPENDS, COSTS = "what replay spends", "what replay costs"
"""What shares of the room are shown of: the first decides whether there is a score."""

_COMPLETION = TERMS.index("completion")


class NothingToGain(ValueError):
    """The bound saves next to nothing: there is no score."""


@dataclass(frozen=True)
class Room:
    """What the bound saves over replay on some slices, beside what replay spends there."""

    cost: float
    """replay's cost less the bound's"""
    replay: float
    """replay's cost"""
    spent: float
    """what replay's machine-time costs, as this module's docstring says"""
    hours: float
    """machine-time that costs as much as the room, if it is wasted [machine-h]; NaN if that has no
    price"""

    @property
    def share(self) -> float:
        """The room over what replay spends; NaN if that is nothing."""
        return self.cost / self.spent if self.spent > 0.0 else math.nan

    @property
    def of_cost(self) -> float:
        """The room over replay's cost, at most 1; NaN if that is nothing."""
        return self.cost / self.replay if self.replay > 0.0 else math.nan

    @property
    def reason(self) -> str | None:
        """Why there is no score; None if there is one."""
        if enough_room(self.cost, self.spent):
            return None
        needed = f"a score needs {100 * LEAST_ROOM:.0f} %"
        return f"{NOTHING}: {said_of_room(self.share, self.hours, SPENDS)}; {needed}"

    @property
    def warning(self) -> str | None:
        """Why a score is marked; None if it is not, or if there is none."""
        return warning_of(self.share) if self.reason is None else None


def warning_of(share: float) -> str | None:
    """What to be wary of in a score over a room of so much of what replay spends, if anything."""
    if not share < LITTLE_ROOM:
        return None
    shown = f"{100 * share:.1f} % of {SPENDS}, less than {100 * LITTLE_ROOM:.0f} %"
    return f"the bound saves {shown}: there is little to gain"


def said_of_room(share: float, hours: float, whole: str) -> str:
    """What the bound saves over replay, in words.

    Args:
        share: of the whole; NaN if that is nothing.
        hours: machine-time that costs as much, if it is wasted; NaN if that has no price.
        whole: what it is a share of.
    """
    if math.isnan(share):
        return "replay spends nothing that is charged for"
    shown = f"{100.0 * max(share, 0.0):.{2 if share < 0.1 else 1}f} %"
    worth = "" if math.isnan(hours) else f"{max(hours, 0.0):,.1f} machine-hours' worth, "
    return f"the bound saves {worth}{shown} of {whole}"


def enough_room(possible: Floats | float, spent: Floats | float) -> Bools:
    """Is there something to gain? Of sums over slices, or slice by slice; shapes are broadcast.

    Args:
        possible: the room, in units of cost.
        spent: what replay spends, likewise.
    """
    possible, spent = np.asarray(possible), np.asarray(spent)
    return np.asarray((possible > 0.0) & (possible >= LEAST_ROOM * spent))


def spent_by(world: World, replay: Run) -> Floats:
    """What replay spends on each of its slices, in units of cost [slices]."""
    price, sizes = world.work_price, world.own_sizes[replay.slices]
    of = np.repeat(np.arange(len(sizes)), sizes)
    others_work, others_time = replay.spent_on_others.T
    if price <= 0.0:
        return replay.costs[:, _COMPLETION] + others_time
    work = np.bincount(of, metrics.task_work(replay.outcomes), len(sizes)).astype(np.float64)
    return work * price + others_work
