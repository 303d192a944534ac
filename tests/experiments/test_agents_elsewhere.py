"""Agents on other traces and with other forecasts: the right ones, and nothing else changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("xgboost", reason="needs the predictors extra")

from experiments.agents_elsewhere import FIRST, SLICES, forecasts, places, real
from failgym.envs import resolve
from failgym.leaderboard.suite.suites import RELEASED
from failgym.predictors import GradientBoosting
from failgym.traces import Trace
from failgym.traces.synthetic import generate
from failgym.vocabulary import MINUTE
from tests.envs.worlds import small


@pytest.mark.parametrize("env", RELEASED)
def test_only_the_forecast_differs(env: str) -> None:
    scenario = resolve(env, small(f"failgym/{env}"))
    found = forecasts(scenario)
    pinned_or_loaded = env not in ("Lineage-v1", "Workflow-v1")
    assert ("trained forecast" in found) == pinned_or_loaded
    assert ("no forecast" in found) == (env != "Lineage-v1")
    for name, changed in found.items():
        trained = isinstance(changed.forecast, GradientBoosting)
        assert trained == (name == "trained forecast")
        own = {"forecast": scenario.forecast, "node_forecast": scenario.node_forecast}
        assert changed.override(**own) == scenario


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
    (place,) = places(scenario, tmp_path, 2)
    assert place.name == "no forecast, 2 traces"
    assert [a.scenario.trace_seed for a in place.anchors] == [FIRST, FIRST + 1]
    assert {a.scenario.split for a in place.anchors} == {"test"}
