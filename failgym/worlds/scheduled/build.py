"""From a scenario to a compiled scheduled world."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from failgym.predictors import CalibratedNodes, NodeForecast
from failgym.sim.compile import parameters
from failgym.sim.context import SYSTEM_FIELDS, Context, expectations, interruption_rates
from failgym.sim.rules import Weights
from failgym.sim.scheduled.cluster import cluster_of
from failgym.sim.scheduled.compile import compile_scheduled, with_members
from failgym.sim.scheduled.records import PARAMETERS, World
from failgym.sim.scheduled.rules import NodePredictions
from failgym.traces import Trace
from failgym.worlds.forecast import forecast_of
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.scheduled.cluster import with_cluster
from failgym.worlds.scheduled.slices import slices_of
from failgym.worlds.scheduled.strikes import apart, struck
from failgym.worlds.selection import mean_work, selected
from failgym.worlds.split import jobs_of, learned_from, origin_of, part_of
from failgym.worlds.unasked import nobody_asked

__all__ = ["build_scheduled", "compiled", "simulated"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PRICES = ("wasted", "overhead", "completion", "forfeited_work", "forfeited_time")
"""Fields of the parameters that prices set."""
DECISIONS = ("clone", "checkpoint", "kill", "give_up", "retry", "place", "save_outputs")


def simulated(scenario: Scenario, split: Split) -> Trace:
    """The trace that a split is simulated from: with machines, outages and what strikes jobs."""
    if not (scenario.failed_share or scenario.job_machines):
        return with_cluster(scenario, split)
    weights = ("weight_wasted", "weight_overhead", "weight_completion", "weight_forfeited")
    nothing = dict.fromkeys(DECISIONS, False) | dict.fromkeys(weights, 1.0)
    same = {"name": "", "forecast": "none", "seed": 0, "split": "all", "node_forecast": "none"}
    return _apart(replace(scenario, **nothing, **same), split)


@lru_cache(maxsize=4)
def _apart(scenario: Scenario, split: Split) -> Trace:
    """A split whose jobs are apart, each struck once; the same for scenarios of equal rules."""
    trace = apart(scenario, with_cluster(scenario, split))
    if not scenario.failed_share:
        return trace
    return struck(scenario, trace, _run_times(scenario, trace))


def _run_times(scenario: Scenario, trace: Trace) -> Ints:
    """How long each job takes alone and undisturbed, [jobs] [ms]; 0 for one without tasks."""
    from failgym.sim.scheduled.batch import ScheduledBatch

    world = compiled(replace(scenario, slice_jobs=1), trace, trace)
    runs = world.tasks["rows"] > 0
    slices = slices_of(replace(scenario, slice_jobs=1), trace, world, runs)
    world = with_members(world, slices)
    times = np.zeros(trace.rows("jobs"), dtype=np.int64)
    batch = ScheduledBatch(world, scenario, 1)
    for i, tasks in enumerate(slices):
        batch.reset(np.array([i]))
        job = world.tasks["job"][tasks.tasks[0]]
        times[job] = batch.outcomes(0)["end"].max() - world.tasks["submit"][tasks.tasks].min()
    return times


def compiled(scenario: Scenario, trace: Trace, known: Trace) -> World:
    """A world without prices and slices.

    Args:
        scenario: rules and forecasts.
        trace: what is simulated.
        known: what predictors are fitted on and expectations come from.
    """
    context = Context(
        expectations=expectations(known, scenario.window),
        system=np.zeros((1, SYSTEM_FIELDS), dtype=np.float32),  # read from the simulated cluster
        forecast=forecast_of(scenario, trace, lambda: known, lambda: origin_of(scenario)),
        interruptions=interruption_rates(known),
    )
    nodes = _node_predictions(scenario, trace)
    return compile_scheduled(trace, scenario, context, seed=scenario.seed, nodes=nodes)


def _node_predictions(scenario: Scenario, trace: Trace) -> NodePredictions | None:
    """What is predicted of the machines of the cluster."""
    if scenario.node_forecast == "none":
        return None
    if isinstance(scenario.node_forecast, NodeForecast):
        # The record's own machines and outages, but for the end of those that are left down.
        own = scenario.outages == "trace" and not (scenario.machines or scenario.load)
        recorded = part_of(scenario, scenario.split) if own else trace
        spoken_of = scenario.node_forecast.trace_hash == recorded.content_hash
        forecast = scenario.node_forecast.check(recorded if spoken_of else trace)
    elif scenario.node_forecast == "exact":
        forecast = NodeForecast.exact(trace)
    else:
        forecast = CalibratedNodes(
            scenario.node_accuracy, scenario.node_false_positives, seed=scenario.seed
        ).predict(trace)
    rows = cluster_of(trace)[1]
    count = np.diff(forecast.offset)[rows]
    at = np.repeat(forecast.offset[rows] - (np.cumsum(count) - count), count)
    offset = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    return NodePredictions(offset, forecast.time[at + np.arange(len(at))])


def chosen_tasks(scenario: Scenario, trace: Trace, world: World) -> Bools:
    """Tasks that are asked about [tasks of the trace]: of the split, of known fate, to be run."""
    tasks = world.tasks
    chosen = selected(scenario, trace, tasks) & ~tasks["censored"] & (tasks["rows"] > 0)
    within = jobs_of(scenario)[tasks["job"]]
    chosen &= within
    if scenario.begin and scenario.split != "test":
        chosen &= tasks["submit"] >= scenario.begin
    if not chosen.any():
        raise nobody_asked(scenario, trace, world, within)
    return chosen


def build_scheduled(scenario: Scenario) -> World:
    """The scheduled world of a scenario.

    Raises:
        ValueError: if the split has no task that is ever asked about, or a value names nothing.
    """
    trace = simulated(scenario, scenario.split)
    world = compiled(scenario, trace, simulated(scenario, learned_from(scenario.split)))
    chosen = chosen_tasks(scenario, trace, world)
    prices = _prices(scenario, world, chosen)
    if scenario.split not in ("train", "all"):
        population = replace(scenario, split="train", forecast="none", node_forecast="none")
        train = simulated(scenario, "train")
        other = world if train is trace else compiled(population, train, train)
        prices = _prices(scenario, other, chosen_tasks(population, train, other))
    world = world._replace(parameters=_priced(world, scenario, prices))
    return with_members(world, slices_of(scenario, trace, world, chosen))


def _prices(scenario: Scenario, world: World, chosen: Bools) -> Weights:
    """The prices of a scenario: its weights over the means of a population.

    Work per task; time per task in the record or, where jobs are charged for, per job on its
    critical path.
    """
    tasks = world.tasks[chosen]
    time = tasks["record_end"] - tasks["submit"]
    if scenario.completion == "jobs":
        time = critical_paths(world)[np.unique(tasks["job"])]
    return Weights(
        wasted=scenario.weight_wasted,
        overhead=scenario.weight_overhead,
        completion=scenario.weight_completion,
        forfeited=scenario.weight_forfeited,
        work_scale=mean_work(world.tasks, world.rows, chosen),
        time_scale=max(float(time.mean()), 1.0),
    )


def critical_paths(world: World) -> Ints:
    """Time that each job takes on endless machines, transfers aside, stage by stage, [jobs] [ms].

    A task takes as long as its first attempt.
    """
    tasks, dags = world.tasks, world.dags
    length = np.zeros(len(tasks), dtype=np.int64)
    runs = tasks["rows"] > 0
    length[runs] = world.rows["length"][tasks["rows_at"][runs]]
    staged = tasks["stage"] >= 0
    longest = np.zeros(len(dags.level), dtype=np.int64)
    np.maximum.at(longest, tasks["stage"][staged], length[staged])
    end = np.append(longest, 0)  # the last is that of tasks without stage
    for stage in np.argsort(dags.level, kind="stable").tolist():
        before = dags.parent[dags.into[dags.in_at[stage] : dags.in_at[stage + 1]]]
        end[stage] += end[before].max(initial=0)
    path = np.zeros(int(tasks["job"].max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(path, tasks["job"], np.where(staged, end[tasks["stage"]], length))
    return path


def _priced(world: World, scenario: Scenario, prices: Weights) -> npt.NDArray[np.void]:
    """The parameters of a world at other prices."""
    priced = world.parameters.copy()
    given = parameters(scenario, prices, PARAMETERS)
    for name in PRICES:
        priced[name] = given[name]
    return priced
