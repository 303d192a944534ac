"""Figures that were measured in another world than that of now are said to be."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from experiments.measured_worlds import changed_since, note, world_of
from experiments.result_tables.agents import agents, curves, same_traces, worst
from experiments.result_tables.assessments import advice, assessments, learned
from experiments.result_tables.baselines import measures, scores, tuned
from experiments.result_tables.generalisation import generalisation
from experiments.result_tables.intervals import (
    carried_over,
    from_generated,
    periods,
    simulation,
    verdicts,
)
from experiments.result_tables.machines import machines
from experiments.result_tables.power import power
from experiments.result_tables.random_rules import ablations, random_rules, simple_rules
from experiments.result_tables.rankings import clones, sensitivity, turns
from experiments.result_tables.real_traces import real_traces, real_traces_refused
from experiments.result_tables.speed import agent_speed
from experiments.results_pages import PAGES, part
from failgym.envs import SCENARIOS
from failgym.traces.synthetic import PROFILES
from tests.pages import TOP, Page

WRITTEN: dict[str, tuple[str, Callable[[Any], str]]] = {
    "scores": ("scores", scores),
    "measures": ("measures", measures),
    "tuned": ("tuned", tuned),
    "agents": ("agents", agents),
    "agent_speed": ("agent_speed", agent_speed),
    "worst": ("worst_cases", worst),
    "generalist": ("generalist", same_traces),
    "elsewhere": ("agents_elsewhere", agents),
    "curves": ("compute_curves", curves),
    "sensitivity": ("sensitivity", sensitivity),
    "turns": ("sensitivity", turns),
    "clones": ("sensitivity", clones),
    "random_rules": ("random_rules", random_rules),
    "simple_rules": ("simple_rules", simple_rules),
    "ablations": ("ablations", ablations),
    "power": ("power", power),
    "simulation": ("interval_simulation", simulation),
    "periods": ("period_intervals", periods),
    "generalisation": ("generalisation", generalisation),
    "carried_over": ("ranks_carry_over", carried_over),
    "from_generated": ("generated_to_real", from_generated),
    "verdicts": ("gate", verdicts),
    "real_traces": ("rolling_origin", real_traces),
    "real_traces_refused": ("rolling_origin", real_traces_refused),
    "machines": ("many_machines", machines),
    "assessments": ("assessments", assessments),
    "learned": ("assessments", learned),
    "advice": ("advice", advice),
}
"""Part of a page -> the file in experiments/measured that it is written from, and how."""


@pytest.mark.parametrize("part_of", WRITTEN)
def test_pages_say_what_was_measured_and_in_which_world(part_of: str) -> None:
    """As `results_pages` would write them now: run it where a world has changed."""
    name, written = WRITTEN[part_of]
    file = TOP / "experiments" / "measured" / f"{name}.json"
    content = json.loads(file.read_text("utf-8"))
    text = Page(PAGES[part_of]).text
    found = text.partition(f"<!-- {part_of} -->\n")[2].partition(f"\n<!-- /{part_of} -->")[0]
    assert found == part(written, content)


def test_what_was_measured_elsewhere_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cloning, lineage = "Cloning-v1", "Lineage-v1"
    rows = [{"env": env, "world": world_of(env)} for env in (lineage, cloning)]
    by_env = {f"failgym/{row['env']}": row for row in rows} | {"rates": {"Cloning-v1": 1.0}}
    of_cases = {"cases": rows, "judged": [{"env": "another"}]}
    for content in (rows, by_env, rows[1], of_cases):
        assert changed_since(content) == []
        assert note(content) == ""
    prices = replace(SCENARIOS[cloning], task_value=8.0)
    monkeypatch.setitem(SCENARIOS, cloning, prices)
    for content in (rows, by_env, rows[1], of_cases):
        assert changed_since(content) == [cloning]
        assert note(content).strip().endswith("became what it is:** `failgym/Cloning-v1`.")
    assert changed_since(rows[0]) == []
    assert changed_since([{"env": lineage}]) == [lineage]


def test_another_profile_is_another_world(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {env: world_of(env) for env in SCENARIOS}
    assert len(set(before.values())) == len(SCENARIOS)
    name = str(SCENARIOS["Mitigation-v1"].trace)
    other: Any = replace(PROFILES[name], task_spread=0.1)
    monkeypatch.setitem(PROFILES, name, other)
    assert [env for env in SCENARIOS if world_of(env) != before[env]] == ["Mitigation-v1"]
