"""How rankings hold when a constant of a continued world is another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import sensitivity
from experiments.results_pages import sensitivity as page
from experiments.sensitivity import PLAYED, changes, rows_of, tau_of
from failgym.envs import resolve

SMALL = ("jobs=200", "max_extra=2", "forecast=elsayed_alarms", "trace=google-2011-failing")


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    """Fewer values of what has many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitivity, "DRAWS", (4,))
        patch.setattr(sensitivity, "VALUES", (1.0, 16.0))
        patch.setattr(sensitivity, "LIMITS", (10,))
        yield


@pytest.fixture(scope="module")
def measured(
    few: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], str, Path]:
    """What the command wrote on two small traces, what it printed, and the file."""
    file = tmp_path_factory.mktemp("sensitivity") / "found.json"
    return json.loads(run(file)[0]), run(file)[1], file


def run(file: Path, *more: str) -> tuple[str, str]:
    app = Typer()
    app.command()(sensitivity.main)
    words = [word for field in SMALL for word in ("--set", field)]
    words += ["--least", "2", "--most", "2", "--json", str(file), *more]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    return file.read_text(), found.output


def test_every_change_is_one_that_the_scenario_takes() -> None:
    scenario = resolve("Cloning-v1", {**PLAYED, "forecast": "elsayed_alarms"})
    found = list(changes(scenario))
    names = [change.name for change in found]
    assert len(names) == len(set(names))
    for change in found[1:]:
        assert scenario.override(**change.fields) != scenario, change.name
    assert {"task share 0", "restart limit 10", "strata: all", "task value 16"} <= set(names)
    assert {"waiting x 2", "better alarms", "no forecast", "draw 4"} <= set(names)


def test_what_cannot_matter_is_left_out() -> None:
    names = [c.name for c in changes(resolve("Checkpoint-v1", {**PLAYED, "forecast": "none"}))]
    assert not any("task share" in name or "forecast" in name for name in names)
    assert "overhead x 2" in names


def test_rankings_are_compared_with_the_one_as_it_is(
    measured: tuple[dict[str, Any], str, Path],
) -> None:
    content, printed, _ = measured
    rows = rows_of(content)
    assert rows[0].name == "as it is"
    assert rows[0].tau.value == pytest.approx(1.0)
    assert set(rows[0].scores) >= {"replay", "algorithm_1", "reroll"}
    assert rows[0].scores["replay"] == 0.0
    assert list(rows[0].scores.values()) == sorted(rows[0].scores.values(), reverse=True)
    assert all(row.name in printed for row in rows)
    by_name = {row.name: row for row in rows}
    assert by_name["task value 16"].room > by_name["task value 1"].room


def test_it_goes_on_with_what_is_there(measured: tuple[dict[str, Any], str, Path]) -> None:
    file = measured[2]
    content = json.loads(file.read_text())
    del content["traces"]["1001"]["draw 4"]
    content["traces"]["1000"]["as it is"]["room"] = -5.0  # is not measured again
    other = file.with_name("begun.json")
    other.write_text(json.dumps(content))
    after = json.loads(run(other)[0])
    assert after["traces"]["1001"]["draw 4"] == measured[0]["traces"]["1001"]["draw 4"]
    assert after["traces"]["1000"]["as it is"]["room"] == -5.0


def test_the_page_shows_whole_rankings_where_they_turn(
    measured: tuple[dict[str, Any], str, Path],
) -> None:
    content = json.loads(json.dumps(measured[0]))
    for trace in content["traces"].values():
        for rule in trace["draw 4"]:
            trace["draw 4"][rule] = -trace["as it is"][rule]
    lines = page(content).splitlines()
    assert lines[0].endswith("2 traces.")
    assert any(line.startswith("- as it is: ") for line in lines)
    assert any(line.startswith("- draw 4: ") for line in lines)


def test_tau_of_equal_and_of_turned_rankings() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(30, 6)) * 0.01 + np.arange(6.0)
    assert tau_of(one, one).value == pytest.approx(1.0)
    turned = tau_of(one, -one)
    assert (turned.value, turned.low, turned.high) == pytest.approx((-1.0, -1.0, -1.0))
    noisy = tau_of(one, rng.normal(size=(30, 6)))
    assert noisy.low < noisy.high
