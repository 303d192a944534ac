"""The way from a scenario to a scheduled world, step by step."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.compile import EpisodeTasks, compile_scheduled, with_members
from failgym.sim.scheduled.records import PARAMETERS
from failgym.sim.scheduled.records import World as Tables
from failgym.sim.shared.compile import parameters
from failgym.sim.shared.rules import Weights
from failgym.traces import Trace
from failgym.world_cache import KeptPart, kept_or_built
from failgym.worlds.context import context_of
from failgym.worlds.continuation import continuation_of
from failgym.worlds.forecast import forecast_of, makers
from failgym.worlds.prices import completion_times, prices_of, units_of
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.scheduled.cluster import with_cluster
from failgym.worlds.scheduled.nodes import node_predictions
from failgym.worlds.scheduled.paths import critical_paths
from failgym.worlds.scheduled.slices import slices_of
from failgym.worlds.scheduled.strikes import apart, struck
from failgym.worlds.scheduled.world import ScheduledWorld
from failgym.worlds.selection import selected
from failgym.worlds.settings.prices import Prices
from failgym.worlds.source import whole_trace
from failgym.worlds.split import Part, learned_from, split_trace, split_with_earlier
from failgym.worlds.unasked import nobody_asked

__all__ = ["build", "build_all", "simulated"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PRICES = ("wasted", "overhead", "completion", "forfeited_work", "forfeited_time")
"""Fields of the parameters that prices set."""


def build(scenario: Scenario, *, packed: bool = False) -> ScheduledWorld:
    """The scheduled world of a scenario.

    Args:
        scenario: whose.
        packed: keep it packed, as one of many.

    Raises:
        ValueError: if the split has no task that is ever asked about, or a value names nothing.
    """
    part = KeptPart("packed", "world") if packed else None
    tables = kept_or_built(scenario, makers(scenario), Tables, lambda: _tables(scenario), part)
    return ScheduledWorld(tables)


def _tables(scenario: Scenario) -> Tables:
    """What the kernels read."""
    whole = whole_trace(scenario)
    part = simulated(scenario, scenario.split, whole)
    known = simulated(scenario, learned_from(scenario.split), whole)
    tables = _compiled(scenario, part, known)
    chosen = _chosen(scenario, part, tables)
    if scenario.split in ("train", "all") and scenario.beyond_record != "continued":
        prices = _prices(scenario, tables, chosen)
    else:
        prices = _train_prices(scenario, whole, part, tables)
    tables = tables._replace(parameters=_priced(tables, scenario, prices))
    return with_members(tables, slices_of(scenario, part.trace, tables, chosen))


def build_all(trace: Trace, scenario: Scenario, known_only: bool) -> ScheduledWorld:
    """A world with all tasks of a trace in one slice, on the scenario's cluster.

    Raises:
        ValueError: if there is no task of known fate, or the forecast is of another trace.
    """
    scenario = replace(scenario, trace=trace, split="all", sampling=0.0, longest=0)
    part = simulated(scenario, "all", trace)
    tables = _compiled(scenario, part, part)
    tasks = np.flatnonzero(tables.tasks["rows"] > 0)
    own = ~tables.tasks["censored"][tasks] | (not known_only)
    if not own.any():
        raise ValueError("trace: expected at least one task whose end is known")
    none = np.zeros((0, 2), dtype=np.int64)
    return ScheduledWorld(with_members(tables, [EpisodeTasks(tasks, own, none)]))


def simulated(scenario: Scenario, split: Split, whole: Trace) -> Part:
    """What a split is simulated from: with machines, outages and what strikes jobs."""
    if not (scenario.failed_share or scenario.job_machines):
        return _on_cluster(scenario, split, whole)
    nothing = dict.fromkeys(scenario.kind.decisions, False)
    nothing |= {field.name: field.default for field in fields(Prices)} | {"charge": "own"}
    same = {"name": "", "forecast": "none", "seed": 0, "split": "all", "node_forecast": "none"}
    return _struck(_ending(scenario, **nothing, **same), split, whole)


@lru_cache(maxsize=8)
def _on_cluster(scenario: Scenario, split: Split, whole: Trace) -> Part:
    """A split on the machines of the scenario."""
    part = split_with_earlier(whole, scenario, split)
    train = split_trace(whole, scenario, "train").recorded if scenario.load else whole
    return with_cluster(scenario, part, train)


@lru_cache(maxsize=4)
def _struck(scenario: Scenario, split: Split, whole: Trace) -> Part:
    """A split whose jobs are apart, each struck once; the same for scenarios of equal rules."""
    part = _on_cluster(scenario, split, whole)
    part = replace(part, trace=apart(scenario, part.trace))
    if not scenario.failed_share:
        return part
    return replace(part, trace=struck(scenario, part.trace, _run_times(scenario, part)))


def _run_times(scenario: Scenario, part: Part) -> Ints:
    """How long each job takes alone and undisturbed, [jobs] [ms]; 0 for one without tasks."""
    alone = replace(scenario, slice_jobs=1)
    tables = _compiled(alone, part, part)
    slices = slices_of(alone, part.trace, tables, tables.tasks["rows"] > 0)
    world = ScheduledWorld(with_members(tables, slices))
    times = np.zeros(part.trace.rows("jobs"), dtype=np.int64)
    batch = world.batch(scenario, 1)
    for i, tasks in enumerate(slices):
        batch.reset(np.array([i]))
        job = tables.tasks["job"][tasks.tasks[0]]
        times[job] = batch.outcomes(0)["end"].max() - tables.tasks["submit"][tasks.tasks].min()
    return times


def _compiled(scenario: Scenario, part: Part, known: Part) -> Tables:
    """A part of a trace at prices of 1, without slices."""
    forecast = forecast_of(scenario, part, known)
    # The load is the simulated cluster's.
    context = context_of(known.trace, forecast, scenario.window)
    nodes = node_predictions(scenario, part)
    continuation = continuation_of(scenario, part, known.trace)
    weights = Weights(task_value=scenario.task_value)
    return compile_scheduled(
        part.trace, scenario, context, weights, scenario.seed, nodes, continuation
    )


def _chosen(scenario: Scenario, part: Part, tables: Tables) -> Bools:
    """Tasks that are asked about [tasks of the trace]: of the split, of known fate, to be run."""
    tasks = tables.tasks
    chosen = selected(scenario, part.trace, tasks) & ~tasks["censored"] & (tasks["rows"] > 0)
    chosen &= part.own_tasks
    if scenario.begin and scenario.split != "test":
        chosen &= tasks["submit"] >= scenario.begin
    if not chosen.any():
        raise nobody_asked(scenario, part, tables)
    return chosen


def _train_prices(scenario: Scenario, whole: Trace, part: Part, tables: Tables) -> Weights:
    """The prices that the tasks of the train split set; they may be the same as those at hand.

    They are replayed, and nothing of them goes on beyond its record.
    """
    split: Split = "all" if scenario.split == "all" else "train"
    train = _ending(scenario, split=split, forecast="none", node_forecast="none")
    other = simulated(scenario, split, whole)
    if other.trace is not part.trace or scenario.beyond_record == "continued":
        tables = _compiled(train, other, other)
    return _prices(scenario, tables, _chosen(train, other, tables))


def _ending(scenario: Scenario, **values: Any) -> Scenario:
    """The scenario with some fields changed, in which nothing goes on beyond its record."""
    return scenario.reduced(beyond_record="ghost", **values)


def _prices(scenario: Scenario, tables: Tables, chosen: Bools) -> Weights:
    """The prices that some tasks set; where jobs are charged for, by their critical paths."""
    tasks = np.flatnonzero(chosen)
    times = completion_times(tables, tasks)
    if scenario.completion == "jobs":
        times = critical_paths(tables)[np.unique(tables.tasks["job"][tasks])]
    return prices_of(scenario, units_of(tables, tasks, times))


def _priced(tables: Tables, scenario: Scenario, prices: Weights) -> npt.NDArray[np.void]:
    """The parameters of a world at other prices."""
    priced = tables.parameters.copy()
    given = parameters(scenario, prices, PARAMETERS)
    for name in PRICES:
        priced[name] = given[name]
    return priced
