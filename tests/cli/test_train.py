"""`failgym train`: an agent that `evaluate` takes; one line for bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from failgym.cli import run
from failgym.cli.train import NEEDED
from failgym.traces import generate

pytest.importorskip("sb3_contrib", reason="needs failgym[agents]")

FIELDS = ("trace=google-2011-failing", "jobs=600", "slice_tasks=4", "trace_seed=1")
SMALL = ("--env", "failgym/Cloning-v1", *(text for f in FIELDS for text in ("--set", f)))
RUN = ("train", *SMALL, "--algo", "maskable_ppo", "--steps", "256", "--n-envs", "8")
FEW = ("n_steps=16", "batch_size=64", "warm_start.steps=512")
SHORT = (*(word for value in FEW for word in ("--hyper", value)), "--episodes", "50")


def invoke(*arguments: str | int | Path) -> int:
    return run([str(argument) for argument in arguments])


def test_an_agent_is_trained_and_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "agent", tmp_path / "scores.json"
    assert invoke(*RUN, *SHORT, "--validate-every", 128, "--out", out) == 0
    shown = capsys.readouterr().out
    assert "maskable_ppo in failgym/Cloning-v1: score on the validation split" in shown
    assert "256 steps in" in shown
    assert f"written to {out / 'best.safetensors'}" in shown
    result = json.loads((out / "result.json").read_text())
    best = result["best"]
    assert "--out" not in result["command"]
    assert str(tmp_path) not in result["command"]
    score = ("evaluate", *SMALL, "--policy", out / "best.safetensors", "--json", file)
    assert invoke(*score, "--episodes", 4) == 0
    assert len(json.loads(file.read_text())["policies"]) == 1
    assert best["steps"] in (128, 256)
    capsys.readouterr()
    assert invoke(*RUN, *SHORT, "--validate-every", 128, "--out", out, "--resume") == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("algo", "rollout", "asked", "trained"),
    [
        ("maskable_ppo", FEW, 200, 256),
        ("a2c", ("n_steps=6",), 100, 144),
        ("dqn", ("train_freq=3", "learning_starts=10"), 100, 120),
    ],
)
def test_steps_are_whole_rollouts_and_it_is_said(
    algo: str,
    rollout: tuple[str, ...],
    asked: int,
    trained: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hyper = [word for value in rollout for word in ("--hyper", value)]
    run_of = ("train", *SMALL, "--algo", algo, "--n-envs", 8, *hyper, "--episodes", 20)
    for steps, said in ((asked, True), (trained, False)):
        out = tmp_path / str(steps)
        assert invoke(*run_of, "--steps", steps, "--out", out) == 0
        shown = capsys.readouterr().out
        first = f"steps: {trained:,} are trained on, not {asked:,}: whole rollouts, of "
        assert shown.startswith(first) == said
        assert (f"{trained:,} steps ({asked:,} asked for) in" in shown) == said
        result = json.loads((out / "result.json").read_text())
        assert (result["steps"], result["asked"]) == (trained, steps)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--algo", "pop"), "unknown algorithm 'pop', did you mean ppo?"),
        (("--env", "failgym/Clonin-v0"), "did you mean Cloning-v1?"),
        (("--hyper", "learning_rte=1"), "did you mean learning_rate?"),
        (("--hyper", "gamma"), "--hyper: expected name=value, got 'gamma'"),
        (("--hyper", "gamma=1", "--hyper", "gamma=0"), "--hyper: gamma is given twice"),
        (("--config", "none.yaml"), "none.yaml: no such file: expected hyper-parameters in YAML"),
        (("--steps", "0"), "steps: expected a whole number, at least 1, got 0"),
        (("--set", "split=test"), "--set: split changes nothing in this command"),
        (("--split", "test"), "'test' is not one of"),
        (("--resume",), "run: no training run to go on with"),
    ],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(*RUN, *SHORT, "--out", "run", *arguments) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_traces_are_not_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate("system-a", jobs=20, seed=1).save(tmp_path / "trace")
    held = sorted(tmp_path.rglob("*"))
    for out in (tmp_path / "trace", tmp_path / "trace" / "run"):
        assert invoke(*RUN, *SHORT, "--out", out) == 2
        assert "lies in the folder of a saved trace: not written" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == held


@pytest.mark.parametrize("missing", NEEDED)
def test_what_to_install_is_said(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = sys.modules["failgym.cli.train"]  # the package has a command of this name
    installed = {name: name for name in NEEDED if name != missing}
    monkeypatch.setattr(module, "find_spec", installed.get)
    assert invoke(*RUN, "--out", "run") == 2
    assert "pip install 'failgym[agents]'" in capsys.readouterr().err
