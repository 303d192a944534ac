"""The verdict of folds by time: each is played by an agent that knows nothing but its past."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from failgym.agents import TrainingSettings, load_agent, train
from failgym.agents.training.rolling_origin import fold_of
from failgym.agents.training.verdict import RESAMPLES
from failgym.cli import run
from failgym.envs import resolve
from failgym.evaluation import Anchors, score
from failgym.traces.synthetic import PROFILES, generate
from failgym.vocabulary import HOUR
from failgym.worlds.build import split_of

HYPER: dict[str, Any] = {"trees": 8, "depth": 2, "caution": [1.0], "traces": 1, "decisions": 0.5}
SETTINGS = TrainingSettings("counterfactual", hyper=HYPER, rolling=True)


@pytest.fixture(scope="module")
def scenario() -> Any:
    trace = generate(PROFILES["google-2011-applications"], jobs=3_000, seed=1)
    return resolve("failgym/GracePeriod-v1").override(trace=trace)


@pytest.fixture(scope="module")
def whole(scenario: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rolling") / "run"
    train(scenario, folder, SETTINGS, command="typed")
    return folder


def test_folds_are_of_the_train_split_and_come_after_what_is_learned_from(scenario: Any) -> None:
    known = split_of(scenario, "train")
    submitted = known.column("jobs", "submit")
    later: list[int] = []
    for number in range(1, 6):
        fold = fold_of(scenario, number)
        past, place = split_of(fold, "train"), split_of(fold, "test")
        begin = place.column("jobs", "submit").min()
        assert past.column("jobs", "submit").max() <= begin
        assert begin >= np.median(submitted) * 0.99
        later.append(place.rows("jobs"))
    assert sum(later) == pytest.approx(known.rows("jobs") / 2, rel=0.02)


def test_the_verdict_is_that_of_agents_of_the_past_of_each_fold(scenario: Any, whole: Path) -> None:
    verdict = json.loads((whole / "result.json").read_text())["verdict"]
    assert (verdict["folds"], verdict["learned"], verdict["candidates"]) == (5, 5, 1)
    saved: list[Any] = []
    for number in range(1, 6):
        fold = fold_of(scenario, number)
        place = Anchors.of(fold.override(slice_tasks=1), split="test")
        agent = load_agent(whole / f"fold-{number}" / "best.safetensors")
        assert agent.manifest.trace_hash == split_of(scenario, "train").content_hash
        price = place.world.work_price * HOUR
        costs = place.evidence.costs(place.run(agent))
        of = place.evidence.units
        saved.append(
            [
                of.sums(values / price)
                for values in (place.evidence.replay, costs, place.evidence.possible)
            ]
        )
    zero, costs, possible = (np.concatenate(parts) for parts in zip(*saved, strict=True))
    found = score(zero, costs, zero - possible, 0, resamples=RESAMPLES)
    assert verdict["score"] == pytest.approx(found[0])
    assert verdict["units"] == len(zero)
    text = json.loads((whole / "result.json").read_text())
    assert text["command"] == "typed"


def test_a_run_that_was_stopped_in_a_fold_ends_the_same(
    scenario: Any, whole: Path, tmp_path: Path
) -> None:
    stopped = tmp_path / "run"
    plain = replace(SETTINGS, rolling=False)
    first = train(scenario, stopped, plain, command="typed")
    assert first.verdict is not None
    assert first.verdict.folds is None
    trace_fold = fold_of(scenario, 1)
    train(trace_fold, stopped / "fold-1", plain, command="typed")
    (stopped / "fold-1" / "result.json").unlink()
    result = train(scenario, stopped, SETTINGS, command="typed", resume=True)
    wanted = json.loads((whole / "result.json").read_text())
    assert result.to_json()["verdict"] == wanted["verdict"]
    for name in ("best.safetensors", "fold-1/best.safetensors", "fold-5/best.safetensors"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()
    damaged = stopped / "fold-3" / "round-1.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:100])
    for left in ("fold-3/result.json", "result.json"):
        (stopped / left).unlink()
    with pytest.raises(ValueError, match=r"fold 3: .*round-1\.safetensors: "):
        train(scenario, stopped, SETTINGS, command="typed", resume=True)


def test_a_past_that_teaches_nothing_leaves_its_fold_to_replay(
    scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import failgym.agents.counterfactual.train as trees

    learn = trees.visited

    def none_in_the_second(one: Any, *arguments: Any, **options: Any) -> Any:
        if one.fold == 2:
            raise ValueError("decisions: none")
        return learn(one, *arguments, **options)

    monkeypatch.setattr(trees, "visited", none_in_the_second)
    result = train(scenario, tmp_path / "run", SETTINGS)
    assert result.verdict is not None
    assert (result.verdict.folds, result.verdict.learned) == (5, 4)
    assert "of 5 folds by time, each played by an agent of its past (4 of" in result.verdict.text
    assert not (tmp_path / "run" / "fold-2").exists()


def test_the_command_says_the_verdict_of_the_folds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--env", "failgym/GracePeriod-v1", "--algo", "counterfactual", "--rolling"]
    for name, value in {**HYPER, "caution": "[1.0]", "env.jobs": 1_500}.items():
        words += ["--hyper", f"{name}={value}"]
    assert run([*words, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "of 5 folds by time, each played by an agent of its past" in " ".join(shown.split())
    assert run([*words, "--split", "train", "--out", str(tmp_path / "other")]) == 2
    assert "rolling: expected split 'fit'" in capsys.readouterr().err
