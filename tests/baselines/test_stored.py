"""Heuristics in files: what is written comes back, and anything else is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failgym.baselines import REGISTRY, Algorithm1, Heuristic, Young
from failgym.baselines.stored import load_heuristic, parameters, save_heuristic


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)
def test_a_stored_heuristic_comes_back(kind: type[Heuristic], tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    save_heuristic(kind(), file)
    assert load_heuristic(file) == kind()
    assert list(tmp_path.iterdir()) == [file]


def test_parameters_and_what_is_known_of_them_are_written(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    policy = Algorithm1(threshold=0.5, max_extra=2, reading="burst")
    save_heuristic(policy, file, about={"env": "failgym/Cloning-v1"})
    assert load_heuristic(file) == policy
    assert parameters(policy)["reading"] == "burst"
    assert json.loads(file.read_text())["about"] == {"env": "failgym/Cloning-v1"}


def test_numbers_about_it_that_json_has_no_word_for_are_null(tmp_path: Path) -> None:
    """`tune` on a trace of one block of jobs has no interval to write: the file must be read."""
    file = tmp_path / "policy.json"
    save_heuristic(Young(), file, about={"gain": (0.0, float("nan"), float("inf"))})
    assert load_heuristic(file) == Young()
    assert json.loads(file.read_text())["about"] == {"gain": [0.0, None, None]}


def test_whole_numbers_pass_for_real_ones(tmp_path: Path) -> None:
    file = _written(tmp_path, parameters={"factor": 2})
    loaded = load_heuristic(file)
    assert loaded == Young(factor=2.0)
    assert isinstance(loaded, Young)
    assert isinstance(loaded.factor, float)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something"}, 'expected "format": "failgym policy"'),
        ({"version": 2}, "format version 2, expected 1"),
        ({"policy": "os:system"}, "unknown policy 'os:system'"),
        ({"policy": ["young"]}, "unknown policy"),
        ({"parameters": [1]}, "parameters: expected an object"),
        ({"parameters": {"factr": 1.0}}, "unknown parameter 'factr' of young"),
        ({"parameters": {"factor": "1"}}, "factor: expected float, got '1'"),
        ({"parameters": {"factor": True}}, "factor: expected float, got True"),
        ({"parameters": {"factor": -1.0}}, "factor: expected a positive number, got -1.0"),
        (
            {"policy": "algorithm_1", "parameters": {"reading": "both"}},
            "reading: expected one of chain, burst, got 'both'",
        ),
        (
            {"policy": "algorithm_1", "parameters": {"max_extra": 1.5}},
            "max_extra: expected int, got 1.5",
        ),
        ({"parameters": {"factor": 10**400}}, "too large"),
        (
            {"policy": "before_walltime", "parameters": {"window": 10.0}},
            "window: expected a finite number, got inf",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = _written(tmp_path, **changes)
    file.write_text(file.read_text().replace("10.0", "1e999"))
    with pytest.raises(ValueError, match=r"policy\.json: ") as caught:
        load_heuristic(file)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"format": NaN}', b"\xff\xfe", b"[" * 10**5])
def test_a_file_of_something_else_is_refused(text: bytes, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_bytes(text)
    with pytest.raises(ValueError, match="not a stored policy"):
        load_heuristic(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file"):
        load_heuristic(tmp_path / "none.json")


def _written(folder: Path, **changes: Any) -> Path:
    content = {
        "format": "failgym policy",
        "version": 1,
        "policy": "young",
        "parameters": {"factor": 1.0},
    }
    file = folder / "policy.json"
    file.write_text(json.dumps(content | changes))
    return file
