"""Ranks at other prices: does the order of policies hang on what is charged?

What a policy did costs at other prices what its terms say (`failgym.evaluation.repriced`). Costs
need no bound to be ranked. A rule that reads prices would play otherwise there; it is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from failgym.baselines import REGISTRY
from failgym.evaluation.repriced import (
    AS_IT_IS,
    Factors,
    costs_at,
    factors_of,
    ranks,
    reads_prices,
    scenario_at,
)
from failgym.leaderboard.page.cells import Field
from failgym.leaderboard.page.source import Source
from failgym.leaderboard.suite.suites import SUITES
from failgym.worlds.scenario import Scenario

__all__ = ["priced_scenario", "prices_of", "ranks_at_prices", "readers"]

Floats = npt.NDArray[np.float64]

OTHERS = ("others_wasted", "others_overhead", "others_completion")


def priced_scenario(source: Source, env: str) -> Scenario | None:
    """The scenario whose prices an environment of a submission is played at; None: nobody knows.

    So it is of a suite that is none of this version's.
    """
    suite = SUITES.get(source.suite.partition(",")[0])
    if suite is not None and suite.real:  # it has the environments that the user's traces allow
        played = {name for name, _, _ in source.traces}
        kept = tuple(course for course in suite.courses if course.env in played)
        suite = replace(suite, courses=kept)
    if suite is None or env not in {course.env for course in suite.courses}:
        return None
    if suite.digest != source.digest:
        return None
    return suite.course(env).scenario()


def prices_of(scenario: Scenario | None) -> list[str]:
    """What prices policies are ranked at, in words, the lowest first."""
    return list(map(_said, _factors(scenario)))


def _factors(scenario: Scenario | None) -> list[Factors]:
    """Of the prices, the lowest first; none without a scenario."""
    found = [] if scenario is None else factors_of(scenario)
    return sorted(found, key=lambda factors: factors.value * factors.waiting)


def _said(factors: Factors) -> str:
    if factors == AS_IT_IS:
        return "as they are"
    named = (("value of tasks", factors.value), ("waiting", factors.waiting))
    return ", ".join(f"{name} × {factor:g}" for name, factor in named if factor != 1.0)


def ranks_at_prices(field: Field, policies: Sequence[str], scenario: Scenario | None) -> Floats:
    """[policies, prices] the rank of each by its cost; NaN of one that failed.

    There are ranks by cost also where nothing can be gained, and so no score is given.

    Args:
        field: the environment.
        policies: by name.
        scenario: with its prices; without it there are none.
    """
    factors = _factors(scenario)
    found = np.full((len(policies), len(factors)), np.nan)
    cells = [field.cell(name) for name in policies]
    at = [one for one, cell in enumerate(cells) if cell is not None]
    costs = np.array([cell.costs for cell in cells if cell is not None])
    others = np.array([[cell.account[n] for n in OTHERS] for cell in cells if cell is not None])
    for column, each in enumerate(factors):
        if at and scenario is not None:
            there = costs_at(costs, others, each, scenario).sum(axis=1)
            found[at, column] = ranks(there.tolist())
    return found


def readers(submissions: Sequence[Source], env: str, scenario: Scenario | None) -> set[str]:
    """Names of policies that play otherwise at other prices, or may.

    A trained agent does not; of code nobody knows. Baselines are failgym's own, and say it; one
    that comes from a file is of any of their kinds.
    """
    if scenario is None:
        return set()
    others = [scenario_at(scenario, each) for each in factors_of(scenario) if each != AS_IT_IS]

    def may(kind: str, spec: str) -> bool:
        if kind != "baseline":
            return kind == "code"
        name = spec.partition(":")[0]
        kinds = [REGISTRY[name]] if name in REGISTRY else list(REGISTRY.values())
        return any(reads_prices(one(), scenario, there) for one in kinds for there in others)

    entries = [entry for source in submissions for entry in source.entries if env in entry.specs]
    return {entry.name for entry in entries if may(entry.kind, entry.specs[env])}
