"""What the agent sees: one method per group of fields, one line per field."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, log2, sqrt

import numpy as np
import numpy.typing as npt

from failgym.sim.reference.decisions import Question, risk_at, windows_behind
from failgym.sim.reference.record import TaskRecord
from failgym.sim.reference.tasks import Run, Task
from failgym.sim.shared.context import SYSTEM_TABLE, Context
from failgym.sim.shared.fields import FIELDS, HIGH, INDEX, LOW
from failgym.sim.shared.rules import Rules
from failgym.traces import Trace
from failgym.vocabulary import MINUTE, SECOND, Action, Ending

__all__ = [
    "HOUR_BINS",
    "SYSTEM_BIN",
    "Observer",
    "Values",
    "interruptions",
    "log_minutes",
    "ratio",
]

Values = dict[str, float]

SYSTEM_BIN = 5 * MINUTE
HOUR_BINS = 12
"""Bins of an hour."""
_LAST_AGE_BUCKET = 23


def ratio(over: float, under: float) -> float:
    """``over / under``; 0 where there is nothing to compare with."""
    return over / under if under != 0 else 0.0


def log_minutes(time: float) -> float:
    """The scale ``log2 min`` of a time [ms]."""
    return log2(1.0 + time / MINUTE)


def interruptions(times: Sequence[int], begin: int, running: float, now: int) -> Values:
    """What the times tell at which the system ended attempts.

    Counted is from the beginning of the bin of an hour ago.

    Args:
        times: the times, of which those up to now are looked at [ms].
        begin: what the time since the last is counted from before there is any [ms].
        running: attempts that run now.
    """
    past = [time for time in times if time <= now]
    first = (now // SYSTEM_BIN - HOUR_BINS) * SYSTEM_BIN
    hours = (now - first) / (60 * MINUTE)
    return {
        "interruption_rate": sum(time >= first for time in past) / hours / (1 + running),
        "since_interruption": log_minutes(now - max(past, default=begin)),
    }


class Observer:
    """Writes observations; knows the whole trace and reads of it what lies before now."""

    def __init__(
        self, trace: Trace, records: Sequence[TaskRecord], rules: Rules, context: Context
    ) -> None:
        self._rules = rules
        self._context = context
        self._records = records
        self._requests = [_request(trace, record) for record in records]
        self._job_width = [int(x) for x in trace.column("jobs", "width")]
        self._scheduling_class = [
            int(x) for x in trace.column("jobs", "scheduling_class", missing=0)
        ]
        self._walltime = [int(x) for x in trace.column("jobs", "walltime", missing=0)]
        self._usage = _usage(trace, rules.window)

    def observe(self, asked: Question, now: int, mask: Sequence[bool]) -> npt.NDArray[np.float32]:
        """The observation of a decision: float32, shape (len(FIELDS),), within LOW and HIGH."""
        values = self.values(asked, now)
        values |= {f"may_{action.name.lower()}": float(mask[action]) for action in Action}
        observation = np.zeros(len(FIELDS), dtype=np.float64)
        for name, value in values.items():
            observation[INDEX[name]] = value
        return np.clip(observation.astype(np.float32), LOW, HIGH)

    def values(self, asked: Question, now: int) -> Values:
        """Every field that is not zero, but for the mask."""
        task, run = asked.task, asked.run
        return {
            **self._decision(asked),
            **self._requests[task.record.task],
            **self._last_usage(task, run, now),
            **self._history(task, run, now),
            **self._progress(task, run, now),
            **self._forecast(task, run, now),
            **self._cost(task, run, now),
            **self._system(now),
        }

    def _decision(self, asked: Question) -> Values:
        return {
            asked.kind.name.lower(): 1.0,
            "armed": float(asked.task.kill_at is not None),
            "actions_taken": asked.actions_taken,
            "live_attempts": len(asked.task.live),
        }

    def _last_usage(self, task: Task, run: Run, now: int) -> Values:
        """Usage up to the last window that is over at the attempt's progress."""
        windows = self._usage.get(run.row.attempt, [])
        over = [usage for known, usage in windows if known <= run.progress(now)]
        if not over:
            return {}
        usage = over[-1]
        request = self._requests[task.record.task]
        return usage | {
            "memory_ratio": ratio(usage["max_memory"], request["memory_request"]),
            "cpu_ratio": ratio(usage["cpu"], request["cpu_request"]),
        }

    def _history(self, task: Task, run: Run, now: int) -> Values:
        ending = None if task.last_ended is None else task.last_ended.ended_by()
        siblings = self._siblings(task)
        finished = sum(s.success is not None and s.success.end <= now for s in siblings)
        others = max(1, self._job_width[task.record.job] - 1)
        return {
            "attempt": log2(1 + task.runs.index(run)),
            "failures": log2(1 + task.failures),
            "last_failed": float(ending is Ending.INTRINSIC),
            "last_external": float(ending is Ending.EXTERNAL),
            "clones": task.clones,
            "extra_left": self._rules.max_extra - task.extra,
            "flagged_before": task.flagged,
            "sibling_failed": float(any(end <= now for s in siblings for end in s.fail_ends)),
            "siblings_finished": finished / others,
        }

    def _progress(self, task: Task, run: Run, now: int) -> Values:
        age = run.elapsed(now)
        duration, hazard, chance = (
            float(x) for x in self._context.expectations[self._class_and_age(task, age)]
        )
        walltime = self._walltime[task.record.job]
        return {
            "age": log_minutes(age),
            "unsaved": log_minutes(self._unsaved(run, now)),
            "durable_fraction": ratio(self._durable(task), duration),
            "age_over_expected": ratio(age, duration),
            "age_over_siblings": ratio(age, self._sibling_median(task, now)),
            "walltime_left": max(0.0, 1.0 - age / walltime) if walltime > 0 else 0.0,
            "hazard": hazard,
            "chance_of_finish": chance,
        }

    def _durable(self, task: Task) -> int:
        """Work that the task's checkpoint holds [ms]."""
        return task.durable_work

    def _forecast(self, task: Task, run: Run, now: int) -> Values:
        forecast = self._context.forecast
        window = windows_behind(self._rules, run, now)
        risk = float(risk_at(forecast, run, window))
        before = float(risk_at(forecast, run, window - 1))
        finish, evict, fail, kill = (float(x) for x in forecast.confidence[task.record.task])
        return {
            "risk": risk,
            "risk_change": risk - before,
            "confidence_finish": finish,
            "confidence_evict": evict,
            "confidence_fail": fail,
            "confidence_kill": kill,
            "job_confidence": float(forecast.job_confidence[task.record.job]),
            "risk_over_cost": ratio(risk * self._unsaved(run, now), self._rules.checkpoint_cost),
        }

    def _cost(self, task: Task, run: Run, now: int) -> Values:
        grace = task.record.grace
        return {
            "checkpoint_cost": log_minutes(self._rules.checkpoint_cost),
            "restore_cost": log_minutes(self._rules.restore_cost),
            "grace": log_minutes(grace),
            "age_over_grace": ratio(now - task.first_start, grace),
            "unsaved_over_young": ratio(self._unsaved(run, now), self._rules.young_interval),
            "unsaved_over_lazy": ratio(
                self._unsaved(run, now), self._lazy_interval(task, run, now)
            ),
            "mtbf": log_minutes(self._rules.mtbf),
        }

    def _system(self, now: int) -> Values:
        begun = [i for i, bin in enumerate(self._context.system_bins) if bin <= now // SYSTEM_BIN]
        row = self._context.system[begun[-1]]
        values = {name: float(x) for name, x in zip(SYSTEM_TABLE, row, strict=True)}
        times = [int(time) for time in self._context.interruption_times]
        return values | interruptions(times, 0, 2 ** values["running"] - 1, now)

    def _lazy_interval(self, task: Task, run: Run, now: int) -> float:
        """Young's interval at the rate of interruptions given class and age [ms]."""
        rate = self._context.interruptions[self._class_and_age(task, run.elapsed(now))]
        return sqrt(2 * self._rules.checkpoint_cost / rate) if rate > 0 else inf

    def _unsaved(self, run: Run, now: int) -> int:
        """Work since its last durable checkpoint began [ms]."""
        return run.work(now) - run.durable

    def _class_and_age(self, task: Task, age: int) -> tuple[int, int]:
        """Where the tables of what is expected hold a class and an age."""
        job = task.record.job
        several = self._job_width[job] > 1
        group = min(max(self._scheduling_class[job], 0), 3) + 4 * several
        bucket = min((age // SECOND).bit_length(), _LAST_AGE_BUCKET)
        return group, bucket

    def _siblings(self, task: Task) -> list[TaskRecord]:
        """The other tasks of the job, as recorded."""
        record = task.record
        return [r for r in self._records if r.job == record.job and r.task != record.task]

    def _sibling_median(self, task: Task, now: int) -> int:
        """Lower median duration of the siblings that the record has finished by now, 0 if none."""
        successes = [sibling.success for sibling in self._siblings(task)]
        durations = sorted(row.duration for row in successes if row is not None and row.end <= now)
        return durations[(len(durations) - 1) // 2] if durations else 0


def _request(trace: Trace, record: TaskRecord) -> Values:
    """What the task asked for; 0 where the trace does not say."""
    task, job = record.task, record.job

    def of(table: str, column: str, row: int) -> float:
        return float(trace.column(table, column, missing=0)[row])

    return {
        "priority": of("jobs", "priority", job) / 12,
        "scheduling_class": of("jobs", "scheduling_class", job) / 3,
        "cpu_request": of("tasks", "cpu", task),
        "memory_request": of("tasks", "memory", task),
        "disk_request": of("tasks", "disk", task),
        "width": log2(1 + record.width),
        "job_tasks": log2(1 + of("jobs", "width", job)),
        "anti_affinity": float(trace.column("tasks", "anti_affinity")[task]),
    }


def _usage(trace: Trace, window: int) -> dict[int, list[tuple[int, Values]]]:
    """For each attempt with windows: when each is over, and what is known then; null counts as 0.

    Windows last as long as the shortest time between two of one attempt, else as the rules' window.
    """
    names = ("cpu", "memory", "local_io", "remote_io", "network", "max_memory")
    columns = [trace.column("windows", name, missing=0.0) for name in names]
    attempts, offsets = trace.column("windows", "attempt"), trace.column("windows", "offset")
    rows: dict[int, list[tuple[int, Values]]] = {}
    for i in sorted(range(len(attempts)), key=lambda i: (attempts[i], offsets[i])):
        values = {name: float(column[i]) for name, column in zip(names, columns, strict=True)}
        rows.setdefault(int(attempts[i]), []).append((int(offsets[i]), values))
    apart = [b[0] - a[0] for seen in rows.values() for a, b in pairwise(seen) if b[0] > a[0]]
    length = min(apart, default=window)
    return {
        attempt: [
            (seen[i][0] + length, _usage_after([values for _, values in seen[: i + 1]]))
            for i in range(len(seen))
        ]
        for attempt, seen in rows.items()
    }


def _usage_after(windows: Sequence[Values]) -> Values:
    """What the windows of an attempt so far tell."""
    last, cpu = windows[-1], [window["cpu"] for window in windows]
    mean_cpu = sum(cpu) / len(cpu)
    deviation = sqrt(sum((x - mean_cpu) ** 2 for x in cpu) / len(cpu))
    return last | {
        "mean_cpu": mean_cpu,
        "mean_memory": sum(window["memory"] for window in windows) / len(windows),
        "cpu_variation": ratio(deviation, mean_cpu),
        "memory_trend": last["memory"] - windows[0]["memory"],
        "max_memory": max(max(window["memory"], window["max_memory"]) for window in windows),
    }
