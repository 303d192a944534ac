"""The way from a scenario to a pinned world, step by step."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.batch import asked_tasks
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.pinned.records import World as Tables
from failgym.sim.shared.compile import parameters
from failgym.sim.shared.rules import Weights
from failgym.traces import Outcome, Trace
from failgym.world_cache import KeptPart, kept_or_built, nothing_kept
from failgym.worlds.context import context_of, with_system
from failgym.worlds.continuation import continuation_of
from failgym.worlds.forecast import forecast_of, makers
from failgym.worlds.pinned.world import PinnedWorld
from failgym.worlds.prices import Units, completion_times, prices_of, units_of
from failgym.worlds.recent import Recent
from failgym.worlds.scenario import Scenario, Split
from failgym.worlds.selection import selected
from failgym.worlds.source import whole_trace
from failgym.worlds.split import Part, learned_from, split_trace
from failgym.worlds.unasked import nobody_asked

__all__ = ["build", "build_all", "build_part"]

Ints = npt.NDArray[np.int64]

SLICE_TASKS = 16
"""Tasks of a slice of a whole trace: few, so that lanes end together; not 1, so that they seldom
change hands."""


def build(scenario: Scenario) -> PinnedWorld:
    """The pinned world of a scenario.

    Raises:
        ValueError: if the split has no task that is ever asked about, or a value names nothing.
    """
    return PinnedWorld(kept_or_built(scenario, makers(scenario), Tables, lambda: _tables(scenario)))


class _Kept(NamedTuple):
    """A part of a world, as it is kept."""

    tables: Tables
    trace_rows: Ints


def build_part(scenario: Scenario, slices: Ints) -> tuple[PinnedWorld, Ints]:
    """The world of some slices of a scenario (`PinnedWorld.only`), kept instead of the whole.

    They are numbered anew, in this order.
    """
    from failgym.worlds.build import build_world

    def built() -> _Kept:
        with nothing_kept():
            whole = build_world(scenario)
        assert isinstance(whole, PinnedWorld), "of this kind"
        part = whole.only(slices)
        assert part.trace_rows is not None, "of a part it is known"
        return _Kept(part.tables, part.trace_rows)

    name = hashlib.sha256(np.asarray(slices, dtype="<i8").tobytes()).hexdigest()
    kept = kept_or_built(scenario, makers(scenario), _Kept, built, KeptPart(name))
    return PinnedWorld(*kept), np.arange(len(slices))


def _tables(scenario: Scenario) -> Tables:
    """What the kernels read."""
    tables, tasks = _asked(scenario)
    if scenario.split not in ("train", "all") or scenario.decide == "alarm":
        units = _units(_pricing(scenario))
    else:
        units = units_of(tables, tasks, completion_times(tables, tasks))
    tables = tables._replace(parameters=parameters(scenario, prices_of(scenario, units)))
    return with_slices(tables, tasks, scenario.slice_tasks)


def build_all(trace: Trace, scenario: Scenario, known_only: bool) -> PinnedWorld:
    """A world of all tasks of a trace, or of those of known fate.

    Raises:
        ValueError: if there is none, or the forecast is of another trace.
    """
    whole = Part.all_of(trace)
    tables = _compiled(scenario, whole, whole)
    tasks = np.arange(trace.rows("tasks"))
    if known_only:
        tasks = tasks[trace.task_outcome != Outcome.CENSORED]
    if not len(tasks):
        raise ValueError("trace: expected at least one task whose end is known")
    return PinnedWorld(with_slices(tables, tasks, SLICE_TASKS))


def _asked(scenario: Scenario) -> tuple[Tables, Ints]:
    """What a scenario's split compiles to, and which of its tasks are asked about."""
    whole = whole_trace(scenario)
    part = split_trace(whole, scenario, scenario.split)
    known = split_trace(whole, scenario, learned_from(scenario.split))
    tables = _compiled(scenario, part, known)
    chosen = np.flatnonzero(selected(scenario, part.trace, tables.tasks))
    tasks = asked_tasks(tables, scenario, chosen)
    if not len(tasks):
        raise nobody_asked(scenario, part, tables)
    return tables, tasks


def _compiled(scenario: Scenario, part: Part, known: Part) -> Tables:
    """A part of a trace at prices of 1, without slices."""
    forecast = forecast_of(scenario, part, known)
    context = with_system(context_of(known.trace, forecast, scenario.window), part.whole)
    continuation = continuation_of(scenario, part, known.trace)
    weights = Weights(task_value=scenario.task_value)
    return compile_world(part.trace, scenario, context, weights, scenario.seed, continuation)


def _units(pricing: Scenario) -> Units:
    """What the tasks that set the prices cost, worked out once for all forecasts of a split."""
    decided = [getattr(pricing, one.name) for one in fields(pricing) if one.name != "trace"]
    key = *decided, whole_trace(pricing).content_hash
    found = _UNITS.get(key)
    if found is None:
        tables, tasks = _asked(pricing)
        found = _UNITS.keep(key, units_of(tables, tasks, completion_times(tables, tasks)))
    return found


_UNITS: Recent[Units] = Recent(lambda _: 0, most=8, room=0)
"""Of the folds of a trace."""


def _pricing(scenario: Scenario) -> Scenario:
    """The scenario whose tasks set the prices: the train split, whatever a forecast says of it.

    They are replayed, and nothing of them goes on beyond its record.
    """
    split: Split = "all" if scenario.split == "all" else "train"
    decide = "every" if scenario.decide == "alarm" else scenario.decide
    beyond = "ghost" if scenario.beyond_record == "continued" else scenario.beyond_record
    return scenario.reduced(split=split, forecast="none", decide=decide, beyond_record=beyond)
