"""The tables and figures of El-Sayed, Zhu, Schroeder (ICDCS 2017), sections II to V.

Shares of outcomes are of the jobs whose fate is known. A job's duration is its task-time (node-time
for gangs): the run times of all attempts of all its tasks, by their slots. Jobs that never ran have
none. Where the priorities are Google's of 2011, the paper's "batch" jobs have rows of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.describe.facts import Facts, Flags, Floats
from failgym.traces.describe.tables import (
    QUANTILE_COLUMNS,
    DescriptionTable,
    Missing,
    Row,
    quantiles,
    ratio,
)
from failgym.vocabulary import DAY, HOUR, MINUTE, Outcome

MOST_STAGES = 12
"""Names of stages that are listed: of more, most are of a single workflow."""

ENDS = (Outcome.FINISH, Outcome.FAIL, Outcome.KILL)
"""The outcomes that the paper compares."""

SHARES = (*(f"share {outcome.name}" for outcome in ENDS), "share other", "share CENSORED")
"""Headings; the last is a share of all, the others of those whose fate is known."""

Made = DescriptionTable | Missing


def elsayed(facts: Facts) -> list[Made]:
    """The tables of this file that the trace allows, and what the others need."""
    return [
        overview(facts),
        durations(facts),
        parallelism(facts),
        stage_widths(facts),
        job_time(facts),
        interruptions(facts),
        requests(facts),
        utilisation(facts),
        used_over_requested(facts),
        memory_growth(facts),
        jobs_with_failures(facts),
        attempts_of_failed(facts),
        outage_events(facts),
        after_first_failure(facts),
    ]


def overview(facts: Facts) -> Made:
    """Table I: span, machines, users, jobs and how they ended."""
    trace, name, title = facts.trace, "overview", "The workload (El-Sayed et al., Table I)"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    first = int(trace.column("jobs", "submit").min())
    last = trace.meta.end if trace.meta.end is not None else int(facts.end.max(initial=first))
    known = trace.present("jobs", "user")
    users = len(np.unique(trace.column("jobs", "user")[known])) if known.any() else None
    row = (
        (last - first) / DAY,
        trace.rows("machines") or None,
        users,
        facts.jobs,
        *_outcome_shares(facts.job_outcome),
    )
    columns = ("span [days]", "machines", "users", "jobs", *SHARES)
    return DescriptionTable(name, title, columns, (row,))


def durations(facts: Facts) -> Made:
    """Table II: quantiles of the jobs' durations, by their outcome."""
    name = "job_durations"
    title = "Job duration by outcome [task-minutes, node-minutes] (El-Sayed et al., Table II)"
    if not facts.job_ran.any():
        return Missing(name, title, "jobs with an attempt that ran")
    minutes = facts.job_time / MINUTE
    groups = {"": facts.job_ran}
    if facts.batch is not None:
        groups["batch "] = facts.job_ran & facts.batch
    rows: list[Row] = [
        (f"{label}{outcome.name}", *quantiles(minutes[among & (facts.job_outcome == outcome)]))
        for label, among in groups.items()
        for outcome in ENDS
    ]
    return DescriptionTable(name, title, ("outcome", "jobs", *QUANTILE_COLUMNS), tuple(rows))


def parallelism(facts: Facts) -> Made:
    """Section III-b: how single and multi-task (multi-node) jobs end."""
    name, title = "job_outcomes_by_width", "Outcome of single and multi-task (multi-node) jobs"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    rows: list[Row] = []
    for label, among, whole in _widths(facts):
        jobs = int(among.sum())
        shares = _outcome_shares(facts.job_outcome[among])
        rows.append((label, jobs, ratio(jobs, whole), *shares))
    columns = ("jobs that are", "jobs", "share of jobs", *SHARES)
    return DescriptionTable(name, title, columns, tuple(rows))


def stage_widths(facts: Facts) -> Made:
    """Section III-b: how many tasks the jobs have in the stages of each name (map, reduce)."""
    name, title = "stage_widths", "Tasks of a job by kind of stage (El-Sayed et al., III-b)"
    names, kind = np.unique(facts.trace.column("stages", "name"), return_inverse=True)
    stage = facts.trace.column("tasks", "stage")
    staged = stage >= 0
    named = facts.trace.present("stages", "name").any()
    if not (staged.any() and named and len(names) <= MOST_STAGES):
        return Missing(name, title, f"names of stages, {MOST_STAGES} at most")
    jobs = np.unique(facts.job[staged])
    rows: list[Row] = []
    for k, label in enumerate(names.tolist()):
        chosen = np.flatnonzero(staged)[kind[stage[staged]] == k]
        tasks = facts.count(facts.job[chosen], facts.jobs)[jobs]
        rows.append(
            (str(label) or "(no name)", *quantiles(tasks), ratio((tasks < 2).sum(), len(jobs)))
        )
    columns = ("stages", "jobs", *QUANTILE_COLUMNS, "share with 1 or none")
    return DescriptionTable(name, title, columns, tuple(rows))


def job_time(facts: Facts) -> Made:
    """Section II: the time of the cluster that unsuccessful jobs take."""
    name, title = "machine_time_by_job", "Machine-time by the job's outcome"
    total = float(facts.job_time.sum())
    if not total:
        return Missing(name, title, "jobs with an attempt that ran")
    spent = facts.sum(facts.job_outcome.astype(np.int64), facts.job_time, len(Outcome))
    rows = [(o.name, float(spent[o]) / HOUR, ratio(spent[o], total)) for o in Outcome]
    return DescriptionTable(name, title, ("job outcome", "machine-time [h]", "share"), tuple(rows))


def interruptions(facts: Facts) -> Made:
    """Fig. 1: interrupted jobs per week of task-time (node-time), by the job's parallelism."""
    name = "interruption_rates"
    title = "Interrupted jobs per task-week (node-week) (El-Sayed et al., Fig. 1)"
    if not facts.job_ran.any():
        return Missing(name, title, "jobs with an attempt that ran")
    rows: list[Row] = []
    for label, among, _ in _widths(facts):
        weeks = float(facts.job_time[among].sum()) / (7 * DAY)
        failed = int((among & (facts.job_outcome == Outcome.FAIL)).sum())
        killed = int((among & (facts.job_outcome == Outcome.KILL)).sum())
        rates = (ratio(n, weeks) for n in (failed, killed, failed + killed))
        rows.append((label, weeks, failed, killed, *rates))
    columns = (
        "jobs that are",
        "task-weeks",
        "FAIL",
        "KILL",
        "FAIL per week",
        "KILL per week",
        "both per week",
    )
    return DescriptionTable(name, title, columns, tuple(rows))


def requests(facts: Facts) -> Made:
    """Fig. 2: what the tasks of a job request on average, and its slots, by its outcome."""
    name = "requests"
    title = "Requests per job, mean of its tasks, and slots (El-Sayed et al., Fig. 2)"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    values: dict[str, Floats] = {}
    for resource in ("cpu", "memory", "disk", "gpu"):
        asked = facts.request(resource)
        if not np.isnan(asked).all():
            values[resource] = facts.job_mean(asked)
    values["slots"] = facts.job_width.astype(np.float64)
    return _by_outcome(name, title, values, facts.job_outcome, "jobs")


def utilisation(facts: Facts) -> Made:
    """Fig. 3: what the tasks of a job use on average, by its outcome."""
    name, title = "utilisation", "Usage per job, mean of its tasks (El-Sayed et al., Fig. 3)"
    values = {
        resource: facts.job_mean(facts.task_mean(usage.mean))
        for resource, usage in facts.usage.items()
    }
    if not values:
        return Missing(name, title, "windows, or mean_cpu or mean_memory of attempts")
    return _by_outcome(name, title, values, facts.job_outcome, "jobs")


def used_over_requested(facts: Facts) -> Made:
    """Fig. 4: mean and greatest usage of a task over its request, by the task's outcome."""
    name = "used_over_requested"
    title = "Usage over request, by the task's outcome (El-Sayed et al., Fig. 4)"
    values: dict[str, Floats] = {}
    for resource in ("cpu", "memory"):
        if resource in facts.usage:
            mean, _, peak = facts.usage[resource]
            values[f"mean {resource}"] = facts.over_request(facts.task_mean(mean), resource)
            values[f"most {resource}"] = facts.over_request(facts.task_peak(peak), resource)
    values = {label: found for label, found in values.items() if not np.isnan(found).all()}
    if not values:
        return Missing(name, title, "windows or means of usage, and cpu or memory of tasks")
    rows: list[Row] = []
    for label, outcome, found in _grouped(values, facts.trace.task_outcome):
        above = ratio((found > 1.0).sum(), len(found))
        rows.append((f"{label}: {outcome.name}", *quantiles(found), above))
    columns = ("ratio: outcome", "tasks", *QUANTILE_COLUMNS, "share above 1")
    return DescriptionTable(name, title, columns, tuple(rows))


def memory_growth(facts: Facts) -> Made:
    """Section IV-A: mean memory in the second half of a task's windows over that in the first.

    Of an odd number of windows the middle one belongs to neither half. Tasks with fewer than two
    windows, or without memory in the first half, do not count.
    """
    name = "memory_growth"
    title = "Memory of the second half of a task's life over the first (El-Sayed et al., IV-A)"
    attempt, memory = facts.windows("memory")
    if not len(attempt):
        return Missing(name, title, "windows with memory")
    task, tasks = facts.task[attempt], facts.trace.rows("tasks")
    counts = facts.count(task, tasks)
    number = np.arange(len(task)) - (np.cumsum(counts) - counts)[task]
    half = (counts // 2)[task]
    early = facts.sum(task, np.where(number < half, memory, 0.0), tasks)
    late = facts.sum(task, np.where(number >= counts[task] - half, memory, 0.0), tasks)
    growth = np.full(tasks, np.nan)
    counted = (counts >= 2) & (early > 0)
    growth[counted] = late[counted] / early[counted]
    rows: list[Row] = []
    for _, outcome, found in _grouped({"": growth}, facts.trace.task_outcome):
        above = ratio((found > 2.0).sum(), len(found))
        rows.append((outcome.name, *quantiles(found), above))
    columns = ("outcome", "tasks", *QUANTILE_COLUMNS, "share above 2")
    return DescriptionTable(name, title, columns, tuple(rows))


def jobs_with_failures(facts: Facts) -> Made:
    """Section IV-C: jobs in which an attempt failed, by the job's outcome."""
    name, title = "jobs_with_failures", "Jobs with a failed attempt (El-Sayed et al., IV-C)"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    failed = facts.count(facts.attempt_job[facts.outcome == Outcome.FAIL], facts.jobs) > 0
    rows: list[Row] = []
    for outcome in Outcome:
        among = facts.job_outcome == outcome
        jobs, hit = int(among.sum()), int((among & failed).sum())
        rows.append((outcome.name, jobs, hit, ratio(hit, jobs)))
    columns = ("outcome", "jobs", "with a failed attempt", "share with")
    return DescriptionTable(name, title, columns, tuple(rows))


def attempts_of_failed(facts: Facts) -> Made:
    """Section IV-C: how often tasks that failed in the end were tried."""
    name = "attempts_of_failed"
    title = "Attempts of the tasks that failed in the end (El-Sayed et al., IV-C)"
    if not facts.trace.rows("tasks"):
        return Missing(name, title, "tasks")
    attempts = np.diff(facts.trace.task_first)[facts.trace.task_outcome == Outcome.FAIL]
    shares = (ratio((attempts >= n).sum(), len(attempts)) for n in (2, 3, 4))
    row = (len(attempts), *shares, int(attempts.max(initial=0)))
    columns = ("tasks", "share 2 or more", "share 3 or more", "share 4 or more", "most")
    return DescriptionTable(name, title, columns, (row,))


def outage_events(facts: Facts) -> Made:
    """Table III: what the attempts that a machine's outage ended were logged as."""
    name = "outage_events"
    title = "Attempts that ended with their machine (El-Sayed et al., Table III)"
    hit = facts.by_outage
    if hit is None:
        return Missing(name, title, "outages and placements, or attempts with cause MACHINE")
    total = int(hit.sum())
    rows: list[Row] = []
    for outcome in Outcome:
        if outcome != Outcome.CENSORED:
            among = facts.timed & (facts.outcome == outcome)
            both = int((among & hit).sum())
            rows.append((outcome.name, both, ratio(both, total), ratio(both, among.sum())))
    columns = ("outcome", "with an outage", "share of those", "share of the outcome")
    return DescriptionTable(name, title, columns, tuple(rows))


def after_first_failure(facts: Facts) -> Made:
    """Fig. 9: from a job's first failed attempt to its end, for jobs of several tasks.

    A job lives from its submission, or its first failure where clocks differ so much, to the end
    of its last attempt; only jobs whose fate is known count. Jobs of a single task have rows of
    their own.
    """
    name = "after_first_failure"
    title = "From a job's first failed attempt to its end (El-Sayed et al., Fig. 9)"
    if not facts.jobs:
        return Missing(name, title, "jobs")
    failures = facts.timed & (facts.outcome == Outcome.FAIL)
    never = np.iinfo(np.int64).max
    first = np.full(facts.jobs, never)
    np.minimum.at(first, facts.attempt_job[failures], facts.end[failures])
    last = np.zeros(facts.jobs, dtype=np.int64)
    np.maximum.at(last, facts.attempt_job, facts.end)
    life = last - np.minimum(facts.trace.column("jobs", "submit"), first)
    several = facts.trace.column("jobs", "width") > 1
    rows: list[Row] = []
    for label, among in {"multi": several, "single": ~several}.items():
        for outcome in ENDS:
            jobs = np.flatnonzero((first < never) & among & (facts.job_outcome == outcome))
            left = (last[jobs] - first[jobs]) / MINUTE
            lived = life[jobs] > 0
            portion = left[lived] * MINUTE / life[jobs][lived]
            middle = float(np.median(portion)) if len(portion) else None
            rows.append((f"{label} {outcome.name}", *quantiles(left), middle))
    spread = tuple(f"{column} [min]" for column in QUANTILE_COLUMNS)
    columns = ("jobs that are", "jobs", *spread, "share of life left (median)")
    return DescriptionTable(name, title, columns, tuple(rows))


def _widths(facts: Facts) -> Iterator[tuple[str, Flags, int]]:
    """Groups of jobs by parallelism: label, jobs, and the size of the group that they are part of.

    Single is a job that never holds more than one slot.
    """
    single = facts.job_width == 1
    groups = {"": np.ones(facts.jobs, dtype=np.bool_)}
    if facts.batch is not None:
        groups["batch "] = facts.batch
    for label, among in groups.items():
        whole = int(among.sum())
        yield f"{label}all", among, whole
        yield f"{label}single", among & single, whole
        yield f"{label}multi", among & ~single, whole


def _outcome_shares(outcome: npt.NDArray[Any]) -> Row:
    """The cells under `SHARES`: shares of those of known fate, and of all that have none."""
    counts = np.bincount(outcome, minlength=len(Outcome)).tolist()
    known = len(outcome) - counts[Outcome.CENSORED]
    other = counts[Outcome.EVICT] + counts[Outcome.LOST]
    shares = (ratio(counts[o], known) for o in ENDS)
    return (*shares, ratio(other, known), ratio(counts[Outcome.CENSORED], len(outcome)))


def _grouped(
    values: Mapping[str, Floats], outcomes: npt.NDArray[Any]
) -> Iterator[tuple[str, Outcome, Floats]]:
    """Each quantity's known values, by outcome."""
    for label, found in values.items():
        known = ~np.isnan(found)
        for outcome in ENDS:
            yield label, outcome, found[known & (outcomes == outcome)]


def _by_outcome(
    name: str, title: str, values: Mapping[str, Floats], outcomes: npt.NDArray[Any], what: str
) -> DescriptionTable:
    rows: list[Row] = [
        (f"{label}: {outcome.name}", *quantiles(found))
        for label, outcome, found in _grouped(values, outcomes)
    ]
    return DescriptionTable(name, title, ("value: outcome", what, *QUANTILE_COLUMNS), tuple(rows))
