"""The oracle's rows of a suite: on its own slices, between replay and the bound, kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import oracle_rows
from experiments.oracle_rows import oracle_score, searched_courses
from failgym.leaderboard import SUITES, Suite, SuiteWorlds
from failgym.leaderboard.suite.suites import Cell, Course

SMALL = Suite(
    "small-oracle",
    1,
    (
        Course("Cloning-v1", slices=1, changes={"jobs": 300}),
        Course("Lineage-v1", seeds=(0, 1), slices=1, changes={"jobs": 7}),
    ),
)
SUITES[SMALL.name] = SMALL
APP = Typer()
APP.command()(oracle_rows.main)


def run(*words: str) -> Any:
    return CliRunner().invoke(APP, ["--suite", SMALL.name, "--rounds", "1", "--plays", "4", *words])


def test_it_plays_the_slices_of_the_suite_and_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, worlds = tmp_path / "oracle.json", SuiteWorlds.of(SMALL)
    assert [course.env for course in searched_courses(worlds)] == ["Lineage-v1"]
    done = run("--json", str(file))
    assert done.exit_code == 0, done.output
    [(env, found)] = json.loads(file.read_text("utf-8")).items()
    assert (env, found["suite"]) == ("Lineage-v1", SMALL.name)
    for seed, one in enumerate(found["traces"]):
        reference = worlds.reference(Cell(env, "none", seed))
        assert one["slices"] == reference.slices.tolist()
        assert one["replay"] == pytest.approx(reference.costs[0].tolist())
        assert one["bound"] == pytest.approx(reference.costs[1].tolist())
        assert one["bound"][0] * (1.0 - 1e-9) <= one["oracle"][0] <= one["replay"][0]
    saved, possible = (
        sum(sum(one["replay"]) - sum(one[name]) for one in found["traces"])
        for name in ("oracle", "bound")
    )
    assert oracle_score(found).value == pytest.approx(100.0 * saved / possible)
    assert np.isfinite(oracle_score(found).value)

    monkeypatch.setattr(oracle_rows, "searched", None)
    assert run("--json", str(file)).exit_code == 0
    assert json.loads(file.read_text("utf-8")) == {env: found}


def test_an_environment_that_is_not_searched_is_refused(tmp_path: Path) -> None:
    done = run("--json", str(tmp_path / "oracle.json"), "--env", "Cloning-v1")
    assert done.exit_code == 2
    assert "unknown environment" in " ".join(done.output.replace("│", " ").split())
    assert not (tmp_path / "oracle.json").exists()
