"""What is made of the past of a fold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from failgym.assessment import makers
from failgym.assessment.makers import Tuned
from failgym.baselines import GracePeriod
from failgym.envs import Scenario, resolve

pytest.importorskip("optuna")

TRIALS = 8


@pytest.mark.parametrize("how", ["cut short", "a page of zeros", "a page of ones", "a text"])
def test_trials_that_were_damaged_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(makers, "TRIALS", TRIALS)
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=2_000)
    expected = Tuned(GracePeriod()).make(scenario, tmp_path)
    file, made = tmp_path / "trials", tmp_path / "made.json"
    made.unlink()
    whole = file.read_bytes()
    third = len(whole) // 3 // 4_096 * 4_096
    file.write_bytes(
        {
            "cut short": whole[:third],
            "a page of zeros": whole[:third] + bytes(4_096) + whole[third + 4_096 :],
            "a page of ones": whole[:third] + b"\xff" * 4_096 + whole[third + 4_096 :],
            "a text": b"mine",
        }[how]
    )
    assert Tuned(GracePeriod()).make(scenario, tmp_path) == expected
    kept = file.read_bytes()
    made.write_bytes(made.read_bytes()[:20])  # damaged, too
    assert Tuned(GracePeriod()).make(scenario, tmp_path) == expected
    assert file.read_bytes() == kept, "they are not tried once more"


def test_what_was_made_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(makers, "TRIALS", 2)
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=2_000)
    expected = Tuned(GracePeriod()).make(scenario, tmp_path)

    def drawn(scenario: Scenario, version: str) -> str:
        raise AssertionError(f"{scenario.name}: its past is not looked at")

    monkeypatch.setattr(makers, "_grounds", drawn)
    assert Tuned(GracePeriod()).make(scenario, tmp_path) == expected


def test_trials_that_are_in_use_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(makers, "TRIALS", 2)
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=2_000)
    Tuned(GracePeriod()).make(scenario, tmp_path)
    (tmp_path / "made.json").unlink()
    file = tmp_path / "trials"
    before, node = file.read_bytes(), file.stat().st_ino
    with closing(sqlite3.connect(file)) as other:
        other.execute("begin exclusive")
        with pytest.raises(ValueError, match=r"trials: cannot be used: .*locked"):
            Tuned(GracePeriod()).make(scenario, tmp_path)
    assert (file.read_bytes(), file.stat().st_ino) == (before, node)
