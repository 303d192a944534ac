"""Values and policies as they are typed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from failgym.baselines import REGISTRY, Algorithm1, Young
from failgym.cli import run
from failgym.cli.options import override
from failgym.cli.specs import load_policy
from failgym.cli.values import assignments, read_value
from failgym.envs import SCENARIOS

READ: list[tuple[str, Any, Any]] = [
    ("3", int, 3),
    ("3", float, 3.0),
    ("1e-3", float, 0.001),
    ("true", bool, True),
    ("False", bool, False),
    ("x", str, "x"),
    ("7", str, "7"),
    ("b", Literal["a", "b"], "b"),
    ("2", int | str, 2),
    ("two", int | str, "two"),
    ("none", int | None, None),
    ("folder", str | Path, "folder"),
]
REFUSED: list[tuple[str, Any, str]] = [
    ("3.5", int, "whole number"),
    ("", int, "whole number"),
    ("x", float, "number"),
    ("nan", float, "a number"),
    ("inf", float, "a number"),
    ("1", bool, "true or false"),
    ("c", Literal["a", "b"], "one of a, b"),
]


@pytest.mark.parametrize(("text", "hint", "value"), READ)
def test_a_text_is_read_as_the_type_of_its_field(text: str, hint: Any, value: Any) -> None:
    got = read_value("field", text, hint)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(("text", "hint", "expected"), REFUSED)
def test_other_texts_are_refused(text: str, hint: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=rf"field: expected .*{expected}"):
        read_value("field", text, hint)


def test_assignments_are_names_and_values() -> None:
    assert assignments(["a=1", "b=x=y", "c="], "here") == {"a": "1", "b": "x=y", "c": ""}
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(ValueError, match="here"):
            assignments(wrong, "here")


@pytest.mark.parametrize("name", REGISTRY)
def test_every_baseline_has_its_name(name: str) -> None:
    assert load_policy(name) == REGISTRY[name]()


def test_parameters_of_a_baseline() -> None:
    spec = "algorithm_1:threshold=0.5,max_clones=3,reading=burst"
    assert load_policy(spec) == Algorithm1(threshold=0.5, max_clones=3, reading="burst")
    assert load_policy("young:") == Young()


WRONG_SPECS = {
    "algoritm_1": "did you mean algorithm_1",
    "zzz": "known: all-baselines, replay",
    "young:factr=2": "did you mean factor",
    "young:factor=x": "factor: expected a number",
    "young:factor=-1": "factor: expected a positive",
    "young:factor": "expected name=value",
    "young:factor=1,factor=2": "twice",
    "young:factor=1:more": "expected name:field",
    "algorithm_1:reading=chai": "expected one of chain, burst",
    "agent.zip": "expected a file .json or .safetensors",
    "folder/agent": "expected a file .json or .safetensors",
    "no_such_module:Class": "cannot import",
    "json:Class": "no class 'Class'",
    "json:JSONDecoder": "method predict",
    "builtins:int": "method predict",
    "json:": "no class ''",
    "": "expected the name of a baseline",
    ":x=1": "expected the name of a baseline",
    "agent.zip:x=1": "expected a file .json or .safetensors",
    "./young": "expected a file .json or .safetensors",
}


@pytest.mark.parametrize("spec", WRONG_SPECS)
def test_wrong_specs_are_refused_in_one_line(spec: str) -> None:
    with pytest.raises(ValueError, match="policy") as caught:
        load_policy(spec)
    assert WRONG_SPECS[spec] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_class_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_policy_module.py").write_text(
        "class Mine:\n"
        "    def __init__(self, level: float = 0.5, label: str = ''):\n"
        "        self.level, self.label = level, label\n"
        "    def predict(self, observation, state=None, episode_start=None, deterministic=True):\n"
        "        return observation[:, 0].astype('int64') * 0, state\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    policy: Any = load_policy("my_policy_module:Mine:level=2,label=x")
    assert (policy.level, policy.label) == (2.0, "x")


MODULES = {
    "raise KeyError('gone')": "cannot import 'odd_module': KeyError: 'gone'",
    "import sys; sys.exit(4)": "cannot import 'odd_module': SystemExit: 4",
    "raise RuntimeError('two\\nlines')": "two lines",
    "class Odd:\n  def __init__(self): raise KeyError('x')": "KeyError: 'x'",
    "class Odd:\n  def __init__(self): raise SystemExit(0)": "SystemExit: 0",
    "class Odd:\n  def __init__(self, a: 'Nowhere' = 1): pass": "NameError: name 'Nowhere'",
    "def __getattr__(name): raise OSError(name)": "OSError: Odd",
}


@pytest.mark.parametrize("code", MODULES)
def test_whatever_a_module_does_is_one_line(
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "odd_module.py").write_text(code + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "odd_module", raising=False)
    importlib.invalidate_caches()
    assert run(["evaluate", "--env", "Cloning-v1", "--policy", "odd_module:Odd"]) == 2
    shown = capsys.readouterr().err
    assert MODULES[code] in shown
    assert "policy 'odd_module:Odd'" in shown
    assert shown.count("\n") == 1


def test_files_of_the_same_names_hide_no_baseline_and_no_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("young", "replay.zip", "yong"):
        (tmp_path / name).touch()
    assert load_policy("young") == Young()
    with pytest.raises(ValueError, match="did you mean young"):
        load_policy("yong")


def test_fields_without_meaning_are_refused() -> None:
    base = SCENARIOS["Cloning-v1"]
    assert override(base, ["factor=2"], {"factor"}).factor == 2.0
    with pytest.raises(ValueError, match="--set: jobs changes nothing"):
        override(base, ["jobs=2"], {"factor"})


def test_settings_change_a_scenario() -> None:
    base = SCENARIOS["Cloning-v1"]
    settings = ["jobs=50", "every=2", "clone=false", "decide=every", "forecast=none"]
    changed = override(base, settings)
    assert (changed.jobs, changed.every, changed.clone) == (50, 2, False)
    assert (changed.decide, changed.forecast) == ("every", "none")
    assert override(base, None) == base


WRONG_SETTINGS = {
    "jbs=3": "did you mean jobs",
    "jobs=x": "jobs: expected a whole number",
    "jobs=0": "jobs: expected at least 1",
    "clone=maybe": "clone: expected true or false",
    "decide=never": "decide: expected one of every, geometric, alarm",
    "jobs": "expected name=value",
}


@pytest.mark.parametrize("setting", WRONG_SETTINGS)
def test_wrong_settings_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=WRONG_SETTINGS[setting]):
        override(SCENARIOS["Cloning-v1"], [setting])
