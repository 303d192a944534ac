"""Points of each learner are kept, not measured twice, and drawn."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

pytest.importorskip("torch", reason="needs the agents extra")
pytest.importorskip("xgboost", reason="needs failgym[boosting]")
pytest.importorskip("optuna", reason="needs failgym[tuning]")
pytest.importorskip("matplotlib", reason="needs failgym[plots]")

from experiments import compute_curves
from experiments.compute_curves import forget
from experiments.result_tables.agents import curves
from failgym.agents.training.result import NoneAcceptable
from failgym.agents.training.training_settings import TrainingSettings
from failgym.baselines import REGISTRY, Replay
from failgym.envs import resolve
from failgym.evaluation import Anchors
from failgym.worlds import source
from failgym.worlds.build import build_world
from failgym.worlds.source import whole_trace

GRACE = "failgym/GracePeriod-v1"


def test_worlds_are_forgotten() -> None:
    scenario = resolve(GRACE).override(jobs=300)
    before = build_world(scenario)
    assert build_world(scenario) is before
    forget()
    assert build_world(scenario) is not before


def test_points_are_kept_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, generated = list[tuple[str, Any]](), list[int]()
    generate = source.generate

    def seen(*args: Any, seed: int, **more: Any) -> Any:
        generated.append(seed)
        return generate(*args, seed=seed, **more)

    monkeypatch.setattr(source, "generate", seen)
    forget()

    def asked(scenario: Any, shares: Any, trials: Any, seed: int) -> Any:
        for learner, rule in zip(
            compute_curves.LEARNERS, ("replay", "grace_period", "immediate_kill"), strict=True
        ):

            def make(rule: str = rule) -> Any:
                made.append((rule, shares))
                whole_trace(scenario.override(jobs=20))
                return REGISTRY[rule]()

            yield learner, f"{shares} {trials}", make

    monkeypatch.setattr(compute_curves, "_asked", asked)
    file, small = tmp_path / "curves.json", ["jobs=3000"]
    for _ in range(2):
        compute_curves.main(
            file, [GRACE], "0.5", "2", traces=2, settings=small, plots=tmp_path / "plots"
        )
    rules = ("replay", "grace_period", "immediate_kill")
    assert made == [(rule, shares) for rule in rules for shares in ([0.0], [0.5])]
    assert generated[:2] == [9_000, 9_001]
    own = [seed for seed in generated if seed < 9_000]
    assert len(own) == 4, "one for the first to warm up, and one for each point"
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


def test_who_takes_too_long_has_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Replay):
        def predict(self, *given: Any, **named: Any) -> Any:
            while time.process_time() < end[0]:
                pass
            return super().predict(*given, **named)

    end = [0.0]

    def asked(scenario: Any, shares: Any, trials: Any, seed: int) -> Any:
        def slow() -> Any:
            end[0] = time.process_time() + 60.0
            return Slow()

        yield compute_curves.ALGORITHM, f"{shares}", slow
        yield compute_curves.TUNED, f"{trials}", REGISTRY["immediate_kill"]

    monkeypatch.setattr(compute_curves, "_asked", asked)
    file, small, begun = tmp_path / "curves.json", ["jobs=3000"], time.process_time()
    options: Any = {"traces": 2, "settings": small, "patience": 5.0, "plots": tmp_path}
    compute_curves.main(file, [GRACE], "0.5", "2", **options)
    assert time.process_time() - begun < 50.0
    content = json.loads(file.read_text())
    scores = {one["learner"]: one["score"] for one in content["GracePeriod-v1"]["points"]}
    assert scores[compute_curves.ALGORITHM] is None
    assert scores[compute_curves.TUNED] > 0.0
    assert curves(content).count("not judged in 5 s") == 1
    assert (tmp_path / "GracePeriod-v1.png").stat().st_size > 5_000
    end[0], before = 0.0, file.read_text()
    compute_curves.main(file, [GRACE], "0.5", "2", **options)
    assert file.read_text() == before, "with the same patience it is not tried again"
    options["patience"] = 60.0
    quick = [(compute_curves.ALGORITHM, "[0.5]", Replay)]

    def now(*_: Any) -> Any:
        return quick

    monkeypatch.setattr(compute_curves, "_asked", now)
    compute_curves.main(file, [GRACE], "0.5", "2", **options)
    found = json.loads(file.read_text())["GracePeriod-v1"]["points"]
    assert [one["score"] for one in found if one["learner"] == compute_curves.ALGORITHM] == [0.0]
    assert [one["score"] for one in found if one["learner"] == compute_curves.TUNED] == [
        scores[compute_curves.TUNED]
    ], "what is not asked for now is kept"


def test_a_rule_that_is_not_judged_in_time_is_drawn_without(tmp_path: Path) -> None:
    known: dict[str, Any] = {"rule": "flaw", "as_published": [None, None, None], "points": []}
    known["points"] = [{"learner": "maskable_ppo", "given": "1", "seconds": 2.0, "score": 3.0}]
    known["points"][0] |= {"low": 1.0, "high": 4.0}
    compute_curves.draw("Workflow-v1", known, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5_000
    assert "| as published | 0 | not judged |" in curves({"Workflow-v1": known})


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


def test_where_no_agent_is_harmless_enough_replay_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def train(*args: Any) -> None:
        raise NoneAcceptable("false_kills: expected 1 a job at most")

    monkeypatch.setattr(compute_curves, "train", train)
    found = compute_curves._agent(compute_curves.resolve(GRACE), TrainingSettings("ppo"))
    assert found == REGISTRY["replay"]()


def run(file: Path, *words: str) -> Result:
    app = typer.Typer()
    app.command()(compute_curves.main)
    return CliRunner().invoke(app, ["--json", str(file), "--env", GRACE, *words])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shares", "0,1"], "--shares: expected numbers above 0 and commas, got '0,1'"),
        (["--shares", "nan"], "--shares: expected numbers above 0"),
        (["--trials", "2.5"], "--trials: expected whole numbers, got '2.5'"),
        (["--first", "100"], "--first 100: expected seeds that nothing is learned on: in GracePe"),
        (["--first", "0"], "--first 0: expected seeds that nothing is learned on: in GracePeriod"),
        (["--set", "trace_seed=3"], "--set trace_seed: expected none: --first says which seeds"),
        (["--seed", "1"], "--json: GracePeriod-v1 was measured with other seed: 0, and now 1: use"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_one_line_and_loses_no_point(
    words: list[str], said: str, tmp_path: Path
) -> None:
    file, scenario = tmp_path / "curves.json", compute_curves.resolve(GRACE)
    about = {
        "world": compute_curves.world_of(scenario.name),
        "judged": {"traces": 8, "first": 9_000, "set": []},
        "seed": 0,
        "settings": compute_curves._settings(scenario),
    }
    file.write_text(json.dumps({scenario.name: {**about, "points": [{"learner": "mine"}]}}))
    before = file.read_text()
    done = run(file, *words)
    assert (done.exit_code, len(done.output.strip().splitlines())) == (2, 1), done.output
    assert said in done.output
    assert file.read_text() == before
