"""What each measure gains alone: the figures are shares of what the oracle was found to save."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import measures_alone
from experiments.measures_alone import TOGETHER, gains_of, offered
from failgym.envs import resolve


def run(*words: str) -> tuple[int, str]:
    app = Typer()
    app.command()(measures_alone.main)
    found = CliRunner().invoke(app, list(words))
    return found.exit_code, found.output


def test_shares_of_the_bound_and_of_what_was_found() -> None:
    content = {
        "replay": [10.0, 10.0, 10.0],
        "bound": [0.0, 0.0, 0.0],
        "spent": [10.0, 10.0, 10.0],
        "oracle": {"all": [6.0, 6.0, 6.0], "kill": [8.0, 8.0, 5.0], "clone": [10.0, 10.0, 10.0]},
    }
    together, kill, clone = gains_of(content)
    assert (together.name, kill.name, clone.name) == (TOGETHER, "kill", "clone")
    assert together.of_bound.value == pytest.approx(100.0 * 13.0 / 30.0)  # 6, 6 and 5 are left
    assert together.of_found.value == pytest.approx(100.0)
    assert kill.of_bound.value == pytest.approx(30.0)
    assert kill.of_found.value == pytest.approx(100.0 * 9.0 / 13.0)
    assert clone.of_found.value == 0.0


def test_what_is_offered() -> None:
    assert offered(resolve("Mitigation-v1")) == ["clone", "checkpoint", "kill", "retry"]
    assert offered(resolve("Lineage-v1")) == ["save_outputs"]


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    fields = ("--set", "jobs=400", "--set", "slice_tasks=16")
    words = ("--env", "failgym/Cloning-v1", *fields, "--episodes", "3", "--rounds", "1")
    status, output = run(*words, "--json", str(file))
    assert status == 0, output
    content = json.loads(file.read_text())
    assert set(content["oracle"]) == {"all", "clone", "kill", "retry"}
    assert "of what was found" in output
    for costs in content["oracle"].values():
        assert all(a <= b + 1e-9 for a, b in zip(costs, content["replay"], strict=True))


@pytest.mark.parametrize("words", [("--measure", "klone"), ("--set", "jobs=none"), ("--env", "X")])
def test_bad_input_is_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    status, output = run(*words, "--json", str(tmp_path / "found.json"))
    assert status == 2
    assert len(output.strip().splitlines()) == 1
