"""The tables of tasks, attempts and rules that every compiled world begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.context import Context, task_class
from failgym.sim.shared.fields import FIELDS, columns_of, group_of
from failgym.sim.shared.forecast import Forecast
from failgym.sim.shared.keys import Purpose, uniform
from failgym.sim.shared.records import PARAMETERS, ROW, TASK, Records
from failgym.sim.shared.rules import Rules, Weights
from failgym.sim.shared.totals import LONGEST_LENGTH
from failgym.sim.shared.usage import Usage
from failgym.traces import Trace
from failgym.vocabulary import MINUTE, NEVER, Cause, Ending, Outcome

__all__ = [
    "SPACINGS",
    "Attempts",
    "Ints",
    "attempts_of",
    "check_forecast",
    "lazy_intervals",
    "parameters",
    "requests",
    "rows_of",
    "tasks_of",
    "user_kill",
]

SMALLEST_FRACTION = 2.0**-20
"""u of a failure is uniform on [2**-20, 1): a length is at most 2**20 times what was seen."""
SPACINGS = ("every", "geometric", "alarm")

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Attempts:
    """Columns of the attempts table, with what belongs to each row's task."""

    task: Ints
    number: Ints
    start: Ints
    end: Ints
    outcome: Ints
    cause: Ints
    length: Ints
    first: Ints
    """[tasks + 1] first row of each task"""

    @property
    def started(self) -> Bools:
        """Has the attempt a start?"""
        return self.start >= 0

    def per_task(self, reduce: np.ufunc, values: Ints, empty: int) -> Ints:
        """Reduce a column over the rows of each task; ``empty`` for a task without rows."""
        out = np.full(len(self.first) - 1, empty, dtype=np.int64)
        filled = np.flatnonzero(np.diff(self.first) > 0)
        if len(filled):
            out[filled] = reduce.reduceat(values, self.first[filled])
        return out

    def last_of(self, rows: Bools) -> Ints:
        """Of each task, the row of a selection that ends last (ties: the later row), else -1."""
        chosen = np.flatnonzero(rows)
        order = chosen[np.lexsort((chosen, self.end[chosen], self.task[chosen]))]
        return _last_of_each(self.task[order], order, len(self.first) - 1)

    def first_of(self, rows: Bools) -> Ints:
        """Of each task, the row of a selection that ends first (ties: the earlier row), else -1."""
        chosen = np.flatnonzero(rows)
        order = chosen[np.lexsort((-chosen, -self.end[chosen], self.task[chosen]))]
        return _last_of_each(self.task[order], order, len(self.first) - 1)


def _last_of_each(task: Ints, value: Ints, tasks: int) -> Ints:
    """Of each task the last value in a list grouped by task, else -1."""
    out = np.full(tasks, -1, dtype=np.int64)
    out[task] = value  # of repeated indices numpy keeps the last assignment
    return out


def attempts_of(trace: Trace) -> Attempts:
    """The attempts table, by column."""
    task, first = trace.column("attempts", "task"), trace.task_first
    start = trace.column("attempts", "start", missing=-1)
    queued = trace.column("attempts", "queued", missing=-1)
    end = trace.column("attempts", "end", missing=-1)
    return Attempts(
        task=task,
        number=np.arange(len(task)) - first[task],
        start=start,
        end=np.where(end < 0, np.maximum(start, queued), end),
        outcome=trace.column("attempts", "outcome").astype(np.int64),
        cause=trace.column("attempts", "cause", missing=-1).astype(np.int64),
        length=trace.column("attempts", "length", missing=-1),
        first=first,
    )


def user_kill(a: Attempts) -> Ints:
    """Time of each task's final user kill, else NEVER.

    It is the end of the row that ends last, if its cause is the user and no row starts as late.
    """
    last = a.last_of(np.ones(len(a.task), dtype=np.bool_))
    by_user = (last >= 0) & (a.cause[last] == Cause.USER) & (a.outcome[last] == Outcome.KILL)
    kill_at = np.where(by_user, a.end[last], NEVER)
    latest_start = a.per_task(np.maximum, a.start, -1)
    return np.where(latest_start < kill_at, kill_at, NEVER)


def endings(a: Attempts, kill_at: Ints) -> npt.NDArray[np.int8]:
    """What ends each row (`Ending`); a censored one of a finished task is ended from outside."""
    ending = np.full(len(a.task), Ending.EXTERNAL, dtype=np.int8)
    intrinsic = np.isin(a.cause, (-1, Cause.INTRINSIC, Cause.DEPENDENCY))
    ending[(a.outcome == Outcome.FAIL) & intrinsic] = Ending.INTRINSIC
    ending[a.outcome == Outcome.FINISH] = Ending.FINISH
    finishes = a.per_task(np.maximum, (a.outcome == Outcome.FINISH).astype(np.int64), 0) == 1
    ending[(a.outcome == Outcome.CENSORED) & ~finishes[a.task]] = Ending.CENSORED
    by_user = (a.outcome == Outcome.KILL) & (a.cause == Cause.USER)
    ending[by_user & (a.end == kill_at[a.task])] = Ending.USER
    return ending


def rows_of(a: Attempts, kill_at: Ints, context: Context, usage: Usage, seed: int) -> Records:
    """ROW of the attempts that have a start."""
    kept = np.flatnonzero(a.started)
    task, d = a.task[kept], (a.end - a.start)[kept]
    rows = np.zeros(len(kept), dtype=ROW)
    rows["start"], rows["duration"], rows["number"] = a.start[kept], d, a.number[kept]
    rows["outcome"], rows["ending"] = a.outcome[kept], endings(a, kill_at)[kept]
    finishes = rows["ending"] == Ending.FINISH
    drawn = uniform(seed, task, a.number[kept], Purpose.LENGTH)
    u = np.where(finishes, 1.0, SMALLEST_FRACTION + (1.0 - SMALLEST_FRACTION) * drawn)
    u = np.maximum(u, d / LONGEST_LENGTH)
    length = np.where(finishes, d, np.floor(d / u + 0.5).astype(np.int64))
    given = a.length[kept]
    share = np.minimum(np.divide(d, given, out=np.ones(len(d)), where=given > 0), 1.0)
    rows["fraction"] = np.where(given >= 0, np.where(finishes, 1.0, share), u)
    rows["length"] = np.where(given >= 0, given, length)
    same = task[1:] == task[:-1]
    gap = np.where(same, a.start[kept][1:] - a.end[kept][:-1], 0)
    rows["gap"][:-1] = np.maximum(gap, 0)
    offset = context.forecast.offset
    rows["risk_at"], rows["risks"] = offset[kept], (offset[1:] - offset[:-1])[kept]
    rows["usage_at"] = np.searchsorted(usage.attempt, kept)
    rows["usages"] = np.searchsorted(usage.attempt, kept, side="right") - rows["usage_at"]
    return rows


def _grace(rules: Rules, forecast: Forecast) -> Ints:
    """Grace period of each task: class periods weighted by the confidences of not finishing.

    GP = sum(o_i CG_i) / sum(o_i) over evict, fail and kill (Rosà et al. 2015, section IV); the
    plain mean of the three where the forecast says nothing.
    """
    if not rules.grace:
        return np.zeros(len(forecast.confidence), dtype=np.int64)
    periods = np.array([rules.grace_evict, rules.grace_fail, rules.grace_kill], dtype=np.float64)
    weight = forecast.confidence[:, 1:].astype(np.float64)
    total = weight.sum(axis=1)
    weighted = weight[:, 0] * periods[0] + weight[:, 1] * periods[1] + weight[:, 2] * periods[2]
    mean = np.divide(weighted, total, out=np.full(len(total), periods.sum() / 3), where=total > 0)
    return np.floor(mean + 0.5).astype(np.int64)


def _describe_record(tasks: Records, a: Attempts) -> None:
    """Fill in what the record says of each task: its end, outcome, and what is pending."""
    finish = a.first_of(a.outcome == Outcome.FINISH)
    last = a.last_of(np.ones(len(a.task), dtype=np.bool_))
    finished = finish >= 0
    censored = a.per_task(np.maximum, (a.outcome == Outcome.CENSORED).astype(np.int64), 1) == 1
    ending_row = np.where(finished, finish, last)
    tasks["censored"] = censored & ~finished
    tasks["record_end"] = a.end[ending_row]
    tasks["record_outcome"] = np.where(
        tasks["censored"], int(Outcome.CENSORED), a.outcome[ending_row]
    )
    duration = (a.end - a.start)[finish]
    tasks["record_work"] = np.where(finished, duration * tasks["width"], 0)
    tasks["own_finish"] = np.where(finished, a.end[finish], NEVER)
    tasks["own_duration"] = np.where(finished, duration, 0)
    fail = a.first_of(a.outcome == Outcome.FAIL)
    tasks["own_fail"] = np.where(fail >= 0, a.end[fail], NEVER)
    pending = a.last_of(~a.started)
    is_pending = pending >= 0
    tasks["pending_end"] = np.where(is_pending, a.end[pending], -1)
    tasks["pending_number"] = np.where(is_pending, a.number[pending], -1)
    tasks["pending_outcome"] = np.where(is_pending, a.outcome[pending], -1)


def tasks_of(
    trace: Trace,
    a: Attempts,
    kill_at: Ints,
    rules: Rules,
    context: Context,
    record: np.dtype[np.void] = TASK,
) -> Records:
    """TASK of every task of the trace, or a record with further fields, which stay 0."""
    job = trace.column("tasks", "job")
    job_width = trace.column("jobs", "width").astype(np.int64)[job]
    scheduling = trace.column("jobs", "scheduling_class", missing=0).astype(np.int64)[job]
    tasks = np.zeros(len(job), dtype=record)
    tasks["width"] = trace.column("tasks", "width")
    tasks["job_width"], tasks["kind"] = job_width, task_class(scheduling, job_width)
    tasks["walltime"] = trace.column("jobs", "walltime", missing=0)[job]
    tasks["kill_at"] = kill_at
    tasks["numbers"] = np.diff(a.first)
    tasks["submit"] = trace.task_submit
    started = np.concatenate([[0], np.cumsum(a.started)])
    tasks["rows_at"] = started[a.first[:-1]]
    tasks["rows"] = started[a.first[1:]] - tasks["rows_at"]
    tasks["first_start"] = a.per_task(np.minimum, np.where(a.started, a.start, NEVER), NEVER)
    tasks["grace"] = _grace(rules, context.forecast)
    tasks["grace_minutes"] = log_minutes(tasks["grace"])
    tasks["confidence"] = context.forecast.confidence
    tasks["job_confidence"] = context.forecast.job_confidence[job]
    _describe_record(tasks, a)
    return tasks


def log_minutes(time: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Times [ms] on the scale of the observation: log2(1 + x / 1 min)."""
    return np.log2(1.0 + np.asarray(time) / MINUTE).astype(np.float32)


def requests(trace: Trace) -> npt.NDArray[np.float32]:
    """The request group of the observation, one row per task."""
    job = trace.column("tasks", "job")
    columns = {
        "priority": trace.column("jobs", "priority", missing=0)[job] / 12.0,
        "scheduling_class": trace.column("jobs", "scheduling_class", missing=0)[job] / 3.0,
        "cpu_request": trace.column("tasks", "cpu", missing=0),
        "memory_request": trace.column("tasks", "memory", missing=0),
        "disk_request": trace.column("tasks", "disk", missing=0),
        "width": np.log2(1.0 + trace.column("tasks", "width")),
        "job_tasks": np.log2(1.0 + trace.column("jobs", "width")[job]),
        "anti_affinity": trace.column("tasks", "anti_affinity", missing=False),
    }
    return columns_of((FIELDS[i].name for i in group_of("request")), columns)


def parameters(rules: Rules, weights: Weights, record: np.dtype[np.void] = PARAMETERS) -> Records:
    """PARAMETERS [1] of rules and weights, or a record with further fields, which stay 0."""
    p = np.zeros(1, dtype=record)
    copied = "clone checkpoint kill give_up retry max_extra max_clones restart_limit every factor"
    for name in [*copied.split(), "alarm", "window", "checkpoint_cost", "restore_cost"]:
        p[name] = getattr(rules, name)
    p["spacing"] = SPACINGS.index(rules.decide)
    p["by_age"] = rules.forecast_by == "age"
    p["paper"] = rules.beyond_record == "paper"
    p["continued"], p["drawn"] = rules.beyond_record == "continued", rules.drawn_attempts
    p["by_record"] = rules.restarts == "record"
    p["young"] = rules.young_interval
    p["checkpoint_minutes"] = log_minutes(rules.checkpoint_cost)
    p["restore_minutes"] = log_minutes(rules.restore_cost)
    p["mtbf_minutes"] = log_minutes(rules.mtbf)
    p["wasted"] = weights.wasted / weights.work_scale
    p["overhead"] = weights.overhead / weights.work_scale
    p["completion"] = weights.completion / weights.time_scale
    p["forfeited_work"] = weights.forfeited / weights.work_scale
    p["forfeited_time"] = weights.forfeited / weights.time_scale
    if weights.task_value is not None:
        value = weights.forfeited * weights.task_value * weights.wasted
        p["forfeited_work"], p["forfeited_time"] = value / weights.work_scale, 0.0
    return p


def lazy_intervals(context: Context, rules: Rules) -> npt.NDArray[np.float64]:
    """Young's interval sqrt(2 C / h) at the rate h of interruptions given class and age [ms].

    [CLASSES, AGE_BUCKETS]; infinite where nothing interrupts.
    """
    rate = context.interruptions
    doubled = np.full(rate.shape, 2.0 * rules.checkpoint_cost)
    return np.sqrt(np.divide(doubled, rate, out=np.full(rate.shape, np.inf), where=rate > 0))


def check_forecast(trace: Trace, rules: Rules, forecast: Forecast) -> None:
    """Raise ValueError unless the forecast is of this trace and of windows of the same length."""
    if forecast.trace_hash != trace.content_hash:
        raise ValueError(
            f"forecast: expected one of trace {trace.content_hash[:12]}, "
            f"got one of trace {forecast.trace_hash[:12]}"
        )
    if len(forecast.risk) and forecast.window != rules.window:
        raise ValueError(
            f"forecast: expected windows of {rules.window} ms, got {forecast.window} ms"
        )
