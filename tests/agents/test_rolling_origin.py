"""The verdict of folds by time: each is played by an agent that knows nothing but its past."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("xgboost")
from failgym.agents import TrainingSettings, load_agent, train
from failgym.agents.training.result import NoneAcceptable
from failgym.agents.training.rolling_origin import fold_of
from failgym.cli import run
from failgym.envs import resolve
from failgym.evaluation import Anchors, score
from failgym.evaluation.room import NothingToGain
from failgym.evaluation.verdict import RESAMPLES, Verdict
from failgym.traces.synthetic import PROFILES, generate
from failgym.vocabulary import HOUR
from failgym.worlds.build import split_of
from failgym.worlds.source import whole_trace
from failgym.worlds.split import split_trace
from tests.envs.worlds import small

HYPER: dict[str, Any] = {"trees": 8, "depth": 2, "caution": [1.0], "traces": 1, "decisions": 0.5}
SETTINGS = TrainingSettings("counterfactual", hyper=HYPER, rolling=True)
DRAWN = 100
"""Slices, of more in each past."""


@pytest.fixture(scope="module")
def scenario() -> Any:
    trace = generate(PROFILES["google-2011-applications"], jobs=1_000, seed=1)
    return resolve("failgym/GracePeriod-v1").override(trace=trace)


@pytest.fixture(scope="module")
def short() -> Any:
    """Without forecasts, which would be learned anew for each fold."""
    trace = generate(PROFILES["google-2011-applications"], jobs=800, seed=1)
    return resolve("failgym/GracePeriod-v1").override(trace=trace, forecast="none")


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


def test_an_agent_that_never_acts_is_not_adopted_for_what_those_of_the_folds_do(
    short: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt = Verdict("adopt", True, 9.0, 1.0, 20.0, 1, "job", 9, 9, 8.0, None, folds=5)
    module = import_module("failgym.agents.training.train")  # the package has such a function

    def adopted(*_: Any) -> Verdict:
        return adopt

    monkeypatch.setattr(module, "rolled", adopted)
    idle = replace(SETTINGS, hyper={**HYPER, "caution": [100.0], "advice": []})
    found = train(short, tmp_path / "run", idle)
    assert found.verdict == adopt.with_kept(replace(adopt, acts=False))
    assert json.loads((tmp_path / "run" / "result.json").read_text())["verdict"]["kept"]


def test_a_run_that_was_stopped_in_a_fold_ends_the_same(
    scenario: Any, whole: Path, tmp_path: Path
) -> None:
    stopped = tmp_path / "run"
    shutil.copytree(whole, stopped)
    for left in ("result.json", "best.safetensors", "fold-1/result.json", "whole/result.json"):
        (stopped / left).unlink()
    shutil.rmtree(stopped / "fold-4")
    with pytest.raises(ValueError, match="folds=5, and now unset is asked"):
        train(scenario, stopped, replace(SETTINGS, rolling=False), resume=True)
    result = train(scenario, stopped, SETTINGS, command="other words", resume=True)
    wanted = json.loads((whole / "result.json").read_text())
    assert result.to_json()["verdict"] == wanted["verdict"]
    for name in ("best.safetensors", "whole/best.safetensors", "fold-4/best.safetensors"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()
    damaged = stopped / "fold-3" / "round-1.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:100])
    for left in ("fold-3/result.json", "result.json"):
        (stopped / left).unlink()
    with pytest.raises(ValueError, match=r"fold 3: .*round-1\.safetensors: "):
        train(scenario, stopped, SETTINGS, command="typed", resume=True)


def test_where_all_agents_kill_too_often_replay_plays(short: Any, tmp_path: Path) -> None:
    free = replace(SETTINGS, rolling=False)
    most = train(short, tmp_path / "free", free).best.false_kills_per_job
    assert most is not None
    hyper = {**HYPER, "false_kills": most}
    result = train(short, tmp_path / "run", replace(SETTINGS, hyper=hyper))
    assert result.verdict is not None
    learned = result.verdict.learned
    assert learned is not None
    kept = [
        load["best"]["false_kills_per_job"]
        for number in range(1, 6)
        if (file := tmp_path / "run" / f"fold-{number}" / "result.json").exists()
        and (load := json.loads(file.read_text()))
    ]
    assert len(kept) == learned < 5
    assert max(kept, default=0.0) <= most
    assert f"played by an agent of its past ({learned} of them learned" in result.verdict.text


def test_what_fails_after_something_was_learned_can_be_gone_on_with(
    short: Any, tmp_path: Path
) -> None:
    """No agent is harmless enough: the same is said when the run is gone on with."""
    hyper = {**HYPER, "false_kills": 0.0, "caution": [0.0]}
    for resume in (False, True):
        with pytest.raises(NoneAcceptable, match="false_kills"):
            train(short, tmp_path / "run", replace(SETTINGS, hyper=hyper), resume=resume)
    assert (tmp_path / "run" / "whole").is_dir()


def test_where_the_slices_of_a_past_hold_nothing_to_gain_replay_plays(
    monkeypatch: pytest.MonkeyPatch, short: Any, tmp_path: Path
) -> None:
    """All of the past holds something, and what is drawn of it does not."""
    real = Anchors.check_room

    def of_some(self: Anchors) -> None:
        if self.scenario.fold and len(self.replay.slices) <= DRAWN:
            raise NothingToGain("nothing to gain here")
        real(self)

    monkeypatch.setattr(Anchors, "check_room", of_some)
    result = train(short, tmp_path / "run", replace(SETTINGS, episodes=DRAWN))
    assert result.verdict is not None
    assert result.verdict.learned == 0


def test_what_knows_the_folds_is_refused_before_anything_is_trained(
    scenario: Any, tmp_path: Path
) -> None:
    out, few = tmp_path / "run", generate(PROFILES["google-2011-applications"], jobs=8, seed=1)
    refused: list[tuple[Any, str]] = [
        ("failgym/GracePeriod-v1", "rolling: expected a record: of a generated trace"),
        (scenario.override(twin=1), "rolling: expected a record"),
        (scenario.override(forecast=str(tmp_path / "predictor")), "rolling: expected the name of"),
        (scenario.override(trace=few), r"rolling: fold \d of the train split: "),
    ]
    for given, message in refused:
        with pytest.raises(ValueError, match=message):
            train(given, out, SETTINGS)
        assert not out.exists()


@pytest.mark.parametrize("env", ["failgym/Workflow-v1", "failgym/Mitigation-v1"])
def test_no_fold_holds_a_job_of_the_test_split(env: str) -> None:
    """Also where nothing was ever run, and a split is the whole with fewer jobs of its own."""
    given = resolve(env).override(**small(env))
    trace = whole_trace(given)
    scenario = given.override(trace=trace)
    limit = split_trace(trace, scenario, "train").recorded.column("jobs", "submit").max()
    for number in range(1, 6):
        fold = fold_of(scenario, number)
        for split in ("train", "validation", "test"):
            part = split_of(fold, split)
            assert part.column("jobs", "submit").max() <= limit


def test_the_command_says_the_verdict_of_the_folds(
    short: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short.trace.save(tmp_path / "trace")
    words = ["train", "--env", "failgym/GracePeriod-v1", "--algo", "counterfactual", "--rolling"]
    words += ["--set", f"trace={tmp_path / 'trace'}", "--set", "forecast=none"]
    for name, value in {**HYPER, "caution": "[1.0]"}.items():
        words += ["--hyper", f"{name}={value}"]
    assert run([*words, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "of 5 folds by time, each played by an agent of its past" in " ".join(shown.split())
    assert run([*words, "--split", "train", "--out", str(tmp_path / "other")]) == 2
    assert "rolling: expected split 'fit'" in capsys.readouterr().err
