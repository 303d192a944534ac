"""Rules that were chosen on a few traces, judged on these, on fresh ones and elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import generalisation, generalisation_learners
from experiments.generalisation import OWN, buildable, gap, played
from experiments.generalisation_learners import RandomRules
from experiments.random_rules import score_on, train_splits
from experiments.random_trees import drawn
from experiments.result_tables.generalisation import generalisation as table_of
from failgym.agents import load_agent
from failgym.baselines import REGISTRY, DecisionTree
from failgym.baselines.stored import parameters
from failgym.envs import Scenario, resolve
from failgym.evaluation import evaluate
from failgym.evaluation.scoring import Score
from failgym.worlds.build import build_world

ENV = "failgym/GracePeriod-v1"
JOBS = 900
WORDS = [
    *("--env", ENV, "--set", f"jobs={JOBS}", "--traces", "1,2", "--rules", "15"),
    *("--slices", "15", "--fresh", "2"),
]
APP = Typer()
APP.command()(generalisation.main)


def run(file: Path, *more: str) -> Any:
    return CliRunner().invoke(APP, [*WORDS, "--json", str(file), *more])


def of_rules(file: Path) -> Any:
    [one] = json.loads(file.read_text("utf-8"))
    assert (one["env"], one["learner"]) == (ENV, "rules")
    return one


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder: Path = tmp_path_factory.mktemp("generalisation")
    more = ("--elsewhere", "opencloud", "--plot", str(folder / "curve.png"))
    done = run(folder / "found.json", *more)
    assert done.exit_code == 0, done.output
    return folder, of_rules(folder / "found.json")


def test_scores_are_those_of_the_rules_on_seen_and_on_fresh_traces(found: Any) -> None:
    _, one = found
    scenario = resolve(ENV, {"jobs": JOBS})
    assert [row["traces"] for row in one["rows"]] == [1, 2]
    rule = DecisionTree(**one["learned"]["of 1"])
    seen = evaluate(rule, scenario, split="train").score
    assert one["rows"][0]["seen"][0] == pytest.approx(seen, nan_ok=True)
    fresh = played(scenario, [20_000, 20_001], "test", {"rule": rule})
    assert one["rows"][0]["fresh"] == pytest.approx(list(score_on(fresh, "rule")), nan_ok=True)
    assert one["best"] in REGISTRY


def test_elsewhere_a_rule_of_its_past_stands_beside(found: Any) -> None:
    _, one = found
    [place] = one["elsewhere"]
    assert place["trace"] == "opencloud"
    assert set(place["scores"]) == {"of 1", "of 2", OWN}
    assert place["seeds"] == list(range(5))
    assert place["refused"] == {}
    above = place["above_own"]["of 1"][0]
    assert above == pytest.approx(place["scores"]["of 1"][0] - place["scores"][OWN][0])


def test_traces_that_make_no_world_are_passed_over_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(scenario: Scenario) -> None:
        if scenario.trace_seed in refusing:
            raise ValueError(f"trace {scenario.trace_seed} is too long")

    monkeypatch.setattr(generalisation, "build_world", build)
    scenario = resolve(ENV, {"jobs": JOBS})
    refusing = {1, 3}
    traces, refused = buildable(scenario, 2)
    assert [trace.trace_seed for trace in traces] == [4, 5]
    assert refused == {1: "trace 1 is too long", 3: "trace 3 is too long"}
    refusing = {0, 1, 2}
    with pytest.raises(ValueError, match="trace 2 is too long"):
        buildable(scenario, 2)


def test_a_curve_is_drawn(found: Any) -> None:
    folder, _ = found
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_rules_are_chosen_once(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, one = found
    monkeypatch.setattr(generalisation_learners, "chosen", None)
    done = run(folder / "found.json")
    assert done.exit_code == 0, done.output
    assert of_rules(folder / "found.json")["rows"] == one["rows"]


def test_what_was_judged_is_not_judged_again(
    found: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, one = found
    file = tmp_path / "found.json"
    file.write_text((folder / "found.json").read_text("utf-8"), "utf-8")
    places: list[str] = []

    def stop(there: Scenario, *_: object) -> None:
        places.append(str(there.trace))
        raise ValueError("it was stopped")

    monkeypatch.setattr(generalisation, "played", None)
    monkeypatch.setattr(generalisation, "_elsewhere", stop)
    assert run(file, "--elsewhere", "opencloud", "--elsewhere", "google-2011").exit_code == 2
    assert places == ["google-2011"]
    assert of_rules(file) == one
    assert run(file, "--elsewhere", "google-2011").exit_code == 2
    assert places == ["google-2011", "google-2011"]


def test_all_counts_choose_among_the_same_rules_on_the_first_traces() -> None:
    scenario = resolve(ENV, {"jobs": JOBS})
    later = replace(scenario, trace_seed=scenario.trace_seed + 1)
    by = RandomRules(30, 20)
    for label, place, traces in (("a", scenario, 1), ("b", scenario, 2), ("c", later, 1)):
        by.policy(label, place, traces)
    split = train_splits(scenario, 1)[0]
    candidates = [parameters(rule) for rule in drawn(split, build_world(split), 30, 0)]
    assert by.found["a"] in candidates
    assert by.found["b"] in candidates
    assert by.found["c"] != by.found["a"]


def test_agents_of_the_counterfactual_learner_are_judged_alike(tmp_path: Path) -> None:
    file, runs = tmp_path / "found.json", tmp_path / "runs"
    words = ("--learner", "counterfactual", "--runs", str(runs))
    done = run(file, *words)
    assert done.exit_code == 0, done.output
    [one] = json.loads(file.read_text("utf-8"))
    assert one["learner"] == "counterfactual"
    agent = load_agent(runs / "GracePeriod-v1" / "of-2" / "best.safetensors")
    assert agent.manifest.settings["traces"] == 2
    scenario = resolve(ENV, {"jobs": JOBS})
    fresh = played(scenario, [20_000, 20_001], "test", {"agent": agent})
    assert one["rows"][1]["fresh"] == pytest.approx(list(score_on(fresh, "agent")), nan_ok=True)
    again = run(file, *words)
    assert again.exit_code == 0, again.output
    assert json.loads(file.read_text("utf-8")) == [one]
    other = {**one, "rows": [], "learned": {**one["learned"], "of 1": "another agent"}}
    file.write_text(json.dumps([other]), "utf-8")
    assert run(file, *words).exit_code == 0
    assert json.loads(file.read_text("utf-8")) == [one], "judged again"
    assert "the counterfactual learner" in table_of([one])


def test_the_gap_is_as_wide_as_both_together() -> None:
    assert gap(Score(10.0, 7.0, 13.0), Score(4.0, 0.0, 8.0)) == Score(6.0, 1.0, 11.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--traces", "3,1"], "expected rising whole numbers"),
        (["--traces", "one"], "expected rising whole numbers"),
        (["--first", "1"], "a rule may not be judged on a trace that it has seen"),
        (["--learner", "counterfactual"], "--runs: expected with --learner counterfactual"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    done = run(tmp_path / "found.json", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", " ").split())
    assert not (tmp_path / "found.json").exists()
