"""Scores of rules on fresh traces: those of `evaluate`, and no more than once measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import baseline_scores
from experiments.baseline_scores import Scores, of_trace, scores_of
from experiments.result_tables.baselines import scores
from failgym import evaluate
from failgym.baselines import REGISTRY
from failgym.envs import SCENARIOS, Scenario, resolve
from tests.envs.worlds import small

GRACE = "failgym/GracePeriod-v1"
SEEDS = (40, 41)


def scenario() -> Scenario:
    return resolve(GRACE, small(GRACE))


def found(folder: Path) -> Scores:
    fresh = [of_trace(replace(scenario(), trace_seed=seed), folder) for seed in SEEDS]
    return scores_of(scenario(), fresh, SEEDS, of_trace(scenario(), folder))


def test_scores_are_those_of_evaluate(tmp_path: Path) -> None:
    measured = found(tmp_path)
    assert {row.policy for row in measured.rows} == {
        name for name, rule in REGISTRY.items() if rule.compatible(scenario())
    }
    best = measured.rows[0]
    assert tuple(best.below) == (0.0, 0.0, 0.0)
    for row in measured.rows:
        rule = REGISTRY[row.policy]()
        fresh = evaluate(rule, scenario(), traces=len(SEEDS), trace_seed=SEEDS[0])
        alone = evaluate(rule, scenario())
        for said, of in ((row.fresh, fresh), (row.registered, alone)):
            assert tuple(said) == pytest.approx((of.score, of.low, of.high), nan_ok=True)
        assert row.below.value == pytest.approx(best.fresh.value - row.fresh.value)
        assert row.below.value >= 0.0
        assert (measured.slices, measured.units) == (fresh.episodes, fresh.units)
        assert measured.room == pytest.approx(fresh.room_share)
        assert measured.room_of_cost == pytest.approx(fresh.room_of_cost)
        assert measured.registered_room == pytest.approx(alone.room_share)


def test_what_was_measured_is_kept_and_of_another_environment_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = of_trace(scenario(), tmp_path)
    monkeypatch.delattr(baseline_scores, "measured")
    again = of_trace(scenario(), tmp_path)
    assert again.rules == first.rules
    assert (again.saved == first.saved).all()
    with pytest.raises(ValueError, match="another environment") as raised:
        of_trace(replace(scenario(), task_value=2.0), tmp_path)
    assert len(str(raised.value).splitlines()) == 1


def test_the_command_writes_what_the_page_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCENARIOS, "GracePeriod-v1", scenario())
    app, file = Typer(), tmp_path / "scores.json"
    app.command()(baseline_scores.main)
    file.write_text('{"Cloning-v0": 1}')
    words = (str(tmp_path), "--env", GRACE, "--traces", "2", "--slices", "50")
    said = CliRunner().invoke(app, [*words, "--json", str(file)])
    assert said.exit_code == 0, said.output
    content = json.loads(file.read_text())
    assert content["Cloning-v0"] == 1
    lines = scores(content).splitlines()
    assert lines[0].startswith(f"`{GRACE}`: traces 4000 to 4001, 100 slices drawn, ")
    rules = sum(rule.compatible(scenario()) for rule in REGISTRY.values())
    assert len(lines) == rules + 4
