"""`evaluate` writes the same file whoever plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.kills import json_content
from failgym.cli import run

WORDS = (
    *("evaluate", "--env", "failgym/GracePeriod-v1", "--traces", "2", "--episodes", "5"),
    *("--set", "jobs=300", "--set", "slice_tasks=16", "--policy", "grace_period"),
)


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    found: list[object] = []
    for workers in ("1", "2"):
        file = tmp_path / f"{workers}.json"
        assert run([*WORDS, "--policy", "random", "--workers", workers, "--json", str(file)]) == 0
        found.append(list(json_content(file).values()))
    assert found[0] == found[1]


def test_draws_are_in_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WORDS, "--drawn", "--workers", "2"]) == 2
    assert "--workers 2: --drawn draws one action after the other" in capsys.readouterr().err
