"""Random rules: how they are drawn, how one is chosen, and that they are judged like any other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import random_rules, random_trees
from experiments.random_rules import Sums, chosen, score_on, sums_on, train_splits
from experiments.random_trees import costs_of, drawn
from failgym.baselines import DecisionTree, GiveUp, RetryCap
from failgym.baselines.decision_tree import WORDS
from failgym.baselines.stored import load_heuristic
from failgym.envs import SCENARIOS, Scenario, resolve
from failgym.evaluation import evaluate
from failgym.evaluation.runner import run_policy
from failgym.worlds.build import build_world

EXPERIMENTS = Path(random_rules.__file__).parent
MEASURED = json.loads((EXPERIMENTS / "measured" / "random_rules.json").read_text("utf-8"))
SMALL: dict[str, Any] = {"jobs": 300, "slice_tasks": 8}


def train(env: str, fields: dict[str, Any] = SMALL) -> Scenario:
    return replace(resolve(env, fields), split="train")


def drawn_in(scenario: Scenario, count: int, seed: int) -> list[DecisionTree]:
    return drawn(scenario, build_world(scenario), count, seed)


def test_rules_are_drawn_from_what_is_shown_and_may_be_done() -> None:
    scenario = train("Cloning-v1")
    rules = drawn_in(scenario, 40, seed=1)
    assert rules == drawn_in(scenario, 40, seed=1) != drawn_in(scenario, 40, seed=2)
    words = {kind: {word for rule in rules for word in rule.words(kind)} for kind in WORDS}
    assert words == {
        "window": {"nothing", "clone"},
        "failed": {"nothing", "give_up", "retry"},
        "output": {"nothing"},
        "dispatch": {"nothing"},
    }
    assert len({rule.first for rule in rules}) > 10


@pytest.mark.parametrize("env", SCENARIOS)
def test_there_is_something_to_draw_in_every_environment(env: str) -> None:
    kinds = {
        "Cloning-v1": {"window", "failed"},
        "Mitigation-v1": {"window", "failed"},
        "Lineage-v1": {"output"},
        "Workflow-v1": {"dispatch"},
    }
    offered = {kind for kind in WORDS if _offers(SCENARIOS[env], kind)}
    assert offered == kinds.get(env, {"window"})


def _offers(scenario: Scenario, kind: str) -> bool:
    return any(getattr(scenario, needed) for _, needed in WORDS[kind].values())


@pytest.mark.parametrize("lanes", [1, 5, 4_096])
def test_rules_cost_side_by_side_what_they_cost_alone(
    lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_trees, "LANES", lanes)
    scenario = train("Cloning-v1", SMALL | {"trace": "google-2011-failing"})
    world = build_world(scenario)
    rules = drawn_in(scenario, 6, seed=3)
    slices = np.arange(min(2, world.slices))
    found = costs_of(scenario, world, rules, slices)
    alone = [run_policy(world, scenario, rule, slices).costs.sum() for rule in rules]
    assert found.tolist() == pytest.approx(alone)
    assert len(set(alone)) > 1


def test_the_one_that_saves_most_on_train_is_chosen() -> None:
    """Of two, on the train splits of two traces."""
    never = DecisionTree()
    at_once = DecisionTree(window="kill kill kill kill")
    splits = train_splits(resolve("GracePeriod-v1", SMALL), 2)
    assert [(split.split, split.trace_seed) for split in splits] == [("train", 0), ("train", 1)]
    costs = [
        sum(
            evaluate(rule, "GracePeriod-v1", split="train", trace_seed=seed, **SMALL).cost
            for seed in range(2)
        )
        for rule in (never, at_once)
    ]
    better, worse = (never, at_once) if costs[0] < costs[1] else (at_once, never)
    for rules in ([never, at_once], [at_once, never]):
        assert chosen(splits, rules, slices=10_000, seed=0) == better != worse


def test_only_train_splits_are_looked_at_when_one_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[tuple[str, int]] = []

    def build(scenario: Scenario) -> Any:
        looked.append((scenario.split, scenario.trace_seed))
        return build_world(scenario)

    monkeypatch.setattr(random_rules, "build_world", build)
    splits = train_splits(resolve("Cloning-v1", SMALL), 2)
    chosen(splits, drawn_in(splits[0], 4, seed=0), slices=1, seed=0)
    assert set(looked) == {("train", 0), ("train", 1)}


def command(*words: str) -> Any:
    app = Typer()
    app.command()(random_rules.main)
    small = ["--set", "jobs=400", "--set", "slice_tasks=8", "--train", "1"]
    return CliRunner().invoke(app, [*small, *words])


@pytest.mark.parametrize("first", ["0", "2", "1"])
def test_no_trace_judges_that_a_rule_was_chosen_on(first: str, tmp_path: Path) -> None:
    words = ["--set", "trace_seed=2", "--first", first, "--traces", "3", "--rules", "2"]
    file = tmp_path / "rules.json"
    found = command(*words, "--json", str(file))
    assert found.exit_code == 2
    assert "may not be judged on a trace that it was chosen on" in " ".join(
        found.output.replace("│", " ").split()
    )
    assert not file.exists()


def test_the_command_judges_it_beside_the_rules_that_are_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.json"
    words = ["--rules", "8", "--traces", "1", "--json", str(file)]
    found = command(*words)
    assert found.exit_code == 0, found.output
    content = json.loads(file.read_text())
    one = content["failgym/Cloning-v1"]
    scores = {row["policy"]: row["score"][0] for row in one["scores"]}
    assert scores["replay"] == 0.0
    assert {"random rule", "algorithm_1", "reroll"} <= set(scores)
    assert one["traces"] == [2_000]
    assert one["search"]["train"] == [0]
    shipped = {name: score for name, score in scores.items() if name != "random rule"}
    assert one["best"] == max(shipped, key=lambda name: shipped[name])
    best = shipped[one["best"]]
    assert one["above"][0] == pytest.approx(scores["random rule"] - best)
    for row in one["scores"]:
        assert row["below"][0] == pytest.approx(best - row["score"][0])

    def again(*_: Any) -> DecisionTree:
        raise AssertionError("the rule is known")

    with monkeypatch.context() as patch:
        patch.setattr(random_rules, "chosen", again)
        assert command(*words, "--out", str(tmp_path)).exit_code == 0
    assert json.loads(file.read_text()) == content
    stored = load_heuristic(tmp_path / "Cloning-v1.json")
    assert stored == DecisionTree(**one["rule"])
    found = command(*words, "--env", "failgym/GracePeriod-v1")
    assert found.exit_code == 0, found.output
    both = json.loads(file.read_text())
    assert list(both) == ["failgym/Cloning-v1", "failgym/GracePeriod-v1"]
    assert both["failgym/Cloning-v1"] == one


def test_a_score_is_that_of_evaluate_and_a_difference_is_paired() -> None:
    failing: dict[str, Any] = SMALL | {"trace": "google-2011-failing"}
    scenarios = [resolve("Cloning-v1", failing | {"trace_seed": seed}) for seed in (1, 2)]
    found: list[Sums] = [
        sums_on(one, {"cap": RetryCap(), "give up": GiveUp()}) for one in scenarios
    ]
    expected = evaluate(RetryCap(), "Cloning-v1", traces=2, trace_seed=1, **failing)
    assert tuple(score_on(found, "cap")) == pytest.approx(
        (expected.score, expected.low, expected.high)
    )
    assert tuple(score_on(found, "cap", "cap")) == (0.0, 0.0, 0.0)
    above, back = score_on(found, "cap", "give up"), score_on(found, "give up", "cap")
    assert above.value == pytest.approx(-back.value)
    assert above.value != 0.0
    assert above.low < above.value < above.high


@pytest.mark.parametrize("env", MEASURED)
def test_rules_that_were_found_lie_in_files_for_the_command(env: str) -> None:
    file = EXPERIMENTS / "rules" / f"{env.removeprefix('failgym/')}.json"
    assert load_heuristic(file) == DecisionTree(**MEASURED[env]["rule"])


def test_simple_rules_ask_one_question() -> None:
    scenario = train("Cloning-v1")
    rules = drawn(scenario, build_world(scenario), 40, seed=1, questions=1)
    for rule in rules:
        assert (rule.below, rule.above) == ("window", "window")
        for kind in WORDS:
            no, also_no, yes, also_yes = rule.words(kind)
            assert (no, yes) == (also_no, also_yes)
    assert len({rule.first for rule in rules}) > 10
    assert {rule.words("failed")[0] for rule in rules} == {"nothing", "give_up", "retry"}


@pytest.mark.parametrize("questions", ["0", "2"])
def test_a_rule_asks_one_question_or_three(questions: str, tmp_path: Path) -> None:
    found = command("--questions", questions, "--json", str(tmp_path / "rules.json"))
    assert found.exit_code == 2
    assert "expected 1 or 3" in " ".join(found.output.replace("│", " ").split())
