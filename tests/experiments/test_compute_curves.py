"""Points of each learner are kept, not measured twice, and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("xgboost", reason="needs failgym[boosting]")
pytest.importorskip("optuna", reason="needs failgym[tuning]")
pytest.importorskip("matplotlib", reason="needs failgym[plots]")

from experiments import compute_curves
from failgym.baselines import REGISTRY
from failgym.evaluation import Anchors

GRACE = "failgym/GracePeriod-v1"


def test_points_are_kept_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()

    def asked(scenario: Any, shares: Any, trials: Any, seed: int) -> Any:
        for learner, rule in zip(
            compute_curves.LEARNERS, ("replay", "grace_period", "immediate_kill"), strict=True
        ):

            def make(rule: str = rule) -> Any:
                made.append(rule)
                return REGISTRY[rule]()

            yield learner, f"{shares} {trials}", make

    monkeypatch.setattr(compute_curves, "_asked", asked)
    file, small = tmp_path / "curves.json", ["jobs=3000"]
    for _ in range(2):
        compute_curves.main(
            file, [GRACE], "0.5", "2", traces=2, settings=small, plots=tmp_path / "plots"
        )
    assert made == ["replay", "grace_period", "immediate_kill"]
    found = json.loads(file.read_text())["GracePeriod-v1"]
    scores = {one["learner"]: one["score"] for one in found["points"]}
    unseen = compute_curves.resolve(GRACE).override(jobs=3_000)
    traces = [Anchors.of(unseen.override(trace_seed=9_000 + i), split="test") for i in range(2)]
    possible = sum(float((one.replay.costs - one.bound).sum()) for one in traces)
    policy = REGISTRY["grace_period"]()
    saved = sum(float((one.replay.costs - one.run(policy).costs).sum()) for one in traces)
    assert scores[compute_curves.ALGORITHM] == 0.0
    assert scores[compute_curves.LEARNER.name] == pytest.approx(100.0 * saved / possible)
    assert found["as_published"][0] == pytest.approx(scores[compute_curves.LEARNER.name])
    assert (tmp_path / "plots" / "GracePeriod-v1.png").stat().st_size > 5_000


def test_what_is_given_is_a_share_of_what_settings_ask_for() -> None:
    scenario = compute_curves.resolve(GRACE)
    asked = compute_curves._asked(scenario, [0.25, 1.0], [3], 0)
    given = [(learner, said) for learner, said, _ in asked]
    assert given == [
        ("maskable_ppo", "625,000 decisions"),
        ("counterfactual", "10 traces"),
        ("maskable_ppo", "2,500,000 decisions"),
        ("counterfactual", "40 traces"),
        ("tuned rule", "3 trials"),
    ]
