"""The registered scenarios: one file each, whose name is that of the environment."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from failgym import ENVIRONMENTS
from failgym.additions import Addition, additions
from failgym.worlds.scenario import Scenario

__all__ = ["SCENARIOS", "resolve"]


def _scenarios() -> Iterator[Scenario]:
    """The scenario of every file of this folder."""
    for module in iter_modules(__path__, f"{__name__}."):
        found = vars(import_module(module.name)).values()
        yield from (one for one in found if isinstance(one, Scenario))


SCENARIOS: dict[str, Scenario] = {
    one.name: one for one in sorted(_scenarios(), key=lambda one: ENVIRONMENTS.index(one.name))
}
"""Name -> scenario; the Gymnasium id is ``failgym/<name>``."""


def _added(other: Addition) -> Scenario:
    """The scenario that another package adds. Raises ValueError, naming it, if it is none."""
    found = other.load()
    if not isinstance(found, Scenario) or found.name != other.entry.name:
        raise ValueError(f"{other}: expected a Scenario of this name")
    return found


def resolve(scenario: str | Scenario, overrides: dict[str, Any] | None = None) -> Scenario:
    """A scenario by name (with or without ``failgym/``), with some fields changed.

    Raises:
        ValueError: for an unknown scenario or field, naming the nearest, or what is neither.
    """
    if isinstance(scenario, str):
        short = scenario.removeprefix("failgym/")
        others = additions("environments", SCENARIOS)
        known = [*SCENARIOS, *others]
        if short not in known:
            near = difflib.get_close_matches(short, known, 1)
            hint = f", did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
            raise ValueError(f"unknown environment {scenario!r}{hint}")
        scenario = SCENARIOS[short] if short in SCENARIOS else _added(others[short])
    given: Any = scenario  # whatever its caller's types say
    if not isinstance(given, Scenario):
        raise ValueError(f"environment: expected a name or a scenario, got {reprlib.repr(given)}")
    return scenario.override(**overrides) if overrides else scenario
