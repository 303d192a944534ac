"""What checkpoints waste in Checkpoint-v1 where failures are exponential and predicted so well."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from experiments import prediction_aware
from experiments.prediction_aware import Model, forms, waste
from failgym.baselines import Daly, Young
from failgym.traces import Outcome, Trace
from failgym.vocabulary import SECOND

MODEL = Model()
TASKS = 600
"""Enough that chance moves no waste by more than about .001."""
FEWER = 200
PUBLISHED = {
    (0.76, 0.26): (0.0793, 0.0669),
    (0.95, 0.11): (0.1011, 0.0720),
    (0.9, 0.9): (0.0605, 0.0369),
}
"""Recall and precision -> waste of Young + ML, and with the prediction-aware period."""
QUICK = (0.76, 0.26)
"""What the page speaks of most; each takes seconds, and the others are a campaign."""


@cache
def trace(tasks: int = TASKS) -> Trace:
    return MODEL.trace(tasks, np.random.default_rng(0))


@pytest.mark.parametrize("quality", PUBLISHED)
def test_predictions_are_of_the_stated_quality(quality: tuple[float, float]) -> None:
    recall, precision = quality
    forecast = MODEL.forecast(trace(), recall, precision, np.random.default_rng(1))
    start, end = (trace().column("attempts", name) for name in ("start", "end"))
    at = np.flatnonzero(forecast.risk)
    row = np.searchsorted(forecast.offset, at, side="right") - 1
    left = end[row] - start[row] - (at - forecast.offset[row]) * MODEL.window
    failing = trace().column("attempts", "outcome") != Outcome.FINISH
    true = failing[row] & (left > MODEL.lead) & (left <= MODEL.lead + MODEL.window)
    long = failing & (end - start > MODEL.lead)
    assert true.sum() / long.sum() == pytest.approx(recall, abs=0.02)
    hours = (end - start).sum() / MODEL.mtbf
    assert (~true).sum() / hours == pytest.approx(recall * (1 - precision) / precision, rel=0.03)


@pytest.mark.parametrize(
    "quality",
    [QUICK, *(pytest.param(x, marks=pytest.mark.campaign) for x in PUBLISHED if x != QUICK)],
)
def test_the_prediction_aware_period_wastes_less_than_youngs(quality: tuple[float, float]) -> None:
    forecast = MODEL.forecast(trace(), *quality, np.random.default_rng(1))
    scenario = MODEL.scenario(trace(), forecast)
    policies = forms(*quality)
    young, aware = (waste(scenario, trace(), policy) for policy in policies["model"])
    assert (young, aware) == pytest.approx(PUBLISHED[quality], abs=0.006)
    assert aware < 0.9 * young
    assert waste(scenario, trace(), *policies["worth"]) < aware + 0.001  # the default


def test_youngs_interval_is_nearly_the_best_and_dalys_no_worse() -> None:
    struck = trace(FEWER)
    scenario = MODEL.scenario(struck)
    grid = {factor: waste(scenario, struck, Young(factor)) for factor in (0.7, 0.94, 1.0, 1.3)}
    assert grid[1.0] == pytest.approx(0.1057, abs=0.006)
    assert grid[1.0] <= 1.05 * min(grid.values())
    assert waste(scenario, struck, Daly()) <= 1.01 * grid[1.0]


def test_the_table_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = partial(Model, length=10_000 * SECOND)
    monkeypatch.setattr(prediction_aware, "Model", short)
    monkeypatch.setattr(prediction_aware, "FACTORS", (1.0,))
    monkeypatch.setattr(prediction_aware, "QUALITIES", ((0.9, 0.9),))
    file = tmp_path / "waste.json"
    arguments = ["--tasks", "10", "--seeds", "2", "--json", str(file)]
    app = typer.Typer()
    app.command()(prediction_aware.main)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(file.read_text("utf-8"))["figures"]
    assert [x["form"] for x in figures] == ["model"] * 2 + ["restart"] * 2 + ["worth", "", ""]
    assert all(0.0 < x["waste"] < 0.5 and x["error"] > 0.0 for x in figures)
