"""The experiments of FLAW: its worked examples, and what stretches of failures are made of."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from experiments import yu2010, yu2010_figure1, yu2010_figure6, yu2010_figure13
from experiments.reproduction import Options
from failgym.traces import Meta, Trace

QUICK = Options(seeds=2, quick=True)


@pytest.mark.parametrize("module", [yu2010_figure1, yu2010_figure6])
def test_the_worked_examples_are_exact(module: ModuleType) -> None:
    measured, _ = module.EXPERIMENT.run(Options(seeds=0))
    assert {row.verdict for row in measured.rows if row.band is not None} == {"within"}


def test_the_worked_schedule() -> None:
    measured, _ = yu2010_figure6.EXPERIMENT.run(Options(seeds=0))
    ours = {row.name: row.ours for row in measured.rows}
    assert ours["Fig. 6 (a), RANK_HYBD: makespan"] == 155
    assert ours["Fig. 6 (b), FLAW: makespan"] == 150
    assert ours["Fig. 8: AAA"] == pytest.approx(0.9)
    assert measured.series["Fig. 6 (b), FLAW"][1] == {
        "job": "T3",
        "node": "P1",
        "start": 40,
        "transferred": 40,
        "end": 60,
        "died": True,
    }


def test_rank_correlation() -> None:
    assert yu2010.rank_correlation((1, 2, 3), (2.0, 5.0, 5.5)) == pytest.approx(1.0)
    assert yu2010.rank_correlation((1, 2, 3), (3.0, 1.0, 1.0)) == pytest.approx(-(3**0.5) / 2)
    assert yu2010.rank_correlation((1, 2, 3), (7.0, 7.0, 7.0)) == 0.0


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A folder of traces, with a record that has one outage a day, of each node in turn."""
    days = np.arange(4 * 365) * yu2010.DAY
    origin = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
    trace: Any = Trace.of(
        Meta("lanl", unix_origin=int(origin.timestamp()) * 1000),
        machines={"original_id": [str(node) for node in range(49)], "speed": 1.0},
        outages={
            "machine": np.arange(len(days)) % 49,
            "down": days + yu2010.DAY // 2,
            "up": days + yu2010.DAY // 2 + 60_000,
        },
    )
    trace.save(tmp_path / "lanl-2")
    return tmp_path


def test_stretches_are_cut_from_the_record(record: Path) -> None:
    """One outage a day in each of them, of other nodes in the second."""
    made = yu2010.bench(Options(seeds=2, quick=True, traces=record))
    assert made.source == yu2010.RECORD
    machine, down = (made.trace.column("outages", name) for name in ("machine", "down"))
    order = np.argsort(down)
    stretch = yu2010.STRETCH // yu2010.DAY
    expected = np.arange(2 * stretch) * yu2010.DAY + yu2010.DAY // 2
    assert down[order].tolist() == expected.tolist()
    first, second = machine[order][:stretch], machine[order][stretch:]
    assert set(first) == set(second) == set(range(49))
    assert first[:49].tolist() != second[:49].tolist()


def test_every_stretch_has_its_workflows() -> None:
    made = yu2010.bench(QUICK)
    assert made.source == yu2010.PROFILE
    submit = made.trace.column("jobs", "submit")
    assert submit.tolist() == np.repeat([0, yu2010.STRETCH], made.dags).tolist()


def test_predictions_spare_work() -> None:
    """Who knows all failures loses less than who asks nobody, on the same stretches."""
    made = yu2010.bench(QUICK)
    blind, all_known = (yu2010.runs(made, made.scenario(level)) for level in (0.0, 1.0))
    assert all_known.loss.sum() < blind.loss.sum()
    assert all_known.reschedulings.sum() < blind.reschedulings.sum()


def test_a_trend_is_that_of_the_averages() -> None:
    """As the figures have it: what chance does to each stretch evens out."""
    falling, swings = np.array([1.0, 0.98, 0.96, 0.94]), np.array([0.0, 0.05, -0.05, 0.05])
    relative = np.stack([falling + swings, falling - swings], axis=1)
    row, each = yu2010_figure13.trends("AOA 1", (1, 2, 5, 10), relative)
    assert row.ours == pytest.approx(-1.0)
    assert row.verdict == "within"
    assert each.ours > -0.7
    assert each.band is None


def test_what_falls_is_held_against_no_predictions() -> None:
    found = yu2010.falling(QUICK, "loss", 0.7)
    blind, half = (yu2010.sweep(QUICK)[level].loss for level in (0.0, 0.5))
    rows = {row.name: row for row in found.rows}
    assert rows["loss at AOA 0.5 / at 0"].ours == pytest.approx(np.mean(half / blind))
    assert [row.name for row in found.rows if row.band] == ["loss at AOA 0.5 / at 0"]
    assert found.series["mean"][0] == pytest.approx(blind.mean())
