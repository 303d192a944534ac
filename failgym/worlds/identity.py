"""What a scenario plays, in a form that changes when that does: for digests."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from failgym.traces.synthetic import PROFILES, generate
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.source import generated

__all__ = ["identity"]

SAMPLE, SAMPLE_OF_WORKFLOWS = 60, 8
"""Jobs of the trace that stands for a profile. Jobs of workflows have a thousand tasks."""
WORKFLOWS = "panda"
"""How the names of such profiles begin."""
SEED = 3
PLAIN = (bool, int, float, str)
"""What JSON knows."""


def identity(scenario: Scenario) -> dict[str, Any]:
    """The fields of a scenario that are not the default, and what its profile generates.

    So a field that scenarios are given later changes nothing where it is left alone, and a profile
    that generates other traces under the same name does. Changes of the engine are not in it.

    Returns:
        values as JSON knows them, or as text.
    """
    values = {
        field.name: (getattr(scenario, field.name), field.default) for field in fields(scenario)
    }
    changed = {name: value for name, (value, default) in values.items() if value != default}
    if generated(scenario.trace):
        changed["profile"] = sample_of(str(scenario.trace))
    return {
        name: value if isinstance(value, PLAIN) else str(value) for name, value in changed.items()
    }


@cache
def sample_of(profile: str) -> str:
    """The content hash of a small trace after a profile of this name."""
    jobs = SAMPLE_OF_WORKFLOWS if profile.startswith(WORKFLOWS) else SAMPLE
    return generate(PROFILES[profile], jobs=jobs, seed=SEED).content_hash
