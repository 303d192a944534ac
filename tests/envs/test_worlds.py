"""From a scenario to a world: splits, prices, forecasts of every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from failgym.envs import resolve
from failgym.predictors import Calibrated, Perfect, save_forecast
from failgym.traces import generate
from failgym.worlds.build import build_world, split_of

SMALL = {"jobs": 600, "slice_tasks": 8}


def test_slices_hold_tasks_in_order_of_submission() -> None:
    world = build_world(resolve("GracePeriod-v1", SMALL)).tables
    submits = world.tasks["submit"][world.order]
    assert (np.diff(submits) >= 0).all()
    assert (np.diff(world.slices)[:-1] == 8).all()
    assert not world.tasks["censored"][world.order].any()


def test_prices_are_those_of_the_train_split() -> None:
    train, test = (
        build_world(resolve("Cloning-v1", {**SMALL, "split": s})).tables for s in ("train", "test")
    )
    assert train.parameters.tobytes() == test.parameters.tobytes()


@pytest.mark.parametrize("name", ["none", "perfect", "elsayed", "rosa", "kumar"])
def test_forecasts_by_name(name: str) -> None:
    world = build_world(resolve("Cloning-v1", {**SMALL, "forecast": name})).tables
    assert (world.risk.max() > 0) == (name != "none")


def test_forecasts_by_predictor_object_and_file(tmp_path: Path) -> None:
    scenario = resolve("Cloning-v1", {**SMALL, "split": "test"})
    trace = split_of(scenario, "test")
    forecast = Calibrated.elsayed(seed=3).predict(trace)
    file = tmp_path / "forecast.npz"
    save_forecast(forecast, file)
    worlds = [
        build_world(scenario.override(forecast=given)).tables
        for given in (Calibrated.elsayed(seed=3), forecast, str(file))
    ]
    assert all((world.risk == worlds[0].risk).all() for world in worlds)
    assert len({world.parameters.tobytes() for world in worlds}) == 1


def test_forecast_of_another_trace_is_refused() -> None:
    scenario = resolve("Cloning-v1", SMALL)
    other = split_of(scenario.override(jobs=200, trace_seed=9), "train")
    with pytest.raises(ValueError, match="forecast"):
        build_world(scenario.override(forecast=Perfect().predict(other)))


def test_decisions_on_alarms_have_prices_too() -> None:
    scenario = resolve("Cloning-v1", {**SMALL, "decide": "alarm", "alarm": 0.5})
    assert len(build_world(scenario).own_tasks) > 0


def test_tasks_of_endless_attempts_are_in_no_slice() -> None:
    world = build_world(resolve("GracePeriod-v1", {**SMALL, "max_attempts": 2}))
    assert world.tasks["rows"][world.own_tasks].max() <= 2


@pytest.mark.parametrize(
    ("field", "value"),
    [("jobs", 0), ("split", "middle"), ("boundary", 1.5), ("weight_wasted", -1.0), ("window", 0)],
)
def test_values_out_of_range_name_the_field(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        resolve("Cloning-v1", {field: value})


def test_a_replaced_trace_is_noticed(tmp_path: Path) -> None:
    scenario = resolve("GracePeriod-v1", {"trace": str(tmp_path / "t"), "split": "all"})
    sizes: list[int] = []
    for jobs in (60, 120):
        generate("google-2011", jobs=jobs, seed=1).save(tmp_path / "t")
        sizes.append(len(build_world(scenario).tasks))
    assert sizes[0] < sizes[1]


def test_forecast_of_other_windows_is_refused() -> None:
    scenario = resolve("Cloning-v1", {**SMALL, "forecast": Perfect(window=60_000)})
    with pytest.raises(ValueError, match="forecast: expected windows of 300000 ms"):
        build_world(scenario)
