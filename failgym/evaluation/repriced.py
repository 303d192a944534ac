"""The same play at other prices: does the ranking of policies hang on what is charged?

A cost is a sum of terms, each at a price that is a parameter (`failgym.worlds.prices`). What a rule
does that does not read prices costs at others what its terms say, without playing again: the term
*forfeited* grows with ``task_value`` (or ``weight_forfeited`` where tasks have none), *completion*
with ``waiting_price`` (or ``weight_completion``), *overhead* and *wasted* with their weights. The
bound depends on prices, and is found anew.
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
    from failgym.evaluation.ledger import Run
    from failgym.worlds.scenario import Scenario
    from failgym.worlds.world import World

__all__ = [
    "AS_IT_IS",
    "Factors",
    "at_prices",
    "costs_at",
    "factors_between",
    "factors_of",
    "others_by_term",
    "ranks",
    "reads_prices",
    "repriced",
    "scenario_at",
]

Floats = npt.NDArray[np.float64]

VALUES = (0.25, 4.0)
"""Factors of the value of a task: 1 to 16 about 4."""
WAITING = (0.5, 2.0)
"""Factors of the price of waiting."""
TIES = 1e-9
"""Costs that differ by less, relative, share a rank."""
_OTHERS = TERMS.index("others")


@dataclass(frozen=True)
class Factors:
    """Other prices, as factors of a scenario's."""

    value: float = 1.0
    """of what is forfeited"""
    waiting: float = 1.0
    """of completion time"""
    overhead: float = 1.0
    """of checkpoints and restores"""
    wasted: float = 1.0
    """of wasted work, in which the value of a task is counted, if there is one"""

    def of_forfeits(self, scenario: Scenario) -> float:
        """What the price of what is forfeited is multiplied by."""
        return self.value if scenario.task_value is None else self.value * self.wasted


AS_IT_IS = Factors()


def factors_of(scenario: Scenario) -> list[Factors]:
    """The prices that policies are ranked at, those of the scenario first; no price of 0 is varied.

    The value of a task is counted in wasted work: if that is free, so are forfeits.
    """
    price = {name: getattr(scenario, field) for name, field in _fields(scenario).items()}
    forfeits = price["value"] * (1.0 if scenario.task_value is None else price["wasted"])
    values = [Factors(value=factor) for factor in VALUES if forfeits > 0.0]
    waits = [Factors(waiting=factor) for factor in WAITING if price["waiting"] > 0.0]
    return [AS_IT_IS, *values, *waits]


def at_prices(anchors: Anchors, factors: Factors) -> Anchors:
    """The same slices at other prices: replay's costs by its terms, and the bound found anew."""
    if factors == AS_IT_IS:
        return anchors
    priced, forfeits = _prices(anchors.world).copy(), factors.of_forfeits(anchors.scenario)
    for name in ("forfeited_work", "forfeited_time"):
        priced[name] *= forfeits
    priced["completion"] *= factors.waiting
    priced["overhead"] *= factors.overhead
    priced["wasted"] *= factors.wasted
    world: Any = anchors.world
    world = replace(world, tables=world.tables._replace(parameters=priced.reshape(1)))
    scenario = scenario_at(anchors.scenario, factors)
    return replace(
        anchors,
        scenario=scenario,
        world=world,
        replay=repriced(anchors, anchors.replay, factors),
        least=world.least_costs(scenario, anchors.replay.slices),
    )


def scenario_at(scenario: Scenario, factors: Factors) -> Scenario:
    """The scenario at other prices."""
    fields = _fields(scenario).items()
    there = {field: getattr(scenario, field) * getattr(factors, name) for name, field in fields}
    return replace(scenario, **there)


def repriced(anchors: Anchors, run: Run, factors: Factors) -> Run:
    """What a run on the slices of the anchors costs at other prices, played as it was."""
    others = others_by_term(anchors.world, run)
    costs = costs_at(run.costs, others, factors, anchors.scenario)
    spent = run.spent_on_others * [factors.wasted, factors.waiting]
    return replace(run, costs=costs, spent_on_others=spent)


def others_by_term(world: World, run: Run) -> Floats:
    """Of what tasks cost that are not asked about, the part that is known term by term.

    Returns:
        [slices, 3] wasted work, overhead and completion time; all else that they cost is forfeited.

    Raises:
        ValueError: for a kind of world of which nobody knows how prices enter.
    """
    prices = _prices(world)
    of_others = np.column_stack([run.work_of_others, run.time_of_others])
    return of_others * np.array([prices[name] for name in TERMS[:3]], dtype=np.float64)


def costs_at(costs: Floats, others: Floats, factors: Factors, scenario: Scenario) -> Floats:
    """What is known by terms, at other prices.

    Args:
        costs: [..., 5] by term.
        others: [..., 3] what `others_by_term` says of the same.
        factors: the other prices.
        scenario: whose prices they are factors of.

    Returns:
        [..., 5]
    """
    forfeits = factors.of_forfeits(scenario)
    by_term = np.array([factors.wasted, factors.overhead, factors.waiting, forfeits, 1.0])
    there = costs * by_term
    lost = costs[..., _OTHERS] - others.sum(axis=-1)
    there[..., _OTHERS] = others @ by_term[:3] + forfeits * lost
    return there


def reads_prices(policy: Any, here: Scenario, there: Scenario) -> bool:
    """May it play otherwise at other prices? So may one that asks for the rules that it plays by.

    What is observed tells no price. Nor does one read them that is equal by both rules, as a
    trained agent is, which asks how often it is asked; but one that changes itself may.

    Args:
        policy: the policy.
        here: the scenario at its prices.
        there: the same at others.
    """
    adapt = getattr(policy, "playing_by", None)
    if not isinstance(adapt, MethodType):
        return False
    one, other = adapt(here), adapt(there)
    try:
        return one is other or not bool(one == other)
    except ValueError:  # of arrays: it is not told
        return True


def ranks(costs: Sequence[float]) -> list[int]:
    """The rank of each cost, 1 for the lowest; equal ones share the better rank.

    >>> ranks([3.0, 1.0, 3.0, 7.0])
    [2, 1, 2, 4]
    """
    return [1 + sum(other < cost - TIES * abs(cost) for other in costs) for cost in costs]


def _prices(world: World) -> Any:
    """The record of parameters that holds the prices."""
    if not isinstance(world, PinnedWorld | ScheduledWorld):
        raise ValueError("prices: expected a pinned or a scheduled world")
    return world.tables.parameters[0]


def factors_between(scenario: Scenario, changed: Scenario) -> Factors:
    """The prices of a changed scenario, as factors of another's; those of 0 stay."""
    return Factors(
        **{
            name: getattr(changed, field) / getattr(scenario, field)
            if getattr(scenario, field)
            else 1.0
            for name, field in _fields(scenario).items()
        }
    )


def _fields(scenario: Scenario) -> dict[str, str]:
    """Field of `Factors` -> the field of a scenario that says such a price."""
    return {
        "value": "weight_forfeited" if scenario.task_value is None else "task_value",
        "waiting": "weight_completion" if scenario.waiting_price is None else "waiting_price",
        "overhead": "weight_overhead",
        "wasted": "weight_wasted",
    }
