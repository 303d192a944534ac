"""What every trace has: rows, outcomes, run times, how it went on after a failure.

The choice follows El-Sayed et al. (ICDCS 2017: success by past failures, their Fig. 6) and Rosà
et al. (IWQoS 2015: outcomes and the machine-time they cost, failures of failures).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.describe.facts import Facts
from failgym.traces.describe.tables import (
    QUANTILE_COLUMNS,
    Cell,
    DescriptionTable,
    Row,
    quantiles,
    ratio,
)
from failgym.traces.machine_time import attempt_times
from failgym.traces.machine_time import machine_time as machine_time_of
from failgym.traces.schema import TABLES
from failgym.traces.trace import Trace
from failgym.vocabulary import HOUR, Outcome

PAST_FAILURES = 3
"""Attempts with this many past failures, or more, share a row."""


def basics(facts: Facts) -> list[DescriptionTable]:
    """The tables of this file, for any trace; without jobs, those of jobs have no rows.

    Run times, gaps and machine-time are of attempts that ran and whose end is known; those of
    CENSORED attempts are what was seen of them.
    """
    trace = facts.trace
    return [
        rows(trace),
        counts("rows_read", "Rows read", "rows of", trace.meta.rows_read),
        counts("dropped", "Rows dropped, by reason", "reason", trace.meta.dropped),
        counts("noted", "Kept, and worth knowing", "what", trace.meta.noted),
        remarks(trace),
        *(table if facts.jobs else replace(table, rows=()) for table in _of_jobs(facts)),
    ]


def _of_jobs(facts: Facts) -> list[DescriptionTable]:
    return [
        outcomes("job_outcomes", "Jobs by outcome", "jobs", facts.job_outcome),
        outcomes("task_outcomes", "Tasks by outcome", "tasks", facts.trace.task_outcome),
        attempt_outcomes(facts),
        run_times(facts),
        requeue_gaps(facts),
        success_by_failures(facts),
        tasks_per_job(facts),
        machine_time(facts),
        machine_time_by_part(facts),
        gpu_requests(facts),
        failures_of_failures(facts),
    ]


def rows(trace: Trace) -> DescriptionTable:
    """How many rows each table has."""
    listed = tuple((name, trace.rows(name)) for name in TABLES)
    return DescriptionTable("rows", "Rows of the trace", ("table", "rows"), listed)


def counts(name: str, title: str, heading: str, counts: Any) -> DescriptionTable:
    """The counts by reason of the meta data."""
    listed = tuple((reason, n) for reason, n in counts.items())
    return DescriptionTable(name, title, (heading, "count"), listed)


def remarks(trace: Trace) -> DescriptionTable:
    """What the source says of itself, and the rules that it was read by."""
    listed = tuple((name, " ".join(text.split())) for name, text in trace.meta.remarks.items())
    return DescriptionTable("remarks", "What the source says", ("of", "remark"), listed)


def outcomes(name: str, title: str, what: str, outcome: npt.NDArray[Any]) -> DescriptionTable:
    """How many of the jobs, or tasks, have each outcome."""
    found = np.bincount(outcome, minlength=len(Outcome)).tolist()
    listed = tuple((o.name, found[o], ratio(found[o], len(outcome))) for o in Outcome)
    return DescriptionTable(name, title, ("outcome", what, "share"), listed)


def attempt_outcomes(facts: Facts) -> DescriptionTable:
    """How many of the attempts, and of those that started, have each outcome."""
    every = np.bincount(facts.outcome, minlength=len(Outcome)).tolist()
    ran = np.bincount(facts.outcome[facts.ran], minlength=len(Outcome)).tolist()
    total = sum(ran)
    listed = tuple((o.name, every[o], ran[o], ratio(ran[o], total)) for o in Outcome)
    columns = ("outcome", "attempts", "started", "share of started")
    return DescriptionTable("attempt_outcomes", "Attempts by outcome", columns, listed)


def run_times(facts: Facts) -> DescriptionTable:
    """Quantiles of the attempts' run times, by their outcome."""
    seconds = facts.run_time / 1000
    listed = tuple(
        (outcome.name, *quantiles(seconds[facts.timed & (facts.outcome == outcome)]))
        for outcome in Outcome
    )
    columns = ("outcome", "attempts", *QUANTILE_COLUMNS)
    return DescriptionTable("run_times", "Run time of attempts, by outcome [s]", columns, listed)


def requeue_gaps(facts: Facts) -> DescriptionTable:
    """From the end of an attempt to the start of the next attempt of its task, if that started."""
    ended = facts.trace.present("attempts", "end")[:-1]
    same = facts.task[:-1] == facts.task[1:]
    before = np.flatnonzero(same & ended & facts.ran[1:])
    gap = np.maximum(facts.start[before + 1] - facts.end[before], 0) / 1000
    listed: list[Row] = [("all", *quantiles(gap))]
    for outcome in (Outcome.EVICT, Outcome.FAIL, Outcome.KILL, Outcome.LOST, Outcome.FINISH):
        listed.append((outcome.name, *quantiles(gap[facts.outcome[before] == outcome])))
    columns = ("after", "restarts", *QUANTILE_COLUMNS)
    title = "From an attempt's end to the start of the next [s]"
    return DescriptionTable("requeue_gaps", title, columns, tuple(listed))


def success_by_failures(facts: Facts) -> DescriptionTable:
    """El-Sayed et al., Fig. 6: attempts that end FINISH or FAIL, by past FAILs of their task."""
    decided = (facts.outcome == Outcome.FINISH) | (facts.outcome == Outcome.FAIL)
    finished = facts.outcome == Outcome.FINISH
    failures = np.minimum(facts.past_failures, PAST_FAILURES)
    width = facts.trace.column("jobs", "width")[facts.attempt_job]
    groups = {"all": decided, "single": decided & (width == 1), "multi": decided & (width > 1)}
    listed: list[Row] = []
    for k in range(PAST_FAILURES + 1):
        cells: list[Cell] = [f"{k}+" if k == PAST_FAILURES else f"{k}"]
        for group in groups.values():
            among = group & (failures == k)
            tried, won = int(among.sum()), int((among & finished).sum())
            cells += [tried, won, ratio(won, tried)]
        listed.append(tuple(cells))
    columns = ["past failures"]
    for name in groups:
        columns += [f"{name}: attempts", f"{name}: FINISH", f"P(FINISH) {name}"]
    title = "Success by number of past failures (all, single-task and multi-task jobs)"
    return DescriptionTable("success_by_failures", title, tuple(columns), tuple(listed))


def tasks_per_job(facts: Facts) -> DescriptionTable:
    """Quantiles of the tasks of a job, and how many jobs have one only."""
    width = facts.trace.column("jobs", "width")
    single = int((width == 1).sum())
    spread = quantiles(width)[1:]
    row = (len(width), single, ratio(single, len(width)), *spread, int(width.max(initial=0)))
    columns = ("jobs", "single-task", "share single-task", *QUANTILE_COLUMNS, "max")
    return DescriptionTable("tasks_per_job", "Tasks per job", columns, (row,))


def machine_time(facts: Facts) -> DescriptionTable:
    """Machine-time of all attempts of a task, by the task's outcome; a gang counts its slots."""
    spent = attempt_times(facts.trace)
    by_task = facts.trace.task_outcome[facts.task]
    times = [int(spent[by_task == outcome].sum()) for outcome in Outcome]
    total = sum(times)
    listed: list[Row] = [
        (o.name, times[o], times[o] / HOUR, ratio(times[o], total)) for o in Outcome
    ]
    listed.append(("all", total, total / HOUR, 1.0 if total else None))
    columns = ("task outcome", "machine-time [ms]", "machine-time [h]", "share")
    title = "Machine-time of all attempts, by the task's outcome"
    return DescriptionTable("machine_time", title, columns, tuple(listed))


def machine_time_by_part(facts: Facts) -> DescriptionTable:
    """What of the machine-time is replayed, and what policies are charged for.

    The parts are those of `failgym.traces.machine_time`.
    """
    parts = machine_time_of(facts.trace)
    cut_off = "cut off by the end of the data"
    listed = (
        ("of known fate: policies are charged", parts.known_tasks, parts.known),
        (f"{cut_off}, what had ended: replayed", parts.unknown_tasks, parts.ended),
        (f"{cut_off}, what still ran: not replayed", parts.unknown_tasks, parts.running),
        ("all", parts.known_tasks + parts.unknown_tasks, parts.total),
    )
    rows = tuple(
        (name, tasks, spent, spent / HOUR, ratio(spent, parts.total))
        for name, tasks, spent in listed
    )
    columns = ("tasks", "count", "machine-time [ms]", "machine-time [h]", "share")
    title = "Machine-time of all attempts, by what is known of it"
    return DescriptionTable("machine_time_by_part", title, columns, rows)


def gpu_requests(facts: Facts) -> DescriptionTable:
    """Graphics processors that tasks request, and how long they are held, by the task's outcome.

    GPU-hours are run times of all attempts times the request. No rows where nothing is told of
    them; tasks that do not tell count for none.
    """
    gpus, tasks = facts.request("gpu"), facts.trace.task_outcome
    columns = ("task outcome", "tasks", "with GPUs", "GPUs requested", "GPU-hours", "share")
    title = "Requests of graphics processors, by the task's outcome"
    if np.isnan(gpus).all():
        return DescriptionTable("gpu_requests", title, columns, ())
    asked = np.nan_to_num(gpus)
    held = facts.run_time / HOUR * asked[facts.task]
    total = float(held.sum())
    listed: list[Row] = []
    for name, of in (*((o.name, tasks == o) for o in Outcome), ("all", np.full(len(tasks), True))):
        spent = float(held[of[facts.task]].sum())
        some = int((asked[of] > 0).sum())
        requested = float(asked[of].sum())
        listed.append((name, int(of.sum()), some, requested, spent, ratio(spent, total)))
    return DescriptionTable("gpu_requests", title, columns, tuple(listed))


def failures_of_failures(facts: Facts) -> DescriptionTable:
    """Rosà et al.: the tasks that did not finish in the jobs that failed.

    A failed job is one that ended FAIL or KILL; only jobs whose fate is known count.
    """
    failed = (facts.job_outcome == Outcome.FAIL) | (facts.job_outcome == Outcome.KILL)
    known = failed | (facts.job_outcome == Outcome.FINISH)
    of_failed, of_known = failed[facts.job], known[facts.job]
    lost = of_failed & (facts.trace.task_outcome != Outcome.FINISH)
    row = (
        ratio(failed.sum(), known.sum()),
        ratio(lost.sum(), of_failed.sum()),
        ratio(lost.sum(), of_known.sum()),
    )
    columns = (
        "share of jobs that failed",
        "share of their tasks unfinished",
        "share of all tasks",
    )
    title = "Failures of failures: unfinished tasks of failed jobs"
    return DescriptionTable("failures_of_failures", title, columns, (row,))
