"""Random rules: what they answer, how one is chosen, and that they are judged like any other."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import random_rules
from experiments.random_rules import Question, RandomRule, chosen, difference, drawn
from failgym.baselines import GiveUp, RetryCap
from failgym.envs import FIELDS, resolve
from failgym.evaluation import Anchors, evaluate
from failgym.vocabulary import Action

INDEX = {field.name: at for at, field in enumerate(FIELDS)}
RULE = RandomRule(
    Question("risk", 0.5),
    Question("attempt", 0.0),
    Question("age", 3.0),
    {"window": (0, 1, 0, 1), "failed": (3, 4, 3, 4)},
)
SMALL: dict[str, Any] = {"jobs": 300, "slice_tasks": 8}


def seen(**values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    observation = np.zeros(len(FIELDS), dtype=np.float32)
    for name, value in values.items():
        observation[INDEX[name]] = value
    return observation


@pytest.mark.parametrize(
    ("values", "action"),
    [
        ({"window": 1, "risk": 0.2}, Action.CONTINUE),
        ({"window": 1, "risk": 0.2, "attempt": 1}, Action.CLONE),
        ({"window": 1, "risk": 0.9, "attempt": 1}, Action.CONTINUE),
        ({"window": 1, "risk": 0.9, "age": 4}, Action.CLONE),
        ({"failed": 1, "risk": 0.2}, Action.KILL),
        ({"failed": 1, "risk": 0.2, "attempt": 2}, Action.RETRY),
        ({"failed": 1, "risk": 0.2, "attempt": 2, "actions_taken": 1}, Action.CONTINUE),
        ({"output": 1, "risk": 0.9}, Action.CONTINUE),
    ],
)
def test_a_rule_answers_by_its_leaf(values: dict[str, float], action: Action) -> None:
    one = seen(**values)
    assert RULE.predict(one, action_masks=np.ones(5, dtype=np.int8))[0] == action
    assert RULE.predict(one, action_masks=np.array([1, 0, 0, 0, 0]))[0] == Action.CONTINUE
    batch, _ = RULE.predict(np.stack([one, one]), action_masks=np.ones((2, 5)))
    assert batch.tolist() == [action, action]


def test_rules_are_drawn_from_what_is_shown_and_may_be_done() -> None:
    scenario = resolve("Cloning-v1", SMALL)
    rules = drawn(scenario, 40, seed=1)
    assert rules == drawn(scenario, 40, seed=1) != drawn(scenario, 40, seed=2)
    for rule in rules:
        assert set(rule.actions) == {"window", "failed"}
        assert set(rule.actions["window"]) <= {Action.CONTINUE, Action.CLONE}
        assert set(rule.actions["failed"]) <= {Action.CONTINUE, Action.KILL, Action.RETRY}
        assert RandomRule.of_json(json.loads(json.dumps(asdict(rule)))) == rule


def test_the_one_that_saves_most_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_rules, "FEWEST", 10_000)  # all slices, not the first few of them
    scenario = resolve("GracePeriod-v1", SMALL)
    any_ = Question("age", 1e9)
    never = RandomRule(any_, any_, any_, {"window": (0, 0, 0, 0)})
    at_once = RandomRule(any_, any_, any_, {"window": (3, 3, 3, 3)})
    costs = [
        evaluate(rule, "GracePeriod-v1", split="train", **SMALL).cost for rule in (never, at_once)
    ]
    better = never if costs[0] < costs[1] else at_once
    assert chosen(scenario, [never, at_once], seed=0) == better


def test_the_command_judges_it_beside_the_rules_that_are_shipped(tmp_path: Path) -> None:
    app = Typer()
    app.command()(random_rules.main)
    file = tmp_path / "rules.json"
    words = ["--set", "jobs=300", "--set", "slice_tasks=8", "--rules", "8", "--traces", "1"]
    found = CliRunner().invoke(app, [*words, "--json", str(file)])
    assert found.exit_code == 0, found.output
    content = json.loads(file.read_text())
    scores = {one["policy"]: one["score"] for one in content["scores"]}
    assert scores["replay"] == 0.0
    assert {"random rule", "algorithm_1", "reroll"} <= set(scores)
    rule = RandomRule.of_json(content["rule"])
    assert rule.actions
    shipped = {name: score for name, score in scores.items() if name != "random rule"}
    above = content["above"]
    assert above["policy"] == max(shipped, key=lambda name: shipped[name])
    assert above["value"] == pytest.approx(scores["random rule"] - max(shipped.values()))
    again = tmp_path / "again.json"
    found = CliRunner().invoke(app, [*words, "--chosen", str(file), "--json", str(again)])
    assert found.exit_code == 0, found.output
    assert json.loads(again.read_text()) == content


def test_a_difference_is_paired() -> None:
    failing = SMALL | {"trace": "google-2011-failing"}
    places = [Anchors.of(resolve("Cloning-v1", failing | {"trace_seed": seed})) for seed in (1, 2)]
    one, other = ([place.run(each()) for place in places] for each in (RetryCap, GiveUp))
    assert tuple(difference(places, one, one)) == (0.0, 0.0, 0.0)
    found, back = difference(places, one, other), difference(places, other, one)
    assert found.value == pytest.approx(-back.value)
    assert found.value != 0.0
    assert found.low < found.value < found.high
