"""The google-2011 generator: jobs, their tasks, the failures among them, and when all happens.

Everything is arrays, one entry per job, task or attempt. The order of the work: outcomes and sizes
of jobs; machine-time of jobs, shared out among tasks; outcomes of tasks; how often each fails, is
evicted or requeued; the attempts in a row, with their waits; what the end of the data cuts off.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from failgym.traces.synthetic.batch import (
    FAILED,
    FINISHED,
    KILLED,
    Jobs,
    Rows,
    Tasks,
    attempts,
    fates,
    job_times,
    record,
    recorded_width,
    running,
    task_lengths,
    task_times,
)
from failgym.traces.synthetic.failures import failure_counts
from failgym.traces.synthetic.google_2011_applications import (
    Habits,
    failed_shares,
    recurring_jobs,
)
from failgym.traces.synthetic.google_2011_kills import killed_shares
from failgym.traces.synthetic.profiles import Google2011
from failgym.traces.synthetic.profiles.applications import Applications
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    allot,
    choose,
    evenly,
    normal_score,
    position_in_group,
    shuffled_position,
    skewed,
    spread,
)
from failgym.traces.synthetic.ranges import check_rows, within_reach
from failgym.traces.synthetic.tables import identifiers, in_order, meta_of, texts
from failgym.traces.synthetic.usage import Habit, usage_windows
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import HOUR, Cause, Outcome

RESOURCES = ("cpu", "memory", "disk")
"""What tasks request."""
FREEDOM = 5
"""Degrees of freedom of the law of run times within a job. Chosen: of those of the record most are
closer to their median, and a few further from it, than a normal law puts them."""
GRID = 2.0**30
"""Requests are multiples of 1 / GRID, the same whatever the last bits of an exponential are."""


@dataclass(frozen=True)
class Google2011Jobs(Jobs):
    """One entry per job, in order of submission."""

    priority: Ints  # position in the profile's priorities
    scheduling_class: Ints
    habits: Habits | None = None  # of applications that recur


def generate_google_2011(
    profile: Google2011,
    jobs: int,
    rng: np.random.Generator,
    usage_rng: np.random.Generator | None = None,
) -> Trace:
    """A trace of `jobs` jobs after the profile; with windows of usage if there is a `usage_rng`."""
    law = profile.applications
    job = _jobs(profile, jobs, rng) if law is None else _recurring(profile, law, jobs, rng)
    task = _tasks(profile, job, rng)
    rows = attempts(profile, task, rng)
    submit = _task_submits(profile, job, task, rows, rng)
    recorded = record(job, task, rows, submit, np.full(len(submit), Cause.USER))
    columns = _task_columns(profile, job, task, rng)
    windows: dict[str, Any] = {}
    if usage_rng is not None:
        requested = np.asarray(columns["cpu"]), np.asarray(columns["memory"])
        runs = running(job, task, rows, recorded, *requested)
        if job.habits is not None and law is not None:
            runs = replace(runs, habit=Habit(job.habits.application, law.usage))
        windows = usage_windows(profile.usage, runs, usage_rng)
    return in_order(
        _meta(profile, job),
        jobs=_job_columns(profile, job, recorded_width(task, rows, recorded), recorded.job_cut),
        tasks=columns,
        attempts=recorded.columns,
        seen=recorded.seen,
        windows=windows,
    )


def _jobs(profile: Google2011, n: int, rng: np.random.Generator) -> Google2011Jobs:
    span = within_reach(n / (profile.jobs_per_hour * profile.sampling) * HOUR)
    submit = np.sort(rng.integers(0, max(span, 1), n))
    multi = allot(rng, (1 - profile.multi_share, profile.multi_share), n) == 1
    fate = fates(rng, multi, profile.fates_by_width())
    size_score = rng.standard_normal(n)
    tasks = np.ones(n, dtype=np.int64)
    time = np.empty(n)
    for outcome, table in enumerate(profile.task_minutes):
        here = np.flatnonzero(fate == outcome)
        wide = here[multi[here]]
        scores = normal_score(spread(rng, evenly(rng, len(wide))))
        size_score[wide] = scores
        tasks[wide] = np.clip(np.rint(profile.multi_tasks.at_score(scores)), 2, profile.job_tasks)
        time[here] = job_times(profile, table, multi[here], size_score[here], rng)
    priority, scheduling_class = np.empty_like(fate), np.empty_like(fate)
    for wide in (False, True):
        for outcome in (FINISHED, FAILED, KILLED):
            here = np.flatnonzero((multi == wide) & (fate == outcome))
            bands = (profile.priority_multi if wide else profile.priority_single)[outcome]
            classes = (profile.class_multi if wide else profile.class_single)[outcome]
            priority[here] = allot(rng, bands, len(here))
            scheduling_class[here] = allot(rng, classes, len(here))
    user = skewed(rng, profile.user_skew, profile.users, n)
    time = np.minimum(time, tasks * float(profile.longest))
    return Google2011Jobs(submit, fate, multi, tasks, time, user, span, priority, scheduling_class)


def _recurring(
    profile: Google2011, law: Applications, n: int, rng: np.random.Generator
) -> Google2011Jobs:
    drawn = recurring_jobs(profile, law, n, rng)
    columns = {each.name: getattr(drawn.jobs, each.name) for each in fields(drawn.jobs)}
    return Google2011Jobs(
        **columns,
        priority=drawn.priority,
        scheduling_class=drawn.scheduling_class,
        habits=drawn.habits,
    )


def _tasks(profile: Google2011, job: Google2011Jobs, rng: np.random.Generator) -> Tasks:
    check_rows(int(job.tasks.sum()), "tasks")
    ratio = profile.kills.ratio.sample(rng, len(job.tasks))
    of = np.repeat(np.arange(len(job.tasks)), job.tasks)
    position = shuffled_position(rng, of, job.tasks)
    fate, pending = _task_fates(profile, job, of, position, rng)
    failures = failure_counts(profile, job.fate, job.multi, job.tasks, of, fate, rng)
    weight = _weights(profile, job, of, fate, ratio, rng)
    time = task_times(profile, job, of, fate, pending & (failures == 0), weight)
    rate = np.asarray(profile.evictions_per_hour)[job.priority][of]
    evictions = np.minimum(rng.poisson(rate * time / HOUR), profile.most_evictions)
    requeues = np.zeros(len(of), dtype=np.int64)
    count = round(profile.requeue_share * len(of))
    requeues[choose(rng, time > 0, count)] = 1
    return Tasks(of, fate, pending, time, failures, evictions, requeues)


def _weights(
    profile: Google2011,
    job: Google2011Jobs,
    of: Ints,
    fate: Ints,
    ratio: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Machine-time of each task, over that of a finished one of its job at the median.

    Of a job's killed tasks it is `ratio`: what is killed together has run together.
    """
    within = np.full(len(of), profile.task_spread)
    if job.habits is not None:
        within = job.habits.within[of]
    score = rng.standard_t(FREEDOM, len(of)) * (1.0 - 2.0 / FREEDOM) ** 0.5
    return np.where(fate == KILLED, ratio[of], np.exp(within * score))


def _task_fates(
    profile: Google2011, job: Google2011Jobs, of: Ints, position: Ints, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Fates of tasks, and which are killed pending; `position` orders a job's tasks at random."""
    n = len(job.tasks)
    killed_share = rng.beta(*profile.unfinished_beta, n)
    killed_share[rng.random(n) < profile.unfinished_all] = 1.0
    failed_share = rng.beta(*profile.failed_beta, n)
    if job.habits is None or profile.applications is None:
        habit, luck = killed_share, rng.random(n)
    else:
        failed_share = failed_shares(profile.applications, job, job.habits)
        habit, luck = job.habits.unfinished, job.habits.luck
    killed_share = killed_shares(profile.kills, job, habit, luck, failed_share)
    killed = np.clip(np.rint(killed_share * job.tasks), 1, job.tasks)
    failed = np.clip(np.rint(failed_share * job.tasks), 1, job.tasks)
    silent = round((1 - profile.failed_with_failure) * int((job.fate == FAILED).sum()))
    failed[choose(rng, (job.fate == FAILED) & job.multi, silent)] = 0
    along = np.rint((job.tasks - failed) * profile.failed_job_killed)
    fate = np.full(len(of), FINISHED)
    fate[(job.fate == KILLED)[of] & (position < killed[of])] = KILLED
    in_failed = (job.fate == FAILED)[of]
    fate[in_failed & (position < (failed + along)[of])] = KILLED
    fate[in_failed & (position < failed[of])] = FAILED
    # The first of a job's killed tasks ran: the job used machine-time.
    waiting = np.zeros(len(of), dtype=np.bool_)
    may_wait = (fate == KILLED) & (position > 0)
    count = round(profile.never_started * int((fate == KILLED).sum()))
    if job.habits is None:
        waiting[choose(rng, may_wait, count)] = True
    else:  # whole jobs wait
        places = np.flatnonzero(may_wait)
        waiting[places[np.argsort(rng.random(n)[of[places]], kind="stable")[:count]]] = True
    return fate, waiting


def _task_submits(
    profile: Google2011, job: Jobs, task: Tasks, rows: Rows, rng: np.random.Generator
) -> Ints:
    """When each task is submitted [ms]."""
    length = task_lengths(rows, len(task.job))
    span = np.zeros(len(job.tasks), dtype=np.int64)
    np.maximum.at(span, task.job, length)
    slack = span[task.job] - length
    late = rng.random(len(slack)) < profile.late_share
    offset = np.where(late, rng.random(len(slack)) * slack, 0.0).astype(np.int64)
    # What is killed ends when the job does: one kill for all.
    killed = task.fate == KILLED
    offset[killed] = slack[killed]
    return job.submit[task.job] + offset


def _meta(profile: Google2011, job: Jobs) -> Meta:
    return meta_of(
        profile.name,
        "Calibrated to El-Sayed et al., ICDCS 2017, and Rosà et al., IWQoS 2015",
        job.span,
    )


def _job_columns(
    profile: Google2011, job: Google2011Jobs, width: Ints, cut: Flags
) -> dict[str, Any]:
    names: dict[str, Any] = {}
    if job.habits is not None:
        code = job.habits.name
        names["name"] = texts([f"a{n:06d}" for n in range(int(code.max()) + 1)], code)
    return names | {
        "original_id": identifiers(len(job.submit)),
        "user": [f"u{number:03d}" for number in job.user.tolist()],
        "submit": job.submit,
        "width": width,
        "outcome": np.where(cut, Outcome.CENSORED, job.fate),
        "priority": np.asarray(profile.priorities)[job.priority],
        "scheduling_class": job.scheduling_class,
    }


def _task_columns(
    profile: Google2011, job: Google2011Jobs, task: Tasks, rng: np.random.Generator
) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "job": task.job,
        "index": position_in_group(job.tasks),
        "width": 1,
    }
    if job.habits is None:
        return columns | _requests(profile, job, task, rng)
    habits = {name: getattr(job.habits, name) for name in RESOURCES}
    return columns | {name: values[task.job] for name, values in habits.items()}


def _requests(
    profile: Google2011, job: Jobs, task: Tasks, rng: np.random.Generator
) -> dict[str, Any]:
    """Requests are those of the job; they grow, or fall, with its mean machine-time per task."""
    columns: dict[str, Any] = {}
    log_time = np.log(np.maximum(job.time / job.tasks, 1.0))
    unfinished = (task.fate != FINISHED) & (task.time > 0)
    shared = _covariance(log_time[task.job[unfinished]], np.log(task.time[unfinished] + 1.0))
    centre = float(np.median(log_time))
    for number, resource in enumerate(RESOURCES):
        slope = profile.request_covariance[number] / max(shared, 0.1)
        request = np.log(profile.request_median[number]) + slope * (log_time - centre)
        request += profile.request_spread * rng.standard_normal(len(log_time))
        request[job.fate == FAILED] += np.log(profile.failed_request[number])
        exact = np.clip(np.exp(np.minimum(request, 0.0)), 1e-6, 0.5)
        columns[resource] = (np.rint(exact * GRID) / GRID)[task.job]
    return columns


def _covariance(x: Floats, y: Floats) -> float:
    if not len(x):
        return 0.0
    return float(np.dot(x - x.mean(), y - y.mean())) / len(x)
