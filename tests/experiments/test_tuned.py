"""Every heuristic is tuned, kept in a file that is a policy, and judged on the test split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments.tuned import PAPERS, compared, main
from failgym import evaluate
from failgym.baselines import REGISTRY
from failgym.baselines.search import search_space
from failgym.baselines.stored import load_heuristic, parameters
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation.progress import silent
from tests.envs.worlds import small

pytest.importorskip("optuna", reason="needs failgym[tuning]")


def test_papers_names_heuristics() -> None:
    assert set(REGISTRY) > PAPERS


def test_heuristics_are_tuned_on_one_split_and_judged_on_the_other(tmp_path: Path) -> None:
    scenario = resolve("failgym/GracePeriod-v1").override(**small("failgym/GracePeriod-v1"))
    rows, best = compared(scenario, 3, tmp_path, silent)
    names = {k.name for k in REGISTRY.values() if k.compatible(scenario)} - {"replay", "random"}
    assert {row.policy for row in rows} == names
    for row in rows:
        kind = REGISTRY[row.policy]
        assert row.tuned == bool(search_space(kind))
        assert row.adopted or row.test_tuned == row.test
        assert not row.adopted or row.validation.low > 0.0
        assert row.test.value == pytest.approx(evaluate(kind(), scenario).score)
        if row.tuned:
            found = load_heuristic(tmp_path / scenario.name / f"{row.policy}.json")
            assert parameters(found) == row.parameters
            assert row.test_tuned.value == pytest.approx(evaluate(found, scenario).score)
    by_name = {row.policy: row for row in rows}
    assert best.tuned == max(rows, key=lambda row: row.train_tuned.low).policy
    published = max(rows, key=lambda row: row.train.low)
    gain = by_name[best.tuned].test_tuned.value - published.test.value
    assert best.gain.value == pytest.approx(gain)
    assert best.papers in PAPERS
    assert best.newer not in PAPERS


def test_the_command_keeps_what_it_knows_of_other_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = resolve("failgym/GracePeriod-v1").override(**small("failgym/GracePeriod-v1"))
    monkeypatch.setitem(SCENARIOS, scenario.name, scenario)
    file, app = tmp_path / "tuned.json", Typer()
    file.write_text('{"Cloning-v1": 1}')
    app.command()(main)
    words = ("--env", scenario.name, "--trials", "1", "--slices", "9", "--out", str(tmp_path))
    said = CliRunner().invoke(app, [*words, "--json", str(file)])
    assert said.exit_code == 0, said.output
    content = json.loads(file.read_text())
    assert content["Cloning-v1"] == 1
    assert content[scenario.name]["slices"] == 9
    kept = json.loads((tmp_path / scenario.name / "grace_period.json").read_text())
    assert kept["about"]["slices"] == 9
