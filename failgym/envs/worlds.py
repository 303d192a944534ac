"""From a scenario to a compiled world: trace, split, forecast, expectations, prices, slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from failgym.envs.scenario import Scenario, Split
from failgym.predictors import (
    Calibrated,
    Forecast,
    NoForecast,
    Perfect,
    Predictor,
    load_forecast,
)
from failgym.sim.batch import asked_tasks
from failgym.sim.compile import compile_world, parameters, with_slices
from failgym.sim.context import Context, expectations, system_table
from failgym.sim.records import NEVER, World
from failgym.sim.rules import Weights
from failgym.traces import Outcome, Trace
from failgym.traces.synthetic import PROFILES, generate

__all__ = ["PREDICTORS", "build_world", "load_trace", "split_of"]

Ints = npt.NDArray[np.int64]

PREDICTORS: dict[str, Callable[[Scenario], Predictor]] = {
    "none": lambda s: NoForecast(window=s.window),
    "perfect": lambda s: Perfect(window=s.window),
    "elsayed": lambda s: Calibrated.elsayed(window=s.window, seed=s.seed),
    "rosa": lambda s: Calibrated.rosa(window=s.window, seed=s.seed),
    "kumar": lambda s: Calibrated.kumar(window=s.window, seed=s.seed),
}
"""Predictors that a scenario may name."""


def _stamp(source: object) -> int:
    """When a folder of a trace, or a file of a forecast, was last written; 0 for anything else."""
    if not isinstance(source, str | Path):
        return 0
    path = Path(source) / "meta.json" if Path(source).is_dir() else Path(source)
    return path.stat().st_mtime_ns if path.is_file() else 0


def load_trace(source: str | Path | Trace, jobs: int, seed: int) -> Trace:
    """The trace of a scenario: as given, generated from a profile, or read from a folder.

    Raises:
        ValueError: if it is neither a profile nor a stored trace.
    """
    if isinstance(source, Trace):
        return source
    return _load(source, jobs, seed, _stamp(source))


@lru_cache(maxsize=4)
def _load(source: str | Path, jobs: int, seed: int, stamp: int) -> Trace:
    """Generate or read a trace, once per process and version of it."""
    if str(source) in PROFILES:
        return generate(str(source), jobs=jobs, seed=seed)
    if not Path(source).is_dir():
        known = ", ".join(PROFILES)
        raise ValueError(
            f"trace: expected a profile ({known}) or the folder of a trace, got {source}"
        )
    return Trace.load(source)


def split_of(scenario: Scenario, split: Split) -> Trace:
    """A split of the trace of a scenario."""
    trace = load_trace(scenario.trace, scenario.jobs, scenario.trace_seed)
    return _part(trace, split, scenario.boundary)


@lru_cache(maxsize=8)
def _part(trace: Trace, split: Split, boundary: float) -> Trace:
    """A split of a trace, made once."""
    return trace if split == "all" else trace.split(split, boundary)


def _forecast(scenario: Scenario, trace: Trace) -> Forecast:
    """The forecast of a split."""
    wanted = scenario.forecast
    if isinstance(wanted, Forecast):
        return wanted
    if isinstance(wanted, str):
        if wanted not in PREDICTORS:
            if Path(wanted).is_file():
                return load_forecast(Path(wanted), trace)
            known = ", ".join(PREDICTORS)
            raise ValueError(f"forecast: expected one of {known} or a file, got {wanted!r}")
        wanted = PREDICTORS[wanted](scenario)
    return wanted.fit(split_of(scenario, "train")).predict(trace)


@lru_cache(maxsize=4)
def _system(trace: Trace) -> npt.NDArray[np.float32]:
    """The system table of the whole trace: what a split sees of the rest is the load."""
    return system_table(trace)


def _compiled(scenario: Scenario) -> tuple[World, Ints]:
    """A world without prices, and the tasks that its slices are made of, by submission."""
    trace = split_of(scenario, scenario.split)
    context = Context(
        expectations=expectations(split_of(scenario, "train"), scenario.window),
        system=_system(load_trace(scenario.trace, scenario.jobs, scenario.trace_seed)),
        forecast=_forecast(scenario, trace),
    )
    world = compile_world(trace, scenario, context, seed=scenario.seed)
    tasks = asked_tasks(world, scenario, np.flatnonzero(_eligible(scenario, trace, world)))
    if not len(tasks):
        raise ValueError(f"scenario: no task of the {scenario.split} split is ever asked about")
    return world, tasks


def _eligible(scenario: Scenario, trace: Trace, world: World) -> npt.NDArray[np.bool_]:
    """Tasks that the scenario selects."""
    tasks = world.tasks
    chosen = tasks["rows"] <= scenario.max_attempts
    if scenario.select == "failing":
        job = trace.column("tasks", "job")
        failed = np.zeros(trace.jobs.num_rows, dtype=np.bool_)
        failed[job[tasks["own_fail"] != NEVER]] = True
        killed = np.zeros(trace.jobs.num_rows, dtype=np.bool_)
        by_user = (tasks["kill_at"] != NEVER) & (tasks["record_outcome"] == Outcome.KILL)
        killed[job[by_user]] = True
        chosen &= (failed & ~killed)[job]
    return chosen


def _prices(scenario: Scenario, world: World, tasks: Ints) -> Weights:
    """The prices of a scenario: its weights over the means per task of a population of tasks."""
    record = world.tasks[tasks]
    row_task = np.repeat(np.arange(len(world.tasks)), world.tasks["rows"])
    work = np.bincount(row_task, world.rows["duration"], len(world.tasks)) * world.tasks["width"]
    return Weights(
        wasted=scenario.weight_wasted,
        overhead=scenario.weight_overhead,
        completion=scenario.weight_completion,
        forfeited=scenario.weight_forfeited,
        work_scale=max(float(work[tasks].mean()), 1.0),
        time_scale=max(float((record["record_end"] - record["submit"]).mean()), 1.0),
    )


def _population(scenario: Scenario) -> Scenario:
    """The scenario whose tasks set the prices: the train split, whatever a forecast says of it."""
    split: Split = "all" if scenario.split == "all" else "train"
    decide = "every" if scenario.decide == "alarm" else scenario.decide
    return replace(scenario, split=split, forecast="none", decide=decide)


def build_world(scenario: Scenario) -> World:
    """The world of a scenario, compiled once per process and version of its files.

    Raises:
        ValueError: if the split has no task that is ever asked about, or a value names nothing.
    """
    return _build(scenario, _stamp(scenario.trace), _stamp(scenario.forecast))


@lru_cache(maxsize=16)
def _build(scenario: Scenario, trace_stamp: int, forecast_stamp: int) -> World:
    world, tasks = _compiled(scenario)
    same = scenario.split != "test" and scenario.decide != "alarm"
    prices = _prices(scenario, *((world, tasks) if same else _compiled(_population(scenario))))
    world = world._replace(parameters=parameters(scenario, prices))
    return with_slices(world, tasks, scenario.slice_tasks)
