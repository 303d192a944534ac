"""The identity of a scenario changes when what it plays does."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from failgym.envs import SCENARIOS
from failgym.leaderboard import SUITES
from failgym.predictors import Alarms
from failgym.traces.synthetic import PROFILES, google_2011
from failgym.worlds import forecast, identity
from failgym.worlds.identity import identity as identity_of
from failgym.worlds.scheduled import cluster

MITIGATION = SCENARIOS["Mitigation-v1"]


@pytest.mark.parametrize("env", SCENARIOS)
def test_every_field_is_in_it_so_that_no_default_may_change(env: str) -> None:
    scenario = SCENARIOS[env]
    said = identity_of(scenario)
    later = {name for kind, name in identity.LATER if kind == "Scenario"}
    assert {field.name for field in fields(scenario)} - later <= set(said)
    for name in later:
        assert getattr(scenario, name) == identity.LATER["Scenario", name]
    profile = PROFILES[str(scenario.trace)]
    assert {field.name for field in fields(profile)} <= set(said["profile"])


@pytest.mark.parametrize(
    "change", [{"window": 600_000}, {"weight_wasted": 2.0}, {"sampling": 0.06}, {"split": "test"}]
)
def test_another_value_is_another_identity(change: dict[str, Any]) -> None:
    assert identity_of(replace(MITIGATION, **change)) != identity_of(MITIGATION)


def test_a_field_that_came_later_counts_where_it_is_not_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity, "LATER", {("Scenario", "draw_seed"): 0})
    alone, other = identity_of(MITIGATION), identity_of(replace(MITIGATION, draw_seed=5))
    assert "draw_seed" not in alone
    assert other == alone | {"draw_seed": 5}


def test_a_course_of_a_suite_may_have_more_fields_too(monkeypatch: pytest.MonkeyPatch) -> None:
    course = SUITES["smoke"].courses[0]
    monkeypatch.setattr(identity, "LATER", {("Course", "by_stake"): False})
    assert "by_stake" not in identity.plain(course)
    assert identity.plain(replace(course, by_stake=True))["by_stake"] is True


def test_what_is_no_plain_value_has_no_identity() -> None:
    with pytest.raises(TypeError, match="expected plain values, got ndarray"):
        identity.plain([np.zeros(2)])


def test_what_lies_behind_names_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile, the law of outages, and the quality of the forecast."""
    before = identity_of(MITIGATION)

    def elsayed(**given: Any) -> Alarms:
        return replace(Alarms.elsayed_and_rosa(**given), prior=0.03)

    profile: Any = replace(PROFILES["google-2011"], unfinished_beta=(0.7, 4.0))
    for where, name, value in (
        (PROFILES, "google-2011", profile),
        (cluster.LAWS, "lanl-2", replace(cluster.LAWS["lanl-2"], shape=0.5)),
        (forecast.DRAWN, "elsayed_and_rosa", elsayed),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(where, name, value)
            forecast._made.cache_clear()
            assert identity_of(MITIGATION) != before, name
    forecast._made.cache_clear()
    assert identity_of(MITIGATION) == before


def test_what_generates_a_trace_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile is the same, the code that reads it is not."""
    before = identity_of(MITIGATION)
    monkeypatch.setattr(google_2011, "FREEDOM", 6)
    identity._sample.cache_clear()
    after = identity_of(MITIGATION)
    identity._sample.cache_clear()
    assert after["profile"].pop("sample") != before["profile"].pop("sample")
    assert after == before
