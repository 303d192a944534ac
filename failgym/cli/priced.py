"""How policies rank over a range of prices: the table of `failgym evaluate --prices`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from failgym.cli.output import interactive, print_line, print_table
from failgym.cli.scores import by_the_proven, proven_factor

if TYPE_CHECKING:
    from failgym.evaluation import Anchors, Evaluation, Run
    from failgym.evaluation.repriced import Factors
    from failgym.policy import Policy

__all__ = ["Priced", "priced", "print_priced"]

MEANING = """\
(rank): by cost, 1 for the lowest. Only policies that ask for prices were played again. Replay's
  costs and the bound are those at each price. An agent that learned at one price plays the same at
  all"""


class Priced(NamedTuple):
    """Policies at some prices."""

    name: str
    value: float
    """factor of what is forfeited"""
    waiting: float
    """factor of the price of waiting"""
    rows: list[Evaluation]
    ranks: list[int]
    unproven: int
    """tasks whose bound is not proven at these prices"""
    proven_factor: float | None
    """how many times as high scores are by what is proven"""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        first = self.rows[0]
        return {
            "name": self.name,
            "forfeited_factor": self.value,
            "waiting_factor": self.waiting,
            "room": first.room,
            "reason": first.reason,
            "warning": first.warning,
            "unproven": self.unproven,
            "proven_factor": self.proven_factor,
            "policies": [
                {"policy": row.policy, "score": row.score, "cost": row.cost, "rank": rank}
                for row, rank in zip(self.rows, self.ranks, strict=True)
            ],
        }


def priced(
    places: Sequence[Anchors],
    policies: Sequence[tuple[str, Policy]],
    runs: Sequence[Sequence[Run]],
    **options: Any,
) -> list[Priced]:
    """Score policies, and replay beside them, at each of the prices, the scenario's first.

    Args:
        places: the slices of each trace.
        policies: by name.
        runs: [policies][traces] what they did.
        options: those of `failgym.evaluation.run_policy`, for policies that play again.
    """
    from failgym.evaluation.measuring import measure
    from failgym.evaluation.progress import working
    from failgym.evaluation.repriced import (
        AS_IT_IS,
        at_prices,
        factors_of,
        ranks,
        reads_prices,
        repriced,
    )

    played: list[tuple[str, Policy | None, Sequence[Run]]] = [
        (name, policy, each) for (name, policy), each in zip(policies, runs, strict=True)
    ]
    if all(each[0].policy != places[0].replay.policy for each in runs):
        played.append(("", None, [place.replay for place in places]))
    found: list[Priced] = []
    for factors in factors_of(places[0].scenario):
        with working("bound and scores at other prices", interactive()):
            there = [at_prices(place, factors) for place in places]
            rows: list[Evaluation] = []
            for name, policy, each in played:
                prices = places[0].scenario, there[0].scenario
                if policy is not None and factors != AS_IT_IS and reads_prices(policy, *prices):
                    again = [place.run(policy, name=name, **options) for place in there]
                else:
                    again = [repriced(*of, factors) for of in zip(places, each, strict=True)]
                rows.append(measure(there, again))
        name, unproven = _name(places[0], factors), sum(place.unproven for place in there)
        of_costs = ranks([row.cost for row in rows])
        proven = proven_factor(there)
        found.append(Priced(name, factors.value, factors.waiting, rows, of_costs, unproven, proven))
    return found


def print_priced(found: Sequence[Priced]) -> None:
    """Print scores and ranks by price, and who is the best at all of them."""
    from failgym.evaluation.room import MARK

    table = [
        [row.policy, *(_cell(each.rows[at], each.ranks[at]) for each in found)]
        for at, row in enumerate(found[0].rows)
    ]
    order = sorted(range(len(table)), key=lambda at: found[0].ranks[at])
    heads = [each.name.replace(" ", "\n", 1) for each in found]
    print_table("at other prices", ["policy", *heads], [table[at] for at in order])
    best = [
        row.policy
        for at, row in enumerate(found[0].rows)
        if all(each.ranks[at] == 1 for each in found)
    ]
    print_line(f"cheapest at all prices: {', '.join(best) or 'none of them'}")
    for each in found:
        if why := each.rows[0].reason or each.rows[0].warning:
            print_line(f"{each.name}: {MARK if each.rows[0].warning else '-'} {why}")
        if each.unproven:
            print_line(
                f"{each.name}: the bound of {each.unproven:,} tasks is not proven"
                + by_the_proven(each.proven_factor)
            )
    print_line(MEANING)


def _cell(row: Evaluation, rank: int) -> str:
    from failgym.evaluation.room import MARK

    score = "-" if math.isnan(row.score) else f"{row.score:.1f}{MARK if row.warning else ''}"
    return f"{score} ({rank})"


def _name(anchors: Anchors, factors: Factors) -> str:
    """Which price is another, by its value if there is one."""
    scenario = anchors.scenario
    if factors.value != 1.0:
        if scenario.task_value is None:
            return f"forfeited x {factors.value:g}"
        return f"value {scenario.task_value * factors.value:g}"
    return f"waiting x {factors.waiting:g}" if factors.waiting != 1.0 else "as it is"
