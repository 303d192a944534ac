"""Fields that can have no effect beside the others are refused, in one line that names them all."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import gymnasium as gym
import pytest

import failgym
from failgym.envs import Scenario, resolve
from failgym.worlds.settings.effects import EFFECTS

EASY = {"world": "scheduled", "order": "time", "machines": 4, "scheduler": "easy_backfill"}
CONTINUED = {"beyond_record": "continued"}
OTHERS: dict[str, Any] = {
    "restarts": "record",
    "task_value": 2.0,
    "spare_attempts": 9,
    "task_share": 0.5,
    "strata": "all",
    "draw_seed": 1,
    "boundary": 0.5,
    "restart_limit": 5,
    "every": 2,
    "factor": 2.0,
    "alarm": 0.6,
    "grace_evict": 1,
    "grace_fail": 1,
    "grace_kill": 1,
    "waiting_price": 2.0,
    "estimator": "average",
    "correction": False,
    "history": 3,
    "machine_mtbf": 1_000,
    "outage_shape": 0.7,
    "repair": 1,
    "node_accuracy": 0.6,
    "node_false_positives": 0.4,
    "failed_at": 0.5,
}
"""A value of each field in the table that is not its default."""
DEFAULTS = {field.name: field.default for field in fields(Scenario)}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "beyond_record='continued'": ({}, CONTINUED),
    "fold=0": ({"fold": 1}, {}),
    "restarts='limit'": ({**CONTINUED, "restarts": "record"}, {}),
    "decide='every'": ({"decide": "alarm"}, {}),
    "decide='geometric'": ({}, {"decide": "geometric"}),
    "decide='alarm'": ({}, {"decide": "alarm"}),
    "grace=True": ({"grace": False}, {}),
    "weight_completion is above 0": ({"weight_completion": 0.0}, {}),
    "weight_wasted and weight_forfeited are above 0": (
        {**CONTINUED, "weight_wasted": 0.0},
        CONTINUED,
    ),
    "scheduler='easy_backfill'": ({**EASY, "scheduler": "fifo"}, EASY),
    "estimator is 'average', 'median' or 'mcs'": (EASY, {**EASY, "estimator": "mcs"}),
    "outages have a law": (EASY, {**EASY, "outages": "weibull"}),
    "outages='weibull'": (EASY, {**EASY, "outages": "weibull", "machine_mtbf": 1_000}),
    "node_forecast='calibrated'": (
        {**EASY, "scheduler": "rank_hybd"},
        {**EASY, "scheduler": "rank_hybd", "node_forecast": "calibrated"},
    ),
    "failed_share is above 0": (
        {**EASY, "slice_jobs": 1, "outages": "none"},
        {**EASY, "slice_jobs": 1, "outages": "none", "failed_share": 0.5},
    ),
}
"""Condition -> a scenario in which it does not hold, and one in which it does."""


@pytest.mark.parametrize("where", CASES)
def test_each_is_refused_where_it_does_nothing_and_taken_where_it_does(where: str) -> None:
    without, beside = CASES[where]
    effect = next(effect for effect in EFFECTS if effect.where == where)
    for name in effect.fields:
        given = {name: OTHERS[name]}
        assert OTHERS[name] != DEFAULTS[name]
        expected = (
            rf"^{name}: expected {name}={DEFAULTS[name]!r} unless {where}, got {given[name]!r}$"
        )
        with pytest.raises(ValueError, match=expected):
            Scenario(**without, **given)
        assert getattr(Scenario(**{**beside, **given}), name) == given[name]


def test_every_condition_has_a_case() -> None:
    assert CASES.keys() == {effect.where for effect in EFFECTS}
    assert OTHERS.keys() == {name for effect in EFFECTS for name in effect.fields}


@pytest.mark.parametrize("env", ["Cloning-v1", "GracePeriod-v1", "Checkpoint-v1", "Mitigation-v1"])
def test_a_record_that_no_longer_goes_on_names_all_that_must_change(env: str) -> None:
    line = (
        r"^restarts, task_value: expected restarts='limit', task_value=None"
        r" unless beyond_record='continued', got 'record', 4\.0$"
    )
    with pytest.raises(ValueError, match=line):
        resolve(env, {"beyond_record": "ghost"})
    with pytest.raises(ValueError, match=line):
        gym.make(f"failgym/{env}", beyond_record="ghost")
    plain = {"beyond_record": "ghost", "restarts": "limit", "task_value": None}
    assert resolve(env, plain).beyond_record == "ghost"


def test_a_value_alone_on_an_environment_without_names_the_field_it_needs() -> None:
    line = (
        r"^restarts, task_value: expected .* unless beyond_record='continued', got 'record', 2\.0$"
    )
    with pytest.raises(ValueError, match=line):
        gym.make("failgym/Lineage-v1", task_value=2.0, restarts="record")


def test_a_value_that_is_none_is_named_first() -> None:
    with pytest.raises(
        ValueError, match=r"^beyond_record: expected one of ghost, continued, paper"
    ):
        resolve("Cloning-v1", {"beyond_record": "goes on"})
    with pytest.raises(
        ValueError, match=r"^weight_completion: expected at least 0, finite, got nan"
    ):
        resolve("Cloning-v1", {"weight_completion": float("nan")})


@pytest.mark.parametrize("env", failgym.ENVIRONMENTS)
def test_a_scenario_is_reduced_to_what_has_an_effect(env: str) -> None:
    scenario = resolve(env)
    assert scenario.reduced() == scenario
    changed = {"beyond_record": "ghost", "weight_completion": 0.0, "node_forecast": "none"}
    made = scenario.reduced(**changed)
    assert (made.beyond_record, made.restarts, made.task_value) == ("ghost", "limit", None)
    assert made.waiting_price is None
    assert made.weight_completion == 0.0
    same = {"restarts", "task_value", "waiting_price", *changed}
    for name in DEFAULTS.keys() - same:
        assert getattr(made, name) == getattr(scenario, name)


def test_decisions_that_are_not_allowed_and_forecasts_that_are_none_leave_theirs_alone() -> None:
    made = resolve("Cloning-v1", {"clone": False, "forecast": "none", "forecast_by": "age"})
    assert (made.max_clones, made.decide) == (1, "geometric")
    resolve("Checkpoint-v1", {"forecast": "none"})
