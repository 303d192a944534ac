"""`failgym tune`: a file that `evaluate` takes, resumed after a kill; one line for bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from failgym.baselines import MLPeriodic, Young
from failgym.baselines.stored import load_heuristic, save_heuristic
from failgym.cli import run
from failgym.traces import generate

pytest.importorskip("optuna", reason="needs failgym[tuning]")

FIELDS = ("trace=system-a-harsh", "jobs=1200", "slice_tasks=8", "decide=geometric", "trace_seed=5")
SMALL = ("--env", "failgym/Checkpoint-v1", *(text for f in FIELDS for text in ("--set", f)))
COMMAND = (sys.executable, "-c", "from failgym.cli import main; main()")
SEARCH = ("tune", *SMALL, "--policy", "young", "--episodes", "20", "--trials")


def invoke(*arguments: str | int | Path) -> int:
    return run([str(argument) for argument in arguments])


def test_what_is_found_is_written_and_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "young.json"
    assert invoke(*SEARCH, 6, "--out", out) == 0
    shown = capsys.readouterr().out
    assert "young in failgym/Checkpoint-v1: best of 6 trials" in shown
    assert re.search(r"gain on fit: .* \(95 %\); on validation: .* \(60 %\)\n", shown)
    assert "intervals are over blocks of jobs\n" in shown
    assert f"written to {out}" in shown
    found = load_heuristic(out)
    assert isinstance(found, Young)
    about = json.loads(out.read_text())["about"]
    assert about["gain_fit"][0] >= 0.0
    assert about["adopted"] == (found != Young()) == ("adopted: score" in shown)
    assert about["adopted"] != ("the given parameters stay" in shown)
    assert about["trials"] == 6

    result = tmp_path / "result.json"
    assert invoke("evaluate", *SMALL, "--policy", out, "--json", result) == 0
    by_file = json.loads(result.read_text())["policies"][0]
    spec = f"young:factor={found.factor}"
    assert invoke("evaluate", *SMALL, "--policy", spec, "--json", result) == 0
    by_name = json.loads(result.read_text())["policies"][0]
    assert by_file["score"] == by_name["score"] is not None


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed.json", tmp_path / "whole.json"
    trials = tmp_path / "killed.json.trials"
    command = [*COMMAND, *SEARCH, "1000", "--out", str(killed)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (trials.is_file() and trials.stat().st_size > 100_000):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.0)
        os.kill(process.pid, signal.SIGKILL)
    assert not killed.exists()
    assert invoke(*SEARCH, 8, "--out", killed) == 0
    done = json.loads(killed.read_text())["about"]["trials"]
    assert done >= 8
    assert invoke(*SEARCH, done, "--out", whole) == 0
    assert load_heuristic(killed) == load_heuristic(whole)


def test_given_parameters_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "policy.json"
    assert invoke("tune", *SMALL, "--policy", "young:factor=2.0", "--out", out) == 2
    assert capsys.readouterr().err == "failgym: young: no parameter to tune\n"
    search = ("--episodes", 20, "--trials", 3, "--out", out)
    assert invoke("tune", *SMALL, "--policy", "ml_periodic:factor=2.0", *search) == 0
    found = load_heuristic(out)
    assert isinstance(found, MLPeriodic)
    assert found.factor == 2.0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--policy", "yung"), "unknown policy 'yung', did you mean young?"),
        (("--policy", "replay"), "replay: no parameter to tune"),
        (
            ("--policy", "greedy"),
            "needs decisions that Checkpoint-v1 does not offer: play it in Lineage-v1",
        ),
        (("--policy", "collections:Counter"), "expected a class with a method predict"),
        (
            ("--policy", "young", "--trials", "0"),
            "trials: expected a whole number, at least 1, got 0",
        ),
        (("--policy", "young", "--out", "young.txt"), "expected a name that ends in .json"),
        (("--policy", "young", "--out", "none/young.json"), "no such folder: none"),
        (("--policy", "young", "--set", "split=test"), "split changes nothing in this command"),
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
    out = () if "--out" in arguments else ("--out", "young.json")
    assert invoke("tune", *SMALL, *arguments, *out) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_folders_and_traces_are_not_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate("system-a", jobs=20, seed=1).save(tmp_path / "trace")
    held = sorted(tmp_path.rglob("*"))
    assert invoke(*SEARCH, 2, "--out", tmp_path / "trace" / "young.json") == 2
    assert "lies in the folder of a saved trace: not written" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == held
    (tmp_path / "young.json").mkdir()
    assert invoke(*SEARCH, 2, "--out", tmp_path / "young.json") == 2
    assert "is a folder, expected a file" in capsys.readouterr().err


def test_other_files_are_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "package.json"
    out.write_text('{"name": "something else"}')
    assert invoke(*SEARCH, 2, "--out", out) == 2
    assert "not a stored policy" in capsys.readouterr().err
    assert out.read_text() == '{"name": "something else"}'
    save_heuristic(Young(), out)
    assert invoke(*SEARCH, 2, "--out", out) == 0
