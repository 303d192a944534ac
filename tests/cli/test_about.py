"""What the command says of itself: its version, what it finds, and what a shell may complete."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import failgym
from failgym.baselines import REGISTRY
from failgym.cli import run
from failgym.cli.completion import ALGORITHM_NAMES, environment_names, policy_names
from failgym.cli.doctor import Extra, _looked_up, doctor, extras_of
from failgym.envs import SCENARIOS, resolve
from tests.envs.worlds import small


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"failgym {failgym.__version__}\n"


def test_environments_fit_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["envs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for name, scenario in SCENARIOS.items():
        assert any(line.strip().startswith(f"failgym/{name} ") for line in lines)
        assert any(name in line and str(scenario.trace) in line for line in lines)


def test_doctor_says_what_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert run(["doctor", "--json", str(tmp_path / "found.json")]) == 0
    shown = capsys.readouterr().out
    written = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert written["found"]["version"] == failgym.__version__
    assert written["found"]["OMP_NUM_THREADS"] == "3"
    assert written["packages"]["core"]["missing"] == []
    for word in (failgym.__version__, "numba", "agents", "compiled worlds", "processors"):
        assert word in shown


def test_doctor_names_what_is_missing_and_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    core, *extras = extras_of()
    assert {extra.name for extra in extras} >= {"agents", "boosting", "plots", "render", "tuning"}
    assert not any(extra.name in ("all", "dev", "docs", "clients") for extra in extras)
    lacking = Extra("plots", [], ["matplotlib"])
    module = inspect.getmodule(doctor)
    monkeypatch.setattr(module, "extras_of", lambda: [core, lacking])
    assert run(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "matplotlib: not installed" in shown
    assert "pip install 'failgym[plots]'" in shown
    broken = core._replace(missing=["numba"])
    monkeypatch.setattr(module, "extras_of", lambda: [broken])
    assert run(["doctor"]) == 1
    assert "needed by every command: numba" in capsys.readouterr().out
    assert _looked_up("x", ["no-package-of-this-name"]).missing == ["no-package-of-this-name"]


def test_names_are_completed() -> None:
    assert environment_names("failgym/G") == ["failgym/GracePeriod-v1"]
    assert set(policy_names("")) == {*REGISTRY, "all-baselines"}
    assert policy_names("all") == ["all_measures", "all-baselines"]


def test_algorithms_that_are_completed_are_those_there_are() -> None:
    pytest.importorskip("sb3_contrib", reason="needs the agents extra")
    from failgym.agents.algorithms.learner import COUNTERFACTUAL
    from failgym.agents.algorithms.registry import ALGORITHMS

    assert set(ALGORITHM_NAMES) == {*ALGORITHMS, COUNTERFACTUAL}


def test_a_shell_is_answered() -> None:
    """As bash asks: through variables of the environment."""
    asked = {"COMP_WORDS": "failgym evaluate --env failgym/Ch", "COMP_CWORD": "3"}
    environment = {**os.environ, **asked, "_FAILGYM_COMPLETE": "complete_bash"}
    code = "from failgym.cli import main; main()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["failgym/Checkpoint-v1"], done.stderr


@pytest.mark.usefixtures("shared_worlds")
def test_all_baselines_are_those_that_can_play(capsys: pytest.CaptureFixture[str]) -> None:
    env = "failgym/GracePeriod-v1"
    fields = [word for name, value in small(env).items() for word in ("--set", f"{name}={value}")]
    given = ["--policy", "grace_period", "--policy", "all-baselines", "--episodes", "2"]
    assert run(["evaluate", "--env", env, *given, *fields]) == 0
    table = capsys.readouterr().out.partition("beside the scores")[0].splitlines()
    shown = [line.split()[0] for line in table if line.strip()]
    scenario = resolve(env)
    fitting = [name for name, kind in REGISTRY.items() if kind.compatible(scenario)]
    assert sorted(name for name in shown if name in REGISTRY) == sorted(fitting)


def test_a_command_that_takes_one_policy_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--env", "failgym/Checkpoint-v1", "--out", str(tmp_path / "x.json")]
    assert run(["tune", "--policy", "all-baselines", *given]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "expected one policy" in line


def test_assess_takes_all_baselines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the word of the other commands as well as by its own: both get as far as the trace."""
    said: list[str] = []
    for word in ("published", "all-baselines", "no_such_rule"):
        out = ["--out", str(tmp_path / "report")]
        assert run(["assess", str(tmp_path / "none"), "--policies", word, *out]) == 2
        said += capsys.readouterr().err.splitlines()
    assert said[0] == said[1]
    assert "no_such_rule" in said[2]
    assert "no_such_rule" not in said[0]
