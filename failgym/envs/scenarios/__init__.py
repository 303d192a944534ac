"""The registered scenarios: one file each, whose name is that of the environment."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from failgym import ENVIRONMENTS
from failgym.additions import Addition, additions
from failgym.known_names import nearest
from failgym.registration import environment_of
from failgym.worlds.scenario import Scenario

__all__ = ["SCENARIOS", "resolve", "scenario_in"]


def scenario_in(module: ModuleType) -> Scenario:
    """The scenario that is named as its file is. Raises ValueError, naming both, without one."""
    named = environment_of(module.__name__.rpartition(".")[2])
    found = {one.name: one for one in vars(module).values() if isinstance(one, Scenario)}
    if named not in found:
        got = ", ".join(found) or "none"
        raise ValueError(f"{module.__name__}: expected a Scenario named {named!r}, got {got}")
    return found[named]


def _scenarios() -> Iterator[Scenario]:
    for module in iter_modules(__path__, f"{__name__}."):
        yield scenario_in(import_module(module.name))


_FOUND = {one.name: one for one in _scenarios()}
SCENARIOS: dict[str, Scenario] = {name: _FOUND[name] for name in ENVIRONMENTS}
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
            near = nearest(short, known)
            hint = f", did you mean {near}?" if near else f"; known: {', '.join(known)}"
            raise ValueError(f"unknown environment {scenario!r}{hint}")
        scenario = SCENARIOS[short] if short in SCENARIOS else _added(others[short])
    given: Any = scenario  # whatever its caller's types say
    if not isinstance(given, Scenario):
        raise ValueError(f"environment: expected a name or a scenario, got {reprlib.repr(given)}")
    return scenario.override(**overrides) if overrides else scenario
