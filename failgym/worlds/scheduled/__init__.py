"""The scheduled world: tasks on machines that fail, behind a queue and a scheduler."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from failgym.sim.scheduled.rules import ScheduledRules
from failgym.sim.shared.rules import Rules
from failgym.worlds.decisions import DECISIONS
from failgym.worlds.settings.cluster import Cluster
from failgym.worlds.settings.prediction import NodePrediction
from failgym.worlds.settings.surroundings import Strikes, Surroundings
from failgym.worlds.varying import conditions_of, varying

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from failgym.traces import Trace
    from failgym.worlds.scenario import Scenario, Split
    from failgym.worlds.split import Part
    from failgym.worlds.world import World

    Ints = npt.NDArray[np.int64]

__all__ = ["CLUSTER", "FIELDS", "SCHEDULED"]

CLUSTER = frozenset(field.name for part in (Cluster, NodePrediction) for field in fields(part))
"""Fields that say what machines there are, when they fail and what is predicted of them."""
_SETTINGS = (ScheduledRules, Cluster, NodePrediction, Surroundings, Strikes)
FIELDS: dict[str, Any] = {
    field.name: field.default
    for part in _SETTINGS
    for field in fields(part)
    if not hasattr(Rules, field.name)
}
"""Fields of a scenario that mean something in this world only, and their defaults."""


class _Scheduled:
    independent = False
    as_recorded = False
    bound_name = "bound"
    decisions = DECISIONS
    replayed = (
        frozenset(field.name for field in fields(ScheduledRules))
        | CLUSTER
        | {"forecast", "seed", "trace_seed"}
    )

    def varying(self, scenario: Scenario) -> frozenset[str]:
        """What `failgym.worlds.varying` declares."""
        return varying(conditions_of(scenario))

    def check(self, scenario: Scenario) -> None:
        """Cluster, slices and what strikes them fit together."""
        from failgym.worlds.scheduled.checks import check

        check(scenario)

    def part(self, scenario: Scenario, split: Split) -> Part:
        from failgym.worlds.scheduled.build import simulated
        from failgym.worlds.source import whole_trace

        return simulated(scenario, split, whole_trace(scenario))

    def build(self, scenario: Scenario) -> World:
        from failgym.worlds.scheduled.build import build

        return build(scenario)

    def build_part(self, scenario: Scenario, slices: Ints) -> tuple[World, Ints]:
        from failgym.worlds.scheduled.build import build

        return build(scenario, packed=True), slices

    def build_all(self, trace: Trace, scenario: Scenario, known_only: bool) -> World:
        from failgym.worlds.scheduled.build import build_all

        return build_all(trace, scenario, known_only)


SCHEDULED = _Scheduled()
"""Registered as "scheduled"."""
