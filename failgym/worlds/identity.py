"""What a scenario plays, in a form that changes when that does: for digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Any, cast

from failgym.traces.synthetic import PROFILES, Profile, generate
from failgym.worlds.forecast import DRAWN, PREDICTORS
from failgym.worlds.scenario import Scenario
from failgym.worlds.scheduled.cluster import LAWS
from failgym.worlds.settings.source import generated

__all__ = ["LATER", "identity", "plain"]

LATER: Mapping[tuple[str, str], Any] = {("Scenario", "fold"): 0, ("Course", "folds"): False}
"""Class and field -> the value that leaves all as it was, of the fields that scenarios, profiles,
forecasts, laws or courses of suites were given after suites were fixed. With that value they are
left out, so that suites stay the same."""
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
    found: dict[str, Any] = plain(scenario)
    if generated(scenario.trace):
        changes = {"sampling": scenario.sampling, "longest": scenario.longest}
        changes = {name: value for name, value in changes.items() if value}
        profile: Any = replace(PROFILES[str(scenario.trace)], **changes)
        sample = _sample(profile, min(SAMPLE, scenario.jobs))
        found["profile"] = plain(profile) | {"sample": sample}
    if scenario.outages in LAWS:
        found["law_of_outages"] = plain(LAWS[scenario.outages])
    if scenario.forecast in ("auto", *DRAWN):
        found["drawn_forecast"] = plain(PREDICTORS[str(scenario.forecast)](scenario))
    return found


def plain(value: Any) -> Any:
    """A value as JSON knows it. Raises TypeError for one that is no plain value."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if is_dataclass(value):
        known = {field.name: getattr(value, field.name) for field in fields(value)}
        kind = type(cast(Any, value)).__name__
        left_alone = [n for n, v in known.items() if (kind, n) in LATER and v == LATER[kind, n]]
        return {name: plain(v) for name, v in known.items() if name not in left_alone}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, Sequence):
        return [plain(one) for one in cast(Sequence[Any], value)]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"identity: expected plain values, got {type(value).__name__}")


@cache
def _sample(profile: Profile, jobs: int) -> str:
    """The content hash of a small trace after a profile."""
    return generate(profile, jobs=jobs, seed=SEED).content_hash
