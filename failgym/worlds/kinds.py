"""The kinds of worlds: what a scenario may name as its ``world``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from failgym.known_names import nearest

if TYPE_CHECKING:
    from failgym.traces import Trace
    from failgym.worlds.scenario import Scenario, Split
    from failgym.worlds.split import Part
    from failgym.worlds.world import World

__all__ = ["CLAIRVOYANT", "Kind", "kind_of", "register_world"]

CLAIRVOYANT = "clairvoyant"
"""What a bound is called that is the best plan of somebody who knows the record."""


class Kind(Protocol):
    """A kind of world: how a scenario becomes one, and what is known before it has.

    Its methods import what they need when they are called: who stays in one world loads nothing of
    the others.
    """

    @property
    def independent(self) -> bool:
        """Do tasks not touch each other, so that several cost what they cost one by one?"""
        ...

    @property
    def as_recorded(self) -> bool:
        """Does what is left alone happen as the record says?"""
        ...

    @property
    def bound_name(self) -> str:
        """What the bound of its costs is called: `CLAIRVOYANT`, if a plan stands behind it."""
        ...

    @property
    def decisions(self) -> tuple[str, ...]:
        """Fields of a scenario that allow a decision."""
        ...

    @property
    def replayed(self) -> frozenset[str]:
        """Fields of a scenario that matter where all of a given trace is replayed."""
        ...

    def varying(self, scenario: Scenario) -> frozenset[str]:
        """Names of the observation fields that can vary in a scenario, over all its splits.

        A field that is left out must be the same in all decisions: learners are not shown it.
        """
        ...

    def check(self, scenario: Scenario) -> None:
        """Raise ValueError, naming the field, if a scenario asks for what there is not."""
        ...

    def part(self, scenario: Scenario, split: Split) -> Part:
        """What a split of a scenario is simulated from."""
        ...

    def build(self, scenario: Scenario) -> World:
        """The world of a scenario. Raises ValueError if no task is ever asked about."""
        ...

    def build_all(self, trace: Trace, scenario: Scenario, known_only: bool) -> World:
        """A world of all tasks of a trace, or of those of known fate, at prices of 1.

        Raises ValueError if there is none.
        """
        ...


_KINDS: dict[str, Kind] = {}


def register_world(name: str, kind: Kind) -> None:
    """Let scenarios name a kind of world."""
    _KINDS[name] = kind


def kind_of(name: str) -> Kind:
    """The kind of world of this name. Raises ValueError, naming the nearest, if there is none."""
    if name not in _KINDS:
        near = nearest(name, _KINDS)
        hint = f" (did you mean {near}?)" if near else ""
        raise ValueError(f"world: expected one of {', '.join(_KINDS)}, got {name!r}{hint}")
    return _KINDS[name]
