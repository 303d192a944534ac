"""From a scenario to a toy world."""

from __future__ import annotations

import numpy as np

from failgym.traces import Outcome
from failgym.worlds.prices import completion_times, prices_of, units_of
from failgym.worlds.split import Part
from tests.worlds.toy import ToyScenario
from tests.worlds.toy.world import ROW, TASK, Tables, ToyWorld

__all__ = ["build"]


def build(scenario: ToyScenario, part: Part) -> ToyWorld:
    """The toy world of a part of a trace: its tasks that fail at least once."""
    trace = part.trace
    task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
    ends = np.isin(outcome, [Outcome.FAIL, Outcome.FINISH]) & trace.present("attempts", "start")
    rows = np.zeros(int(ends.sum()), dtype=ROW)
    start, end = (trace.column("attempts", name)[ends] for name in ("start", "end"))
    rows["duration"], rows["outcome"] = (end - start) / scenario.speed, outcome[ends]
    tasks = np.zeros(trace.rows("tasks"), dtype=TASK)
    tasks["rows"] = np.bincount(task[ends], minlength=len(tasks))
    tasks["rows_at"] = np.cumsum(tasks["rows"]) - tasks["rows"]
    tasks["width"] = trace.column("tasks", "width")
    tasks["submit"] = trace.column("jobs", "submit")[trace.column("tasks", "job")]
    tasks["record_end"] = tasks["submit"]
    np.maximum.at(tasks["record_end"], task[ends], end)
    tasks["record_outcome"] = trace.task_outcome
    failed = np.zeros(len(tasks), dtype=np.bool_)
    failed[task[ends & (outcome == Outcome.FAIL)]] = True
    chosen = np.flatnonzero(failed)
    order = chosen[np.argsort(tasks["submit"][chosen], kind="stable")]
    at = np.append(np.arange(0, len(order), scenario.slice_tasks), len(order))
    tables = Tables(tasks, rows, order, at, 0.0, 0.0)
    prices = prices_of(scenario, units_of(tables, order, completion_times(tables, order)))
    lost = prices.wasted / prices.work_scale
    return ToyWorld(tables._replace(lost=lost, forfeited=prices.forfeited / prices.work_scale))
