"""Compile a trace into the packed arrays of the engine.

What the record says of each task is worked out once, here, in plain numpy: which row is the user's
final kill, what ends each attempt, how long it would have taken, what its siblings had done by
when.
"""

from __future__ import annotations

import numpy as np

from failgym.sim.pinned.records import World
from failgym.sim.pinned.siblings import by_job, running_medians
from failgym.sim.pinned.system_table import row_index, time_index
from failgym.sim.shared.alarm_risks import alarm_tables
from failgym.sim.shared.compile import (
    Ints,
    attempts_of,
    check_forecast,
    lazy_intervals,
    parameters,
    requests,
    rows_of,
    tasks_of,
    user_kill,
)
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.continued import continue_record
from failgym.sim.shared.forfeits import set_forfeits
from failgym.sim.shared.rules import Rules, Weights
from failgym.sim.shared.totals import check_totals
from failgym.sim.shared.usage import usage_of
from failgym.traces import Trace

__all__ = ["compile_world", "with_slices"]


def compile_world(
    trace: Trace,
    rules: Rules,
    context: Context,
    weights: Weights | None = None,
    seed: int = 0,
    continuation: Continuation | None = None,
) -> World:
    """Compile every task of a trace; `with_slices` then says which of them make up episodes.

    Args:
        trace: the record.
        rules: what may be decided, caps and costs.
        context: expectations, system table and forecast; the forecast must speak of this trace.
        weights: prices of the cost terms; all 1 by default.
        seed: key of the lengths of attempts that were cut, and of all that is drawn beyond the
            record.
        continuation: how the tasks go on, where the rules continue the record.

    Raises:
        ValueError: if the forecast is of another trace, or of windows of another length, the rules
            need a continuation and there is none, or one of another number of tasks, tasks have a
            value and the record is not continued, or they allow
            more than fits into the engine's numbers.
    """
    check_forecast(trace, rules, context.forecast)
    weights = weights or Weights()
    a = attempts_of(trace)
    kill_at = user_kill(a)
    tasks = tasks_of(trace, a, kill_at, rules, context)
    usage = usage_of(trace, rules.window)
    job = trace.column("tasks", "job")
    finishes = by_job(job, tasks["own_finish"], tasks["own_duration"], trace.jobs.num_rows)
    fails = by_job(job, tasks["own_fail"], tasks["own_duration"], trace.jobs.num_rows)
    low, high = running_medians(finishes.first, finishes.value)
    rows = rows_of(a, kill_at, context, usage, seed)
    beyond = continue_record(rules, continuation, a, tasks, rows, seed)
    if len(beyond.tasks):
        check_totals(rules, tasks, rows, drawn=beyond.longest, gap=beyond.gap)
    else:
        check_totals(rules, tasks, rows)
    set_forfeits(tasks, beyond, weights)
    tasks["finish_at"], tasks["finishes"] = finishes.first[job], np.diff(finishes.first)[job]
    tasks["fail_at"], tasks["fails"] = fails.first[job], np.diff(fails.first)[job]
    return World(
        parameters=parameters(rules, weights),
        tasks=tasks,
        rows=rows,
        order=np.zeros(0, dtype=np.int64),
        slices=np.zeros(1, dtype=np.int64),
        finish_end=finishes.time,
        finish_low=low,
        finish_high=high,
        fail_end=fails.time,
        risk=np.append(context.forecast.risk, np.float32(0)),
        usage=usage.fields,
        usage_known=usage.known,
        request=requests(trace),
        system=context.system,
        system_bins=context.system_bins,
        system_index=row_index(context.system_bins),
        interruption_times=context.interruption_times,
        interruption_index=time_index(context.interruption_times),
        expectations=context.expectations,
        lazy=lazy_intervals(context, rules),
        beyond=beyond.tasks,
        laws=beyond.laws,
        alarms=alarm_tables(context.forecast.alarms, continuation if len(beyond.tasks) else None),
    )


def with_slices(world: World, tasks: Ints, slice_tasks: int) -> World:
    """The same world with slices of ``slice_tasks`` of the given tasks, in order of submission."""
    tasks = np.asarray(tasks, dtype=np.int64)
    order = tasks[np.lexsort((tasks, world.tasks["submit"][tasks]))]
    slices = np.append(np.arange(0, len(order), slice_tasks), len(order)).astype(np.int64)
    return world._replace(order=order, slices=slices)
