"""What fields tell is judged on states that are labelled by what becomes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from typer import Typer
from typer.testing import CliRunner

from experiments import information
from experiments.information import (
    ALL,
    ALONE,
    GROUPS,
    HERE,
    REAL,
    TARGETS,
    WITHOUT,
    Row,
    exceeding,
    fields_known,
    measured,
    rows_in,
)
from experiments.result_tables.information import information as page
from experiments.visits import (
    Continuing,
    Departing,
    chosen_tasks,
    single_tasks,
    spaced,
    visits,
)
from failgym.envs import Scenario, resolve
from failgym.traces import Outcome
from failgym.worlds.build import build_world, split_of

SMALL: dict[str, Any] = {"jobs": 300, "trace": "google-2011-failing"}
CLASSES = {"confidence_finish", "job_confidence"}


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return single_tasks(resolve("Cloning-v1", SMALL), "train")


@pytest.fixture(scope="module")
def slices(scenario: Scenario) -> npt.NDArray[np.int64]:
    return chosen_tasks(scenario, 500, 10, seed=0)


def test_what_is_left_alone_ends_as_recorded(
    scenario: Scenario, slices: npt.NDArray[np.int64]
) -> None:
    found = visits(scenario, slices, ("risk", "age"), Continuing())
    trace = split_of(scenario, "train")
    row = trace.task_first[found.task] + found.number
    assert not found.drawn.any()
    assert (found.attempt_fails == (trace.column("attempts", "outcome")[row] == Outcome.FAIL)).all()
    assert (found.task_finishes == (trace.task_outcome[found.task] == Outcome.FINISH)).all()
    finished = trace.column("jobs", "outcome")[found.job] == Outcome.FINISH
    assert (found.job_finishes == finished).all()
    life = trace.column("attempts", "end") - trace.column("attempts", "start")
    assert (found.life == life[row]).all()
    assert (found.age[found.window] < found.life[found.window]).all()
    assert set(np.unique(found.task)) <= set(build_world(scenario).own_tasks[slices])


def test_what_was_departed_from_is_written_down_later(
    scenario: Scenario, slices: npt.NDArray[np.int64]
) -> None:
    alone = visits(scenario, slices, ("clones",), Continuing())
    found = visits(scenario, slices, ("clones",), Departing(len(slices), seed=0))
    assert 0 < len(found.task) < len(alone.task)
    assert found.drawn.any(), "attempts beyond the record are met"
    assert found.seen[:, 0].max() == 1.0, "clones too"
    again = visits(scenario, slices, ("clones",), Departing(len(slices), seed=0))
    assert (again.seen == found.seen).all()


def test_of_a_job_few_tasks_are_played(scenario: Scenario) -> None:
    job = split_of(scenario, "train").column("tasks", "job")[build_world(scenario).own_tasks]
    assert np.bincount(job).max() > 3
    chosen = chosen_tasks(scenario, 10**6, 3, seed=0)
    assert np.array_equal(np.bincount(job[chosen]), np.minimum(np.bincount(job), 3))
    assert len(chosen_tasks(scenario, 20, 3, seed=0)) == 20


def test_the_first_decisions_are_written_down_then_ever_fewer() -> None:
    kept = np.flatnonzero(spaced(np.arange(2_000)))
    assert kept[:4].tolist() == [0, 1, 2, 3]
    assert np.diff(kept).max() > 100
    assert len(kept) < 60


def test_only_the_pinned_world_is_played_task_by_task() -> None:
    with pytest.raises(ValueError, match="Workflow-v1: expected the pinned world"):
        single_tasks(resolve("Workflow-v1"), "train")


@pytest.mark.parametrize(
    ("env", "classes"),
    [("Cloning-v1", set[str]()), ("GracePeriod-v1", CLASSES), ("Checkpoint-v1", set[str]())],
)
def test_fields_are_those_of_the_forecast_or_others(env: str, classes: set[str]) -> None:
    known = fields_known(resolve(env))
    without, alone = set(known[WITHOUT]), set(known[ALONE])
    assert without | alone < set(known[ALL])
    assert not without & alone
    assert {"risk"} | classes <= alone
    assert CLASSES & set(known[ALL]) == classes
    assert "age" in without
    assert set(known[ALL]) - without - alone <= {"grace", "age_over_grace", "risk_over_cost"}


def test_what_a_perfect_forecast_tells_is_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(information, "PLAYED", ("as recorded",))
    scenario = resolve("Cloning-v1", {**SMALL, "forecast": "perfect", "jobs": 600})
    rows = {(row.target, row.known): row for row in measured(scenario, HERE, 1_000, (ALONE,))}
    assert rows["attempt_fails", ALONE].area == pytest.approx(1.0, abs=1e-3)
    assert rows["task_finishes", ALONE].area > 0.99


def test_without_a_forecast_nothing_is_told_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(information, "PLAYED", ("as recorded",))
    scenario = resolve("Cloning-v1", {**SMALL, "forecast": "none"})
    (row, *_) = measured(scenario, HERE, 500, (ALONE,))
    assert row.fields == 0
    assert np.isnan(row.area)


def test_what_tells_more_than_the_record_is_marked() -> None:
    row = Row(HERE, "departed", "attempt_fails", WITHOUT, 9, 100, 10, 0.3, 0.8, 0.7, 0.9)
    other = replace(row, where=REAL, area=0.76)
    assert exceeding([row, other]) == []
    assert exceeding([row, replace(other, area=0.74)]) == [row]
    assert exceeding([row]) == []
    group = replace(row, known=GROUPS[0])
    assert exceeding([row, group, replace(other, area=0.74), replace(group, where=REAL)]) == [row]
    assert exceeding([row, other, replace(group, where=REAL, area=0.1)]) == []
    assert exceeding([row, replace(other, area=0.1, played="as recorded")]) == []


def test_the_command_keeps_each_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Typer()
    app.command()(information.main)
    file = tmp_path / "information.json"
    for env in ("Cloning-v1", "Checkpoint-v1"):
        words = ["--env", f"failgym/{env}", "--set", "jobs=400", "--most", "300"]
        found = CliRunner().invoke(app, [*words, "--groups", "--json", str(file)])
        assert found.exit_code == 0, found.output
    content = json.loads(file.read_text())
    assert list(content) == [f"failgym/{env} jobs=400" for env in ("Cloning-v1", "Checkpoint-v1")]
    rows = rows_in(content["failgym/Cloning-v1 jobs=400"])
    assert len(rows) == 2 * len(TARGETS) * (3 + len(GROUPS))
    lines = page(content).splitlines()
    assert lines[0] == "`failgym/Cloning-v1` with `jobs=400`:"
    assert sum(line.startswith("| the task finishes |") for line in lines) == 2 * 4
