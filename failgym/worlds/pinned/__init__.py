"""The pinned world: tasks as recorded, and independent of each other."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from failgym.sim.shared.rules import Rules
from failgym.worlds.decisions import DECISIONS
from failgym.worlds.kinds import CLAIRVOYANT
from failgym.worlds.scheduled import FIELDS
from failgym.worlds.varying import conditions_of, varying

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from failgym.traces import Trace
    from failgym.worlds.scenario import Scenario, Split
    from failgym.worlds.split import Part
    from failgym.worlds.world import World

    Ints = npt.NDArray[np.int64]

__all__ = ["PINNED"]


class _Pinned:
    independent = True
    as_recorded = True
    bound_name = CLAIRVOYANT
    decisions = tuple(name for name in DECISIONS if hasattr(Rules, name))
    replayed = frozenset({field.name for field in fields(Rules)} | {"forecast", "seed"})

    def varying(self, scenario: Scenario) -> frozenset[str]:
        """What `failgym.worlds.varying` declares."""
        return varying(conditions_of(scenario))

    def check(self, scenario: Scenario) -> None:
        """Nothing of the scheduled world is set."""
        for name, default in FIELDS.items():
            value = getattr(scenario, name)
            if value != default:
                expected = f'{default!r} (other values need world="scheduled")'
                raise ValueError(f"{name}: expected {expected}, got {value!r}")

    def part(self, scenario: Scenario, split: Split) -> Part:
        from failgym.worlds.source import whole_trace
        from failgym.worlds.split import split_trace

        return split_trace(whole_trace(scenario), scenario, split)

    def build(self, scenario: Scenario) -> World:
        from failgym.worlds.pinned.build import build

        return build(scenario)

    def build_part(self, scenario: Scenario, slices: Ints) -> tuple[World, Ints]:
        from failgym.worlds.pinned.build import build_part

        return build_part(scenario, slices)

    def build_all(self, trace: Trace, scenario: Scenario, known_only: bool) -> World:
        from failgym.worlds.pinned.build import build_all

        return build_all(trace, scenario, known_only)


PINNED = _Pinned()
"""Registered as "pinned"."""
