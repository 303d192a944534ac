"""From a scenario to a compiled world: trace, split, forecast, expectations, prices, slices."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from failgym.envs.batches import AnyWorld
from failgym.envs.forecasts import DRAWN, PREDICTORS, forecast_of
from failgym.envs.scenario import Scenario, Split
from failgym.envs.selection import mean_work, selected
from failgym.envs.sources import (
    last_written,
    learned_from,
    load_trace,
    origin_of,
    part_of,
    whole_trace,
)
from failgym.envs.unasked import nobody_asked
from failgym.predictors import Learned
from failgym.sim.batch import asked_tasks
from failgym.sim.compile import compile_world, parameters, with_slices
from failgym.sim.context import (
    Context,
    expectations,
    interruption_rates,
    interruption_times,
)
from failgym.sim.records import World
from failgym.sim.rules import Weights
from failgym.sim.system_table import SystemTable, system_table
from failgym.traces import Trace
from failgym.world_cache import kept_or_built

__all__ = ["PREDICTORS", "build_pinned", "build_world", "load_trace", "split_of"]

Ints = npt.NDArray[np.int64]


def split_of(scenario: Scenario, split: Split) -> Trace:
    """What a split of a scenario is simulated from; forecasts of it speak of this trace.

    In the pinned world a split of its trace; in the scheduled one with the cluster's machines and
    outages, and with earlier jobs that are there as background. A forecast of the whole trace
    serves every split.
    """
    if scenario.world == "pinned":
        return part_of(scenario, split)
    from failgym.envs.scheduled import simulated

    return simulated(scenario, split)


@lru_cache(maxsize=4)
def _system(trace: Trace) -> SystemTable:
    """The system table of the whole trace: what a split sees of the rest is the load."""
    return system_table(trace)


@lru_cache(maxsize=4)
def _interruptions(trace: Trace) -> Ints:
    """When the system ended attempts of the whole trace, as with the system table."""
    return interruption_times(trace)


def _compiled(scenario: Scenario) -> tuple[World, Ints]:
    """A world without prices, and the tasks that its slices are made of, by submission."""
    trace = part_of(scenario, scenario.split)
    known = part_of(scenario, learned_from(scenario.split))
    load = _system(whole_trace(scenario))
    context = Context(
        expectations=expectations(known, scenario.window),
        system=load.values,
        system_bins=load.bins,
        forecast=forecast_of(scenario, trace, lambda: known, lambda: origin_of(scenario)),
        interruptions=interruption_rates(known),
        interruption_times=_interruptions(whole_trace(scenario)),
    )
    world = compile_world(trace, scenario, context, seed=scenario.seed)
    chosen = np.flatnonzero(selected(scenario, trace, world.tasks))
    tasks = asked_tasks(world, scenario, chosen)
    if not len(tasks):
        raise nobody_asked(scenario, trace, world)
    return world, tasks


def _prices(scenario: Scenario, world: World, tasks: Ints) -> Weights:
    """The prices of a scenario: its weights over the means per task of a population of tasks."""
    record = world.tasks[tasks]
    return Weights(
        wasted=scenario.weight_wasted,
        overhead=scenario.weight_overhead,
        completion=scenario.weight_completion,
        forfeited=scenario.weight_forfeited,
        work_scale=mean_work(world.tasks, world.rows, tasks),
        time_scale=max(float((record["record_end"] - record["submit"]).mean()), 1.0),
    )


def _population(scenario: Scenario) -> Scenario:
    """The scenario whose tasks set the prices: the train split, whatever a forecast says of it."""
    split: Split = "all" if scenario.split == "all" else "train"
    decide = "every" if scenario.decide == "alarm" else scenario.decide
    return replace(scenario, split=split, forecast="none", decide=decide)


def build_world(scenario: Scenario) -> AnyWorld:
    """The world of a scenario, compiled once per version of its files (`failgym.world_cache`).

    Raises:
        ValueError: if the split has no task that is ever asked about, or a value names nothing.
    """
    said_by = scenario.forecast
    parameters_now = repr(said_by) if isinstance(said_by, Learned) else ""  # fields may be set
    stamps = last_written(scenario.trace), last_written(said_by)
    return _build(scenario, *stamps, parameters_now)


def build_pinned(scenario: Scenario) -> World:
    """`build_world` of a scenario of the pinned world.

    Raises:
        ValueError: as `build_world`, and for a scenario of the scheduled world.
    """
    world = build_world(scenario)
    if not isinstance(world, World):
        raise ValueError(f'{scenario.name}: expected a scenario of world="pinned"')
    return world


@lru_cache(maxsize=16)
def _build(
    scenario: Scenario, trace_stamp: int, forecast_stamp: int, parameters_now: str
) -> AnyWorld:
    named = scenario.forecast if isinstance(scenario.forecast, str) else ""
    makers = PREDICTORS.get(named), DRAWN.get(named)
    if scenario.world == "scheduled":
        from failgym.envs.scheduled import build_scheduled
        from failgym.sim.scheduled.records import World as ScheduledWorld

        return kept_or_built(scenario, makers, ScheduledWorld, lambda: build_scheduled(scenario))
    return kept_or_built(scenario, makers, World, lambda: _build_pinned(scenario))


def _build_pinned(scenario: Scenario) -> World:
    """The pinned world of a scenario, compiled."""
    world, tasks = _compiled(scenario)
    same = scenario.split in ("train", "all") and scenario.decide != "alarm"
    prices = _prices(scenario, *((world, tasks) if same else _compiled(_population(scenario))))
    world = world._replace(parameters=parameters(scenario, prices))
    return with_slices(world, tasks, scenario.slice_tasks)
