"""Agents beside rules: the right figures of the right policies, on the same slices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the agents extra")

from experiments import agents_and_rules
from experiments.agents_and_rules import RANDOM_RULES, UNSEEN, compared, places, rules
from experiments.random_rules import RANDOM
from failgym.baselines import REGISTRY, Algorithm1, RetryCap, StopOrCopy
from failgym.baselines.stored import load_heuristic, save_heuristic
from failgym.envs import SCENARIOS, resolve
from failgym.evaluation.progress import silent
from tests.envs.worlds import small

CLONING = "failgym/Cloning-v1"


def test_all_rules_of_an_environment_are_tried_and_those_that_were_tuned_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_and_rules, "TUNED", tmp_path)
    (tmp_path / "Mitigation-v1").mkdir()
    for rule in (StopOrCopy(weight=2.0), RetryCap()):  # the second as published
        save_heuristic(rule, tmp_path / "Mitigation-v1" / f"{rule.name}.json")
    found = rules(SCENARIOS["Mitigation-v1"])
    assert "replay" not in found
    assert found["stop_or_copy tuned"] == StopOrCopy(weight=2.0) != found["stop_or_copy"]
    assert "retry_cap tuned" not in found
    wanted = {n for n, k in REGISTRY.items() if k.compatible(SCENARIOS["Mitigation-v1"])}
    assert found.pop(RANDOM) == load_heuristic(RANDOM_RULES / "Mitigation-v1.json")
    published = {name.removesuffix(" tuned") for name in found}
    assert published == wanted - {"replay", "random"}


def test_agents_are_held_against_the_best_rule() -> None:
    scenario = resolve(CLONING, small(CLONING))
    place = places(scenario, 2)[1]
    assert [a.scenario.trace_seed for a in place.anchors] == [UNSEEN, UNSEEN + 1]
    assert {a.scenario.split for a in place.anchors} == {"test"}
    agents: dict[str, Any] = {str(cap): RetryCap(cap) for cap in (1, 2, 3, 4, 20)}
    against: dict[str, Any] = {"algorithm_1": Algorithm1(), "nothing": RetryCap(100)}
    row = compared(place, agents, against, silent)
    measured = {**agents, **against}
    possible = sum((a.replay.costs - a.bound).sum() for a in place.anchors)
    scores = {
        name: 100 * sum((a.replay.costs - a.run(one).costs).sum() for a in place.anchors) / possible
        for name, one in measured.items()
    }
    assert row.runs == pytest.approx({name: scores[name] for name in agents})
    assert row.rules == pytest.approx({name: scores[name] for name in against})
    assert row.rule == max(against, key=lambda name: scores[name])
    middle = np.sort([scores[name] for name in agents])
    cut = (0.25 * middle[1] + 0.5 * middle[1] + middle[2] + 0.75 * middle[3]) / 2.5
    assert row.agents.value == pytest.approx(cut)
    assert row.above.value == pytest.approx(cut - row.rule_score.value)
    assert row.above.low <= row.above.value <= row.above.high
    assert row.slices == sum(len(a.replay.slices) for a in place.anchors)


def test_what_is_kept_was_held_against_every_rule_and_those_that_were_tuned() -> None:
    kept = Path(agents_and_rules.__file__).parent / "measured" / "agents.json"
    for row in json.loads(kept.read_text("utf-8")):
        assert row["rules"].keys() == rules(SCENARIOS[row["env"]]).keys(), row["env"]
