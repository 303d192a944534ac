"""The registered scenarios: one file each."""

from __future__ import annotations

import difflib
import reprlib
from typing import Any

from failgym.envs.scenarios.checkpoint import CHECKPOINT
from failgym.envs.scenarios.cloning import CLONING
from failgym.envs.scenarios.grace_period import GRACE_PERIOD
from failgym.envs.scenarios.lineage import LINEAGE
from failgym.envs.scenarios.mitigation import MITIGATION
from failgym.envs.scenarios.workflow import WORKFLOW
from failgym.worlds.scenario import Scenario

__all__ = ["SCENARIOS", "resolve"]

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (CLONING, GRACE_PERIOD, CHECKPOINT, LINEAGE, WORKFLOW, MITIGATION)
}
"""Name -> scenario; the Gymnasium id is ``failgym/<name>``."""


def resolve(scenario: str | Scenario, overrides: dict[str, Any] | None = None) -> Scenario:
    """A scenario by name (with or without ``failgym/``), with some fields changed.

    Raises:
        ValueError: for an unknown scenario or field, naming the nearest, or what is neither.
    """
    if isinstance(scenario, str):
        short = scenario.removeprefix("failgym/")
        if short not in SCENARIOS:
            near = difflib.get_close_matches(short, SCENARIOS, 1)
            hint = f", did you mean {near[0]}?" if near else f"; known: {', '.join(SCENARIOS)}"
            raise ValueError(f"unknown environment {scenario!r}{hint}")
        scenario = SCENARIOS[short]
    given: Any = scenario  # whatever its caller's types say
    if not isinstance(given, Scenario):
        raise ValueError(f"environment: expected a name or a scenario, got {reprlib.repr(given)}")
    return scenario.override(**overrides) if overrides else scenario
