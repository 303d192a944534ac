"""What is made of the past of a fold."""

from __future__ import annotations

from pathlib import Path

import pytest

from failgym.assessment import makers
from failgym.assessment.makers import Tuned
from failgym.baselines import GracePeriod
from failgym.envs import resolve

pytest.importorskip("optuna")

TRIALS = 8


@pytest.mark.parametrize("how", ["cut short", "a page of zeros", "a page of ones", "a text"])
def test_trials_that_were_damaged_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(makers, "TRIALS", TRIALS)
    scenario = resolve("failgym/GracePeriod-v1").override(jobs=2_000)
    expected = Tuned(GracePeriod()).make(scenario, tmp_path)
    file = tmp_path / "trials"
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
    assert Tuned(GracePeriod()).make(scenario, tmp_path) == expected
    assert file.read_bytes() == kept, "they are not tried once more"
