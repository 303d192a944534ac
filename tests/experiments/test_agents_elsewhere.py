"""Agents on other traces and with other forecasts: the right ones, and nothing else changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("xgboost", reason="needs the predictors extra")

from experiments import agents_elsewhere
from experiments.agents_and_rules import ZOO
from experiments.agents_elsewhere import FIRST, NEVER_MET, SLICES, main, places, real
from failgym.agents import load_agent
from failgym.agents.algorithms.settings_files import GENERALIST, settings_of
from failgym.agents.counterfactual.train import LEARNER
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.leaderboard.suite.suites import RELEASED
from failgym.traces import Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from tests.envs.worlds import small


@pytest.mark.parametrize("env", RELEASED)
def test_nothing_of_it_was_met_in_training(env: str) -> None:
    """Neither as registered, nor in any situation of the generalist."""
    scenario = resolve(env)
    environments = settings_of(LEARNER, env, file=GENERALIST).environments or []
    met = [one for each in environments if each.env.endswith(env) for one in each.situations or []]
    assert met
    assert NEVER_MET[env]
    for fields in NEVER_MET[env].values():
        changed = scenario.override(**fields)
        for name, value in fields.items():
            assert value != getattr(scenario, name)
            assert value not in [one.get(name) for one in met]
        assert changed.override(**{name: getattr(scenario, name) for name in fields}) == scenario


def test_agents_and_the_generalist_are_judged_where_nobody_trained_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, env, place = tmp_path / "rows.json", "Checkpoint-v1", "forecast `rosa_by_job`"
    monkeypatch.setattr(agents_elsewhere, "NEVER_MET", {env: {place: NEVER_MET[env][place]}})
    main([env], None, 1, FIRST, ["jobs=1000"], file)
    rows = json.loads(file.read_text())
    algorithms = ["maskable_ppo", "counterfactual", "generalist"]
    assert [row["algorithm"] for row in rows] == algorithms
    scenario = resolve(env, {"jobs": 1000, **NEVER_MET[env][place]})
    anchors = [Anchors.of(scenario.override(trace_seed=FIRST), split="test")]
    agent = load_agent(ZOO / "generalist" / "counterfactual-0.safetensors")
    cost = sum(float(each.run(agent).costs.sum()) for each in anchors)
    replay = sum(float(each.replay.costs.sum()) for each in anchors)
    room = sum(each.room.cost for each in anchors)
    assert rows[2]["agents"][0] == pytest.approx(100.0 * (replay - cost) / room)


def test_workflows_meet_the_outages_of_the_record(tmp_path: Path) -> None:
    log = generate("lanl-2", jobs=60, seed=5)
    log.save(tmp_path / "lanl-2")
    scenario = resolve("Workflow-v1", small("failgym/Workflow-v1"))
    place = real(scenario, tmp_path)
    assert place is not None
    (anchors,) = place.anchors
    assert anchors.scenario.split == "all"
    trace = anchors.scenario.trace
    assert isinstance(trace, Trace)
    end = trace.meta.end or 0
    down = log.column("outages", "down")
    assert set(trace.column("outages", "down")) == set(down[down < end])
    assert np.array_equal(
        trace.column("tasks", "job"),
        generate("lanl-2", jobs=scenario.jobs, seed=FIRST).column("tasks", "job"),
    )


def test_a_short_record_is_judged_from_its_first_hour_on(tmp_path: Path) -> None:
    scenario = resolve("Mitigation-v1", small("failgym/Mitigation-v1")).override(
        begin=24 * 60 * MINUTE
    )
    generate("google-2011", jobs=200, seed=5).save(tmp_path / "google-2011")
    place = real(scenario, tmp_path)
    assert place is not None
    (anchors,) = place.anchors
    assert anchors.scenario.begin == 60 * MINUTE
    assert 0 < place.slices <= SLICES


def test_without_real_traces_only_generated_ones_are_judged_on(tmp_path: Path) -> None:
    scenario = resolve("Workflow-v1", small("failgym/Workflow-v1"))
    assert real(scenario, tmp_path) is None
    assert real(resolve("Lineage-v1"), tmp_path) is None
    place = next(places(scenario, tmp_path, 2, FIRST))
    assert place.name == "all failures of machines foretold, 2 traces"
    assert [a.scenario.trace_seed for a in place.anchors] == [FIRST, FIRST + 1]
    assert {a.scenario.split for a in place.anchors} == {"test"}
