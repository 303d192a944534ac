"""The same play at other prices: does the ranking of policies hang on what is charged?

A cost is a sum of terms, each at a price that is a parameter (`failgym.worlds.prices`). What a rule
does that does not read prices costs at others what its terms say, without playing again: the term
*forfeited* grows with ``task_value`` (or ``weight_forfeited`` where tasks have none), *completion*
with ``waiting_price`` (or ``weight_completion``). The bound depends on prices, and is found anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from failgym.envs.spaces import TERMS
from failgym.worlds.pinned.world import PinnedWorld
from failgym.worlds.scheduled.world import ScheduledWorld

if TYPE_CHECKING:
    from failgym.evaluation.anchors import Anchors
    from failgym.evaluation.runner import Run

__all__ = ["AS_IT_IS", "Factors", "at_prices", "factors_of", "ranks", "reads_prices", "repriced"]

Floats = npt.NDArray[np.float64]

VALUES = (0.25, 4.0)
"""Factors of the value of a task: 1 to 16 about 4."""
WAITING = (0.5, 2.0)
"""Factors of the price of waiting."""
TIES = 1e-9
"""Costs that differ by less, relative, share a rank."""
_COMPLETION, _FORFEITED, _OTHERS = map(TERMS.index, ("completion", "forfeited", "others"))


@dataclass(frozen=True)
class Factors:
    """Other prices, as factors of a scenario's."""

    value: float = 1.0
    """of what is forfeited"""
    waiting: float = 1.0
    """of completion time"""


AS_IT_IS = Factors()


def factors_of(anchors: Anchors) -> list[Factors]:
    """The prices that policies are ranked at, those of the scenario first; no price of 0 is varied.

    Raises:
        ValueError: for a kind of world of which nobody knows how prices enter.
    """
    prices = _prices(anchors)
    forfeited = prices["forfeited_work"] > 0.0 or prices["forfeited_time"] > 0.0
    values = [Factors(value=factor) for factor in VALUES if forfeited]
    waits = [Factors(waiting=factor) for factor in WAITING if prices["completion"] > 0.0]
    return [AS_IT_IS, *values, *waits]


def at_prices(anchors: Anchors, factors: Factors) -> Anchors:
    """The same slices at other prices: replay's costs by its terms, and the bound found anew."""
    if factors == AS_IT_IS:
        return anchors
    priced = _prices(anchors).copy()
    for name in ("forfeited_work", "forfeited_time"):
        priced[name] *= factors.value
    priced["completion"] *= factors.waiting
    world: Any = anchors.world
    world = replace(world, tables=world.tables._replace(parameters=priced.reshape(1)))
    scenario = replace(anchors.scenario, **_fields(anchors, factors))
    return replace(
        anchors,
        scenario=scenario,
        world=world,
        replay=repriced(anchors, anchors.replay, factors),
        least=world.least_costs(scenario, anchors.replay.slices),
    )


def repriced(anchors: Anchors, run: Run, factors: Factors) -> Run:
    """What a run on the slices of the anchors costs at other prices, played as it was.

    Of what others cost, wasted work, overhead and completion time are known; the rest is forfeited.
    """
    prices, costs = _prices(anchors), run.costs.copy()
    wasted, overhead = run.work_of_others.T
    waited = prices["completion"] * run.time_of_others
    lost = costs[:, _OTHERS] - prices["wasted"] * wasted - prices["overhead"] * overhead - waited
    costs[:, _OTHERS] += (factors.waiting - 1.0) * waited + (factors.value - 1.0) * lost
    costs[:, _COMPLETION] *= factors.waiting
    costs[:, _FORFEITED] *= factors.value
    spent = run.spent_on_others * [1.0, factors.waiting]
    return replace(run, costs=costs, spent_on_others=spent)


def reads_prices(policy: Any) -> bool:
    """May it play otherwise at other prices? So may one that asks for the rules that it plays by.

    What is observed tells no price.
    """
    return isinstance(getattr(policy, "playing_by", None), MethodType)


def ranks(costs: Sequence[float]) -> list[int]:
    """The rank of each cost, 1 for the lowest; equal ones share the better rank.

    >>> ranks([3.0, 1.0, 3.0, 7.0])
    [2, 1, 2, 4]
    """
    return [1 + sum(other < cost - TIES * abs(cost) for other in costs) for cost in costs]


def _prices(anchors: Anchors) -> Any:
    """The record of parameters that holds the prices."""
    if not isinstance(anchors.world, PinnedWorld | ScheduledWorld):
        raise ValueError(f"{anchors.scenario.name}: expected a pinned or a scheduled world")
    return anchors.world.tables.parameters[0]


def _fields(anchors: Anchors, factors: Factors) -> dict[str, float]:
    """The fields of the scenario that say such prices."""
    s = anchors.scenario
    value = ("weight_forfeited", s.weight_forfeited) if s.task_value is None else None
    value = value or ("task_value", s.task_value or 0.0)
    waiting = ("weight_completion", s.weight_completion) if s.waiting_price is None else None
    waiting = waiting or ("waiting_price", s.waiting_price or 0.0)
    return {value[0]: value[1] * factors.value, waiting[0]: waiting[1] * factors.waiting}
