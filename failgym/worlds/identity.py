"""What a scenario plays, in a form that changes when that does: for digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, cast

from failgym.traces.synthetic import PROFILES, Profile, generate
from failgym.worlds.forecast import DRAWN, PREDICTORS
from failgym.worlds.scenario import Scenario
from failgym.worlds.scheduled.cluster import LAWS
from failgym.worlds.settings.source import generated

__all__ = ["LATER", "identity"]

LATER: Mapping[str, Any] = {}
"""Fields that scenarios, profiles, forecasts or laws were given after suites were fixed, each with
the value that leaves all as it was. There they are left out, so that suites stay the same."""
SAMPLE = 1_000
"""Jobs of the trace that stands for a profile, at most as many as the scenario's have."""
SEED = 3
"""Of that trace."""
PLAIN = (bool, int, str, type(None))
"""What JSON knows, and machines write alike."""
DIGITS = 9
"""Of real numbers: the last ones of what is computed may differ between machines."""


def identity(scenario: Scenario) -> dict[str, Any]:
    """The fields of a scenario, and what lies behind the names in them.

    These are the profile of a generated trace, the law of outages and the qualities of a drawn
    forecast. So what they are may not change under the same name either. Of the code that generates
    traces a small one is the witness; changes of the engine are not in it.

    Returns:
        values as JSON knows them; ``profile`` holds those of the profile, if there is one, and
        ``sample``, the content hash of a small trace.
    """
    found: dict[str, Any] = _plain(scenario)
    if generated(scenario.trace):
        changes = {"sampling": scenario.sampling, "longest": scenario.longest}
        changes = {name: value for name, value in changes.items() if value}
        profile: Any = replace(PROFILES[str(scenario.trace)], **changes)
        sample = _sample(profile, min(SAMPLE, scenario.jobs))
        found["profile"] = _plain(profile) | {"sample": sample}
    if scenario.outages in LAWS:
        found["law_of_outages"] = _plain(LAWS[scenario.outages])
    if scenario.forecast in ("auto", *DRAWN):
        found["drawn_forecast"] = _plain(PREDICTORS[str(scenario.forecast)](scenario))
    return found


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if is_dataclass(value):
        known = {field.name: getattr(value, field.name) for field in fields(value)}
        return {n: _plain(v) for n, v in known.items() if n not in LATER or v != LATER[n]}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, Sequence):
        return [_plain(one) for one in cast(Sequence[Any], value)]
    return str(value)


@cache
def _sample(profile: Profile, jobs: int) -> str:
    """The content hash of a small trace after a profile."""
    return generate(profile, jobs=jobs, seed=SEED).content_hash
