"""A third kind of world, from outside the package: one machine, and one kind of decision.

The machine runs tasks one after the other. When an attempt has failed the agent is asked: CONTINUE
runs the next recorded one, KILL gives the task up. Lost time is charged for, and the machine-time
of tasks that the record finishes and the agent does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from failgym.envs import Scenario

if TYPE_CHECKING:
    from failgym.traces import Trace
    from failgym.worlds.settings.splitting import Split
    from failgym.worlds.split import Part
    from tests.worlds.toy.world import ToyWorld

__all__ = ["TOY", "ToyScenario"]


@dataclass(frozen=True, kw_only=True)
class ToyScenario(Scenario):
    """A scenario of a toy world, with a field of its own."""

    world: str = "toy"
    speed: float = 1.0
    """of the machine"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("speed", self.speed > 0.0, "more than 0")


class _Toy:
    independent = False
    as_recorded = False
    bound_name = "cheapest"
    decisions = ("give_up",)
    replayed = frozenset({"give_up"})

    def varying(self, scenario: Scenario) -> frozenset[str]:
        return frozenset({"failures"})

    def check(self, scenario: Scenario) -> None:
        if not isinstance(scenario, ToyScenario):
            raise ValueError(f"world: expected a ToyScenario, got {type(scenario).__name__}")
        if scenario.clone:
            raise ValueError("clone: expected False on one machine, got True")

    def part(self, scenario: Scenario, split: Split) -> Part:
        from failgym.worlds.source import whole_trace
        from failgym.worlds.split import split_trace

        return split_trace(whole_trace(scenario), scenario, split)

    def build(self, scenario: Scenario) -> ToyWorld:
        from tests.worlds.toy.build import build

        return build(cast("ToyScenario", scenario), self.part(scenario, scenario.split))

    def build_all(self, trace: Trace, scenario: Scenario, known_only: bool) -> ToyWorld:
        from failgym.worlds.split import Part
        from tests.worlds.toy.build import build

        return build(cast("ToyScenario", scenario), Part.all_of(trace))


TOY = _Toy()
