"""What a scenario plays, in a form that changes when that does: for digests."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from failgym.traces.synthetic import PROFILES, Profile, generate
from failgym.worlds.scenario import Scenario
from failgym.worlds.settings.source import generated

__all__ = ["identity"]

SAMPLE, SAMPLE_OF_WORKFLOWS = 200, 8
"""Jobs of the trace that stands for a profile. Jobs of workflows have a thousand tasks."""
WORKFLOWS = "panda"
"""How the names of such profiles begin."""
SEED = 3
PLAIN = (bool, int, float, str)
"""What JSON knows."""


def identity(scenario: Scenario) -> dict[str, Any]:
    """The fields of a scenario that are not the default, and what its profile is and generates.

    So a field that scenarios or profiles are given later changes nothing where it is left alone,
    and a profile that generates other traces under the same name does. Changes of the engine are
    not in it.

    Returns:
        values as JSON knows them, or as text; ``profile`` holds those of the profile, if there is
        one, and ``sample``, the content hash of a small trace.
    """
    found = _changed(scenario)
    if generated(scenario.trace):
        profile = PROFILES[str(scenario.trace)]
        found["profile"] = _changed(profile) | {"sample": _sample(profile)}
    return found


def _changed(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that do not have their default."""
    values = {field.name: (getattr(record, field.name), field.default) for field in fields(record)}
    changed = {name: value for name, (value, default) in values.items() if value != default}
    return {name: v if isinstance(v, PLAIN) else str(v) for name, v in changed.items()}


@cache
def _sample(profile: Profile) -> str:
    """The content hash of a small trace after a profile."""
    jobs = SAMPLE_OF_WORKFLOWS if profile.name.startswith(WORKFLOWS) else SAMPLE
    return generate(profile, jobs=jobs, seed=SEED).content_hash
