"""Policies on traces as independent steps, for workers of this machine or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from failgym.evaluation.runner import run_policy
from failgym.traces.store import META_FILE
from failgym.worlds.build import build_world

if TYPE_CHECKING:
    from failgym.evaluation import Anchors, Run
    from failgym.policy import Policy
    from failgym.worlds.scenario import Scenario

__all__ = ["PolicySteps"]

Step = tuple[str, int]
"""The SPEC of a policy, and the number of a trace."""


@dataclass(frozen=True)
class PolicySteps:
    """Plays policies on the slices of traces, in whatever process; it makes their worlds itself."""

    scenarios: tuple[Scenario, ...]
    """of each trace"""
    slices: tuple[npt.NDArray[np.int64], ...]
    """of each trace"""
    load: Callable[[str], Policy]
    """makes a policy of its SPEC; a function of a module"""

    @classmethod
    def of(cls, places: Sequence[Anchors], load: Callable[[str], Policy]) -> PolicySteps:
        """On the slices of the anchors."""
        scenarios = tuple(place.scenario for place in places)
        return cls(scenarios, tuple(place.replay.slices for place in places), load)

    def play(self, step: Step) -> Run:
        """Play a policy on a trace. Raises ValueError, as `run_policy`."""
        spec, number = step
        scenario = self.scenarios[number]
        world, slices = build_world(scenario), self.slices[number]
        return run_policy(
            world, scenario, self.load(spec), slices, order=scenario.order, name=spec, threads=1
        )

    def files(self, specs: Sequence[str]) -> list[Path]:
        """The files that steps read: policies, stored traces, forecasts."""
        return [path for path in dict.fromkeys(self._named(specs)) if path.is_file()]

    def _named(self, specs: Sequence[str]) -> Iterator[Path]:
        yield from map(Path, specs)
        for scenario in self.scenarios:
            trace, forecast = scenario.trace, scenario.forecast
            if isinstance(trace, str | Path):
                yield Path(trace) / META_FILE
            if isinstance(forecast, str):
                yield Path(forecast)
