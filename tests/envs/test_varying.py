"""Nothing that varies is hidden from learners: what is declared, beside what random play shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from failgym.envs import FIELDS, SCENARIOS, Scenario, resolve, varying_fields
from failgym.sim.shared.fields import INDEX
from failgym.traces import generate
from failgym.traces.synthetic import PROFILES
from failgym.worlds.batches import batch_of
from failgym.worlds.build import build_world
from failgym.worlds.varying import COLUMNS, CONDITIONS, NEEDS
from tests.envs.worlds import legal, small

NOT_SHOWN: dict[str, dict[str, str]] = {
    "Cloning-v1": {},
    "GracePeriod-v1": {
        "live_attempts": "no task of this trace has two attempts at once",
        "risk": "`rosa_by_job` says classes of tasks, and one risk of all attempts",
        "risk_change": "`rosa_by_job` says classes of tasks, and one risk of all attempts",
    },
    "Checkpoint-v1": {
        "live_attempts": "no task of this trace has two attempts at once",
        "age_over_siblings": "jobs of this trace have one task each",
        "failures": "a job that fails by itself is not tried again",
        "last_failed": "a job that fails by itself is not tried again",
    },
    "Lineage-v1": {
        "live_attempts": "an OUTPUT decision comes when the only attempt has finished",
        "last_external": "an OUTPUT decision comes when an attempt has finished",
        "failure_rate": "no attempt of this trace fails by itself",
    },
    "Workflow-v1": {
        "live_attempts": "a DISPATCH decision comes before the only attempt begins",
        "failure_rate": "no attempt of this trace fails by itself",
    },
    "Mitigation-v1": {
        "may_kill": "wherever a decision is asked, KILL is legal",
    },
}
"""Fields that may vary by the rule, and did not in 50,000 random decisions: why."""

DECISIONS: tuple[str, ...] = ("clone", "checkpoint", "kill", "give_up", "retry")
EVERYTHING: dict[str, Any] = dict.fromkeys(DECISIONS, True)
PINNED: list[dict[str, Any]] = [
    *({name: True} for name in DECISIONS),
    EVERYTHING,
    {**EVERYTHING, "forecast": "none"},
    {**EVERYTHING, "forecast": "perfect", "checkpoint_cost": 60_000, "order": "time"},
    {**EVERYTHING, "grace": False, "decide": "every", "every": 3, "forecast_by": "age"},
    {"checkpoint": True, "checkpoint_cost": 60_000, "split": "test", "jobs": 3_000},
    {"clone": True, "checkpoint": True, "restart_limit": 4, "max_extra": 4, "max_clones": 2},
    {"retry": True, "max_extra": 3, "beyond_record": "paper", "task_value": None},
]
SCHEDULED: list[tuple[str, dict[str, Any]]] = [
    *(("Mitigation-v1", {**dict.fromkeys(DECISIONS, False), name: True}) for name in DECISIONS),
    ("Mitigation-v1", {"forecast": "none", "outages": "none", "preemption": False}),
    ("Mitigation-v1", {"scheduler": "easy_backfill", "preemption": False, "walltime_kill": True}),
    ("Lineage-v1", EVERYTHING),
    ("Lineage-v1", {"save_outputs": False, "checkpoint": True, "clone": True}),
    ("Lineage-v1", {"checkpoint_cost": 0, "completion": "tasks"}),
    ("Workflow-v1", EVERYTHING),
    ("Workflow-v1", {"node_forecast": "exact", "save_outputs": True, "outputs": "lost"}),
    ("Workflow-v1", {"node_forecast": "none", "outages": "none"}),
    ("Workflow-v1", {"place": False, "checkpoint": True, "checkpoint_cost": 60_000}),
]


def seen_to_vary(scenario: Scenario, decisions: int, lanes: int = 16) -> set[str]:
    """The fields that differ between any two of so many random decisions."""
    batch = batch_of(scenario, build_world(scenario), lanes)
    rng, seen = np.random.default_rng(0), 0
    low, high = np.full(len(FIELDS), np.inf), np.full(len(FIELDS), -np.inf)
    batch.seed(np.arange(1, lanes + 1).astype(np.uint64))
    out = batch.reset(np.full(lanes, -1))
    while seen < decisions:
        asked = out.obs[out.task >= 0]
        low = np.minimum(low, asked.min(axis=0, initial=np.inf))
        high = np.maximum(high, asked.max(axis=0, initial=-np.inf))
        seen += lanes
        out = batch.step(legal(out.mask, rng), again=True)
    return {name for name, i in INDEX.items() if low[i] < high[i]}


@pytest.mark.parametrize("env", SCENARIOS)
def test_nothing_is_hidden_of_a_small_environment(env: str) -> None:
    scenario = resolve(env, small(env))
    assert seen_to_vary(scenario, 8_000) <= set(varying_fields(scenario))


@pytest.mark.campaign
@pytest.mark.parametrize("env", NOT_SHOWN)
def test_what_is_declared_is_what_50_000_random_decisions_show(env: str) -> None:
    seen, declared = seen_to_vary(resolve(env), 50_000, lanes=4), set(varying_fields(env))
    assert seen <= declared, "hidden from learners"
    assert declared - seen == NOT_SHOWN[env].keys(), "say why they did not vary"


@pytest.mark.parametrize("changes", PINNED, ids=str)
def test_nothing_is_hidden_where_settings_of_a_pinned_world_are_others(
    changes: dict[str, Any],
) -> None:
    base = {**dict.fromkeys(DECISIONS, False), **small("Cloning-v1"), "restarts": "limit"}
    scenario = resolve("Cloning-v1", {**base, **changes})
    assert seen_to_vary(scenario, 4_000) <= set(varying_fields(scenario))


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_hidden_of_any_generated_trace(profile: str) -> None:
    if (generate(profile, jobs=2, usage=False).column("attempts", "start") < 0).all():
        pytest.skip("a trace of workflows that nothing has run yet")
    changes = {"trace": profile, "jobs": 200, "select": "all", "forecast": "elsayed"}
    scenario = resolve("Cloning-v1", {**changes, **EVERYTHING, "checkpoint_cost": 60_000})
    assert seen_to_vary(scenario, 4_000) <= set(varying_fields(scenario))


@pytest.mark.parametrize(("env", "changes"), SCHEDULED, ids=str)
def test_nothing_is_hidden_where_settings_of_a_scheduled_world_are_others(
    env: str, changes: dict[str, Any]
) -> None:
    scenario = resolve(env, {**small(env), **changes})
    assert seen_to_vary(scenario, 2_000) <= set(varying_fields(scenario))


def test_a_forecast_varies_where_it_is_switched_on() -> None:
    without, with_ = (
        set(varying_fields(resolve("Mitigation-v1", {"forecast": name})))
        for name in ("none", "rosa")
    )
    group = {field.name for field in FIELDS if field.group == "forecast"}
    risks = {"risk", "risk_change", "risk_over_cost"}
    assert with_ - without == group | {"grace", "flagged_before"}
    assert not without & group
    of_attempts = set(varying_fields(resolve("Mitigation-v1", {"forecast": "elsayed_alarms"})))
    assert of_attempts - without == risks | {"flagged_before"}
    nodes = resolve("Workflow-v1", {"node_forecast": "none"})
    assert set(varying_fields("Workflow-v1")) - set(varying_fields(nodes)) == {"predicted_to_fail"}


def test_a_trace_that_is_given_may_have_any_column() -> None:
    profile = resolve("Checkpoint-v1", {"jobs": 60})
    given = profile.override(trace=generate("system-a", jobs=60))
    missing = set(varying_fields(given)) - set(varying_fields(profile))
    assert {"priority", "cpu_request", "siblings_finished"} < missing


@pytest.mark.parametrize("name", PROFILES)
def test_columns_that_a_profile_says_are_empty_are(name: str) -> None:
    trace = generate(name, jobs=min(60, PROFILES[name].default_jobs // 5), seed=1)
    empty = set(PROFILES[name].empty.split())
    assert empty <= COLUMNS
    for column in empty:
        table, of = column.split(".")
        values = set(getattr(trace, table)[of].unique().to_pylist())
        nothing: set[Any] = {"width": {1}, "outcome": {5}}.get(of, {None})
        assert values <= nothing, column


def test_the_rule_names_what_there_is() -> None:
    known = CONDITIONS.keys() | COLUMNS
    assert {need for needs, _ in NEEDS for need in needs.split()} == known
    assert {field for _, fields in NEEDS for field in fields.split()} <= INDEX.keys()
