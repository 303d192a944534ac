"""What is made of the past of a fold."""

from __future__ import annotations

from pathlib import Path

import pytest

from failgym import evaluate
from failgym.assessment import makers
from failgym.assessment.makers import Learned, Tuned
from failgym.assessment.measures import MEASURES, together
from failgym.baselines import GracePeriod
from failgym.envs import Scenario, resolve
from failgym.traces import generate

pytest.importorskip("optuna")

TRIALS = 8


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("record")
    generate("google-2011", jobs=900).save(folder)
    return folder


def test_what_was_made_is_made_again_if_its_file_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(makers, "TRIALS", TRIALS)
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=2_000)
    expected = Tuned(GracePeriod()).make(scenario, tmp_path)
    made = tmp_path / "made.json"
    whole = made.read_bytes()
    made.write_bytes(whole[:20])
    assert Tuned(GracePeriod()).make(scenario, tmp_path) == expected
    assert made.read_bytes() == whole


def test_what_was_made_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(makers, "TRIALS", 2)
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=2_000)
    expected = Tuned(GracePeriod()).make(scenario, tmp_path)

    def drawn(scenario: Scenario, version: str) -> str:
        raise AssertionError(f"{scenario.name}: its past is not looked at")

    monkeypatch.setattr(makers, "_grounds", drawn)
    assert Tuned(GracePeriod()).make(scenario, tmp_path) == expected


@pytest.mark.parametrize("forecast", ["none", "trained"])
@pytest.mark.parametrize(
    "names",
    [*((name,) for name in MEASURES), ("kill", "retry"), ("clone", "checkpoint"), tuple(MEASURES)],
    ids=" and ".join,
)
def test_an_agent_can_learn_under_all_measures(
    record: Path, names: tuple[str, ...], forecast: str
) -> None:
    pytest.importorskip("xgboost", reason="no xgboost")
    pytest.importorskip("stable_baselines3", reason="no stable-baselines3")
    from failgym.agents import TrainingSettings
    from failgym.agents.counterfactual.train import document_of

    some = [MEASURES[name] for name in names]
    measure = together(some) if len(some) > 1 else some[0]
    scenario = measure.scenario(str(record), forecast=forecast, fold=3)
    assert document_of(scenario, TrainingSettings("counterfactual"), ())


def test_an_agent_learns_to_retry_where_nothing_can_be_cloned(record: Path, tmp_path: Path) -> None:
    pytest.importorskip("xgboost", reason="no xgboost")
    pytest.importorskip("stable_baselines3", reason="no stable-baselines3")
    scenario = MEASURES["retry"].scenario(str(record), forecast="none", fold=4)
    agent = Learned().make(scenario, tmp_path / "run")
    assert evaluate(agent, scenario).score >= 0.0
