"""Policies, environments, readers and predictors of other packages, found by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import failgym
from failgym.additions import additions
from failgym.baselines import REGISTRY
from failgym.cli import run
from failgym.cli.entries import _kind
from failgym.cli.specs import load_policy
from failgym.envs import resolve
from failgym.traces import Trace
from tests.envs.worlds import small

TOY = '''
from dataclasses import dataclass
from typing import ClassVar

from failgym import Action, Heuristic, Scenario, choose
from failgym.predictors import Perfect
from failgym.traces import generate


@dataclass(frozen=True)
class Impatient(Heuristic):
    """Clone at once what is likely to fail."""

    name: ClassVar[str] = "impatient"
    needs: ClassVar[frozenset[str]] = frozenset({"clone"})
    reads: ClassVar[frozenset[str]] = frozenset({"risk"})
    risk: float = 0.8

    def act(self, view, mask):
        return choose(view["risk"] >= self.risk, Action.CLONE)


SCENARIO = Scenario(name="Toy-v0", jobs=200, clone=True)


def read_toy(path, *, unit_ms=1, progress=False):
    return generate("google-2011", jobs=int(path.read_text()) * unit_ms)


class Prophet:
    def __init__(self, window: int = 300_000):
        self.window = window

    def fit(self, trace):
        return self

    def predict(self, trace):
        return Perfect(window=self.window).predict(trace)
'''
ENTRIES = """
[failgym.policies]
impatient = {module}:Impatient
[failgym.environments]
Toy-v0 = {module}:SCENARIO
[failgym.readers]
toy = {module}:read_toy
[failgym.predictors]
prophet = {module}:Prophet
"""


def install(folder: Path, package: str, source: str, entries: str) -> None:
    """A package as pip leaves it: a module, and what its metadata says."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entries.format(module=module))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages are found in."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    for module in ("toy_package", "broken_package", "other_package"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return folder


@pytest.fixture
def toy(site: Path) -> Path:
    install(site, "toy-package", TOY, ENTRIES)
    return site


def invoke(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def test_a_policy_is_named_on_the_command_line(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = [part for name, value in small("failgym/Cloning-v1").items() for part in
              ("--set", f"{name}={value}")]  # fmt: skip
    assert load_policy("impatient:risk=0.5") == load_policy("toy_package:Impatient:risk=0.5")
    asked = ["--policy", "impatient:risk=0.5", "--episodes", "2"]
    assert invoke("evaluate", "--env", "failgym/Cloning-v1", *asked, *fields) == 0
    assert "impatient" in capsys.readouterr().out


def test_a_leaderboard_takes_it_for_code_and_leaves_it_to_a_process_of_its_own(toy: Path) -> None:
    assert _kind("impatient") == _kind("impatient:risk=0.5") == "code"
    assert "toy_package" not in sys.modules


def test_an_environment_is_made_by_its_id_and_imported_no_sooner(toy: Path) -> None:
    assert resolve("failgym/Toy-v0", {"jobs": 100}).clone
    code = (
        "import sys, failgym, gymnasium;"
        "assert 'toy_package' not in sys.modules;"
        "env = gymnasium.make('failgym/Toy-v0', jobs=100); env.reset(seed=0);"
        "print(env.unwrapped.scenario.name)"
    )
    path = os.pathsep.join((str(toy), str(Path(failgym.__file__).parents[1])))
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("Toy-v0\n", 0), done.stderr


def test_a_reader_and_a_predictor_are_named_on_the_command_line(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, trace, out = tmp_path / "source", tmp_path / "trace", tmp_path / "forecast.npz"
    source.write_text("30")
    assert invoke("trace", "import", "toy", source, "--out", trace) == 0
    assert Trace.load(trace).rows("jobs") == 30
    forecast = ["--predictor", "prophet:window=60000", "--out", out]
    assert invoke("trace", "forecast", trace, *forecast) == 0
    assert int(np.load(out)["window"]) == 60_000
    given = ["--policy", "replay", "--set", "forecast=prophet", "--set", "jobs=200"]
    assert invoke("evaluate", "--env", "failgym/Cloning-v1", "--episodes", 1, *given) == 0
    capsys.readouterr()
    assert invoke("trace", "import", "--help") == 0
    assert "toy" in capsys.readouterr().out


def test_a_reader_may_take_the_options_that_there_are(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.write_text("30")
    asked = ["trace", "import", "toy", source, "--out", tmp_path / "trace"]
    assert invoke(*asked, "--unit-ms", "2") == 0
    assert Trace.load(tmp_path / "trace").rows("jobs") == 60
    capsys.readouterr()
    assert invoke(*asked, "--timezone", "UTC") == 2
    said = capsys.readouterr().err
    assert "--timezone: not an option of toy, only of torque" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "AttributeError: "),
    ],
)
def test_a_broken_package_is_named_in_a_line_and_breaks_no_other(
    toy: Path, source: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = ENTRIES.replace("impatient", "bad").replace("Toy-v0", "Bad-v0")
    entries = entries.replace("toy =", "bad =").replace("prophet", "bad")
    install(toy, "broken-package", source, entries)
    (tmp_path / "source").write_text("30")
    env = ["evaluate", "--env", "failgym/Cloning-v1", "--policy"]
    calls = (
        [*env, "bad"],
        ["evaluate", "--env", "failgym/Bad-v0", "--policy", "replay"],
        ["trace", "import", "bad", tmp_path / "source", "--out", tmp_path / "trace"],
        [*env, "replay", "--set", "forecast=bad"],
    )
    for call, kind in zip(calls, ("policy", "environment", "reader", "predictor"), strict=True):
        assert invoke(*call) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1, said
        assert f"package broken-package: {kind} " in said[0]
        assert problem in said[0]
    assert not (tmp_path / "trace").exists()
    assert load_policy("impatient")
    assert resolve("Toy-v0")


def test_environments_of_packages_are_listed_and_a_broken_one_is_left_out(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(toy, "broken-package", "", "[failgym.environments]\nBad-v0 = {module}:SCENARIO\n")
    assert invoke("envs") == 0
    shown = capsys.readouterr().out
    assert "failgym/Toy-v0" in shown
    assert "failgym/Bad-v0" not in shown
    assert "left out: package broken-package: environment 'Bad-v0'" in shown


def test_what_is_no_such_thing_is_refused_in_a_line(toy: Path, tmp_path: Path) -> None:
    """Entries that lead to something else than their group is for."""
    entries = "[failgym.environments]\nBad-v0 = {module}:wrong\n"
    entries += "[failgym.policies]\nbad = {module}:wrong\n"
    install(toy, "broken-package", "wrong = 5", entries)
    with pytest.raises(ValueError, match=r"package broken-package: environment 'Bad-v0': expected"):
        resolve("Bad-v0")
    with pytest.raises(ValueError, match=r"package broken-package: policy 'bad' is no class"):
        load_policy("bad")


def test_names_that_clash_are_left_out_with_a_line(toy: Path) -> None:
    entries = "[failgym.policies]\nyoung = {module}:Impatient\nimpatient = {module}:Impatient\n"
    install(toy, "other-package", TOY, entries)
    with pytest.warns(UserWarning, match="left out") as caught:
        found = additions("policies", REGISTRY)
    assert found == {}
    assert sorted(str(one.message) for one in caught) == [
        "package other-package: policy 'impatient' is in several packages: other-package,"
        " toy-package: left out",
        "package other-package: policy 'young' is the name of one of failgym's own: left out",
    ]
    assert isinstance(load_policy("young"), REGISTRY["young"])
