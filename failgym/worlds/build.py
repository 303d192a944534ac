"""`build_world`: the world of a scenario, compiled once."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from failgym.predictors import Learned
from failgym.traces import Trace
from failgym.worlds.kinds import kind_of
from failgym.worlds.recent import Recent, bytes_of
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.source import version_of
from failgym.worlds.split import Part
from failgym.worlds.world import World

__all__ = ["RECENT", "build_part", "build_world", "part_of", "split_of"]

Ints = npt.NDArray[np.int64]

MOST, ROOM = 16, 250_000_000
"""Worlds that are at hand, and bytes that they take together, unless one alone takes more: two
worlds of a record of 400,000 tasks. Another is read from disk again (`failgym.world_cache`)."""
RECENT: Recent[World] = Recent(lambda world: bytes_of(getattr(world, "tables", ())), MOST, ROOM)
"""The worlds of this process."""


def part_of(scenario: Scenario, split: Split) -> Part:
    """What a split of a scenario is simulated from, and where its rows come from."""
    return kind_of(scenario.world).part(scenario, split)


def split_of(scenario: Scenario, split: Split) -> Trace:
    """What a split of a scenario is simulated from; forecasts of it speak of this trace.

    In the pinned world a split of its trace; in the scheduled one with the cluster's machines and
    outages, and with earlier jobs that are there as background. A forecast of the whole trace
    serves every split.
    """
    return part_of(scenario, split).trace


def build_world(scenario: Scenario) -> World:
    """The world of a scenario and of the present version of its files, compiled unless it is at
    hand.

    Raises:
        ValueError: if the split has no task that is ever asked about, or a value names nothing.
    """
    key = scenario, *_versions(scenario)
    world = RECENT.get(key)
    return RECENT.keep(key, kind_of(scenario.world).build(scenario)) if world is None else world


def build_part(scenario: Scenario, slices: Ints) -> tuple[World, Ints]:
    """A world that holds some slices of a scenario, and their numbers in it.

    In the pinned world it holds no others. It is kept packed, and the whole is not: of many traces
    whole worlds would take a hundred times the room. The last one stays in this process.

    Args:
        scenario: whose slices.
        slices: which ones, each once.

    Raises:
        ValueError: as `build_world`.
    """
    content = np.ascontiguousarray(slices, dtype=np.int64).tobytes()
    return _build_part(scenario, *_versions(scenario), content)


def _versions(scenario: Scenario) -> tuple[str, str, str]:
    """Of the files that a scenario names, and of what its forecast has been told since."""
    said_by = scenario.forecast
    parameters_now = repr(said_by) if isinstance(said_by, Learned) else ""  # fields may be set
    return version_of(scenario.trace), version_of(said_by), parameters_now


@lru_cache(maxsize=1)
def _build_part(
    scenario: Scenario,
    trace_version: str,
    forecast_version: str,
    parameters_now: str,
    slices: bytes,
) -> tuple[World, Ints]:
    kind, numbers = kind_of(scenario.world), np.frombuffer(slices, dtype=np.int64)
    if not isinstance(kind, _InParts):
        return build_world(scenario), numbers
    return kind.build_part(scenario, numbers)


@runtime_checkable
class _InParts(Protocol):
    """A kind of world that can be built in parts, or is kept otherwise where there are many."""

    def build_part(self, scenario: Scenario, slices: Ints) -> tuple[World, Ints]:
        """A world that holds some slices, and their numbers in it."""
        ...
