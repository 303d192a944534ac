"""Several agents of one command are those of single commands, whoever trains and dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3", reason="needs failgym[agents]")
from experiments.kills import COMMAND, Content, trained_content
from failgym import cli
from failgym.agents.training import many
from failgym.agents.training.many import AgentRun, train_many
from failgym.agents.training.training_settings import TrainingSettings
from failgym.cli.train_runs import command_of
from failgym.workers import Workers
from tests.agents.runs import SHORT, scenario

FIELDS = ("trace=google-2011-failing", "jobs=600", "slice_tasks=4", "trace_seed=1")
SMALL = tuple(word for field in FIELDS for word in ("--set", field))
HYPER = ("n_steps=16", "batch_size=64", "policy.net_arch=[8]")
SHORT_RUN = (
    *("--algo", "ppo", "--steps", "256", "--n-envs", "8", "--episodes", "50", *SMALL),
    *(word for value in HYPER for word in ("--hyper", value)),
)
SEEDS = ("--env", "Cloning-v1", "--seed", "0", "--seed", "1")
BOTH = ("--env", "Cloning-v1", "--env", "failgym/GracePeriod-v1", "--seed", "1")


def run(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> int:
    """What is typed, which the files of agents tell."""
    typed = ["train", *SHORT_RUN, *map(str, words)]
    monkeypatch.setattr(sys, "argv", ["failgym", *typed])
    return cli.run(typed)


def content(folder: Path) -> Content:
    """All that a run wrote, times of the clock and the checkpoint, which holds them, aside."""
    texts = {name: (folder / name).read_text() for name in ("run.json", "settings.yaml")}
    return {**trained_content(folder), **texts}


@pytest.fixture(scope="module")
def singles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Content]:
    """What commands for one agent write, by the folder that it has among several."""
    out = tmp_path_factory.mktemp("singles")
    asked = {
        "Cloning-v1/seed-0": ("--env", "Cloning-v1", "--seed", "0"),
        "Cloning-v1/seed-1": ("--env", "Cloning-v1", "--seed", "1"),
        "GracePeriod-v1/seed-1": ("--env", "failgym/GracePeriod-v1", "--seed", "1"),
    }
    found: dict[str, Content] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, words in asked.items():
            assert run(patch, *words, "--out", out / name) == 0
            found[name] = content(out / name)
    return found


@pytest.mark.parametrize(("workers", "words"), [("1", SEEDS), ("2", BOTH)], ids=["1", "2"])
def test_agents_are_those_of_single_commands(
    workers: str,
    words: tuple[str, ...],
    singles: dict[str, Content],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert run(monkeypatch, *words, "--out", out, "--workers", workers) == 0
    folders = [path.parent for path in sorted(out.glob("**/run.json"))]
    assert len(folders) == 2
    shown = capsys.readouterr().out
    for folder in folders:
        name = str(folder.relative_to(out))
        assert content(folder) == singles[name]
        assert name.replace("/seed-", ", seed ") in shown
        assert f"written to {folder / 'best.safetensors'}" in shown
    assert run(monkeypatch, *words, "--out", out, "--workers", workers, "--resume") == 0
    assert capsys.readouterr().out == shown


def children(pid: int) -> list[int]:
    """Processes of a command in which agents are trained."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc on this platform")
@pytest.mark.parametrize("who", ["worker", pytest.param("command", marks=pytest.mark.campaign)])
def test_what_is_killed_goes_on(
    who: str, singles: dict[str, Content], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    words = ["train", *SHORT_RUN, *SEEDS, "--out", str(out), "--workers", "2"]
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], start_new_session=True, stderr=subprocess.PIPE
    )
    while running.poll() is None and not list(out.glob("**/checkpoint.pt")):
        time.sleep(0.05)
    assert running.poll() is None, "it ended before it could be killed"
    if who == "worker":
        os.kill(children(running.pid)[0], signal.SIGKILL)
    else:
        os.killpg(running.pid, signal.SIGKILL)
    _, said = running.communicate()
    if who == "worker":
        assert running.returncode == 2
        assert b"a process was killed" in said
        assert b"the same command goes on with --resume" in said
    again = [*words[:-1], "1" if who == "worker" else "2", "--resume"]
    monkeypatch.setattr(sys, "argv", ["failgym", *again])
    assert cli.run(again) == 0
    for name in ("Cloning-v1/seed-0", "Cloning-v1/seed-1"):
        assert content(out / name) == singles[name]


def some(out: Path, *seeds: int, **hyper: Any) -> list[AgentRun]:
    """Agents of several seeds."""
    values = {**SHORT["ppo"], "policy.net_arch": [8], **hyper}
    settings = [
        TrainingSettings("ppo", seed=seed, steps=256, n_envs=8, episodes=50, hyper=values)
        for seed in seeds
    ]
    place = scenario()
    return [AgentRun(f"seed {one.seed}", place, out / str(one.seed), one) for one in settings]


def test_one_that_fails_stops_no_other_and_is_named(tmp_path: Path) -> None:
    runs = some(tmp_path, 0, 1, 2)
    runs[1] = some(tmp_path, 1, learning_rate=1e30)[0]
    told: list[int] = []
    found = train_many(runs, workers=Workers(2), progress=told.append)
    assert [one.result is None for one in found] == [False, True, False]
    assert found[1].problem.startswith("training diverged within")
    assert sum(told) == sum(run.total for run in runs)


@pytest.mark.parametrize("kind", [RuntimeError, AssertionError], ids=lambda kind: kind.__name__)
def test_a_bug_of_a_library_is_that_agents_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, kind: type[Exception]
) -> None:
    """What torch and stable-baselines3 complain of is no ValueError."""
    train, calls = many.train, list[int]()

    def fails_once(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise kind("no such\nkernel")
        return train(*args, **more)

    monkeypatch.setattr(many, "train", fails_once)
    first, second = train_many(some(tmp_path, 0, 1))
    named = "" if kind is RuntimeError else f"{kind.__name__}: "
    assert (first.result, first.problem) == (None, f"{named}no such kernel")
    assert ("in fails_once" in capsys.readouterr().err) == bool(named), "where it happened"
    assert second.result is not None


def test_progress_of_agents_that_were_begun_is_told_once(tmp_path: Path) -> None:
    """Here as elsewhere, in whatever order they go on."""
    runs = [
        replace(run, settings=replace(run.settings, validate_every=64))
        for run in some(tmp_path, 2, 10, n_steps=8)
    ]

    class Stopped(Exception):
        """Training is interrupted."""

    def stops(done: int) -> None:
        told.append(done)
        if sum(told) >= 128:
            raise Stopped

    told: list[int] = []
    with pytest.raises(Stopped):
        many.train(runs[-1].scenario, runs[-1].out, runs[-1].settings, progress=stops)
    assert runs[-1].folder.scored > 0
    for workers in (Workers(), Workers(2)):
        here, told = runs if workers == Workers() else runs[-1:], []
        train_many(here, resume=True, workers=workers, progress=told.append)
        assert sum(told) == sum(run.total for run in here)
        assert min(told) >= 0


BAD = [
    (("--seed", "1", "--seed", "1"), "--seed: 1 is given twice"),
    (("--env", "failgym/Cloning-v1"), "--env: failgym/Cloning-v1 is given twice"),
    (("--env", "Clonin-v1"), "did you mean Cloning-v1?"),
    (("--seed", "-1", "--seed", "2"), "seed: expected a whole number"),
    (("--config", "a.yaml", "--config", "b/a.yaml"), "--config: two files are called a: expected"),
    (("--config", "a.yaml", "--config", "b.yaml"), "a.yaml: no such file"),
    (("--seed", "1", "--seed", "2", "--workers", "2", "--threads", "0"), "expected --threads 1"),
    (("--workers", "0"), "--workers: expected a number, 1 to 1024, or ray"),
    (("--ray-address", "auto"), "--ray-address auto: expected --workers ray beside it"),
    (("--seed", "1", "--seed", "2", "--resume"), "no training run to go on with"),
]


@pytest.mark.parametrize(("words", "line"), BAD)
def test_bad_input_is_one_line_and_leaves_nothing(
    words: tuple[str, ...],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "--env", "Cloning-v1", "--out", "out", *words) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_folders_of_one_and_of_several_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text("{}")
    assert run(monkeypatch, *SEEDS, "--out", out) == 2
    assert f"{out}: holds a training run: expected a folder for several" in capsys.readouterr().err
    (out / "run.json").unlink()
    begun = out / "Cloning-v1" / "seed-1"
    begun.mkdir(parents=True)
    (begun / "run.json").write_text("{}")
    assert run(monkeypatch, *SEEDS, "--out", out) == 2
    assert f"{begun}: holds a training run: go on with it with --resume" in capsys.readouterr().err
    assert not (out / "Cloning-v1" / "seed-0").exists()


def test_what_began_an_agent_is_the_command_for_it_alone() -> None:
    words = ["train", "--env", "A", "--env=B", "--seed", "0", "--seed=01", "--out", "x"]
    words += ["--workers", "8", "--resume", "--steps", "9"]
    assert command_of(words, {"--env": "B", "--seed": "1", "--config": "None"}) == (
        "failgym train --env=B --seed=01 --steps 9"
    )
    words = ["train", "--seed", "1_0", "--seed", "+2"]  # as the option is read
    assert command_of(words, {"--seed": "10"}) == "failgym train --seed 1_0"


def test_folds_are_trained_apart_and_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xgboost", reason="needs failgym[boosting]")
    from failgym.traces import generate

    generate("google-2011-applications", jobs=800, seed=1).save(tmp_path / "trace")
    hyper = ("trees=8", "depth=2", "caution=[1.0]", "traces=1", "decisions=0.5")
    words = [
        "train",
        "--env",
        "GracePeriod-v1",
        "--set",
        f"trace={tmp_path / 'trace'}",
        "--set",
        "forecast=none",
        "--rolling",
    ]
    words += ["--algo", "counterfactual", *(w for value in hyper for w in ("--hyper", value))]
    names = ("best.safetensors", "whole/best.safetensors", "fold-5/best.safetensors", "run.json")
    found: list[list[object]] = []
    for workers in ("1", "2"):
        out = tmp_path / workers
        typed = [*words, "--out", str(out), "--workers", workers]
        monkeypatch.setattr(sys, "argv", ["failgym", *typed])
        assert cli.run(typed) == 0
        result = json.loads((out / "result.json").read_text())
        found.append([result["verdict"], *((out / name).read_bytes() for name in names)])
    assert found[0] == found[1]
