"""A third kind of world, from outside the package: one machine, and one kind of decision.

The machine runs tasks one after the other. When an attempt has failed the agent is asked: CONTINUE
runs the next recorded one, KILL gives the task up. Lost time is charged for, and the machine-time
of tasks that the record finishes and the agent does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from failgym.envs import Scenario
    from failgym.traces import Trace
    from failgym.worlds.parts.splitting import Split
    from failgym.worlds.split import Part
    from tests.worlds.toy.world import ToyWorld

__all__ = ["TOY"]


class _Toy:
    independent = False
    as_recorded = False
    bound_name = "cheapest"
    decisions = ("give_up",)
    replayed = frozenset({"give_up"})

    def check(self, scenario: Scenario) -> None:
        if scenario.clone:
            raise ValueError("clone: expected False on one machine, got True")

    def part(self, scenario: Scenario, split: Split) -> Part:
        from failgym.worlds.source import whole_trace
        from failgym.worlds.split import split_trace

        return split_trace(whole_trace(scenario), scenario, split)

    def build(self, scenario: Scenario) -> ToyWorld:
        from tests.worlds.toy.build import build

        return build(scenario, self.part(scenario, scenario.split))

    def build_all(self, trace: Trace, scenario: Scenario, known_only: bool) -> ToyWorld:
        from failgym.worlds.split import Part
        from tests.worlds.toy.build import build

        return build(scenario, Part.all_of(trace))


TOY = _Toy()
