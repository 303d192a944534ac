"""The google-2011 generator: jobs, their tasks, the failures among them, and when all happens.

Everything is arrays, one entry per job, task or attempt. The order of the work: outcomes and sizes
of jobs; machine-time of jobs, shared out among tasks; outcomes of tasks; how often each fails, is
evicted or requeued; the attempts in a row, with their waits; what the end of the data cuts off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from failgym.traces.schema import Cause, Outcome
from failgym.traces.synthetic.failures import failure_counts
from failgym.traces.synthetic.profiles import DAY, HOUR, MINUTE, SECOND, Google2011
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    allot,
    choose,
    evenly,
    first_of_group,
    normal_score,
    position_in_group,
    quotas,
    ranks,
    shuffled_position,
    spread,
)
from failgym.traces.synthetic.tables import in_order
from failgym.traces.trace import Meta, Trace

FINISHED, FAILED, KILLED = 0, 1, 2
"""Fates of jobs and tasks, in the order of the profile's tables; equal to `Outcome`'s codes."""
FAIL_ROW, EVICT_ROW, REQUEUE_ROW, LAST_ROW = 0, 1, 2, 3
"""Kinds of attempts."""


@dataclass(frozen=True)
class Jobs:
    """One entry per job."""

    submit: Ints  # [ms]
    fate: Ints
    multi: Flags
    tasks: Ints
    time: Floats  # machine-time of all attempts [ms]
    priority: Ints  # position in the profile's priorities
    scheduling_class: Ints
    user: Ints
    span: int  # end of the data [ms]


@dataclass(frozen=True)
class Tasks:
    """One entry per task, in order of (job, index)."""

    job: Ints
    fate: Ints
    pending: Flags  # killed while it waited for a machine
    time: Floats  # machine-time of all attempts [ms]
    failures: Ints
    evictions: Ints
    requeues: Ints


@dataclass(frozen=True)
class Rows:
    """One entry per attempt, in order of (task, number)."""

    task: Ints
    kind: Ints
    wait: Floats  # from queued to start, or to the end if it never starts [ms]
    run: Floats  # [ms]
    last: Flags


def generate_google_2011(profile: Google2011, jobs: int, rng: np.random.Generator) -> Trace:
    """A trace of `jobs` jobs after the profile."""
    job = _jobs(profile, jobs, rng)
    task = _tasks(profile, job, rng)
    rows = _rows(profile, task, rng)
    return _trace(profile, job, task, rows, rng)


def _jobs(profile: Google2011, n: int, rng: np.random.Generator) -> Jobs:
    span = int(n / (profile.jobs_per_hour * profile.sampling) * HOUR)
    submit = np.sort(rng.integers(0, max(span, 1), n))
    multi = allot(rng, (1 - profile.multi_share, profile.multi_share), n) == 1
    fate = np.empty(n, dtype=np.int64)
    for wide, shares in enumerate(_fate_shares(profile)):
        here = np.flatnonzero(multi == bool(wide))
        fate[here] = np.repeat(np.arange(3), quotas(shares, len(here)))[evenly(rng, len(here))]
    size_score = rng.standard_normal(n)
    tasks = np.ones(n, dtype=np.int64)
    time = np.empty(n)
    for outcome, table in enumerate(profile.task_minutes):
        here = np.flatnonzero(fate == outcome)
        wide = here[multi[here]]
        scores = normal_score(spread(rng, evenly(rng, len(wide))))
        size_score[wide] = scores
        tasks[wide] = np.clip(np.rint(profile.multi_tasks.at_score(scores)), 2, profile.job_tasks)
        # Jobs of one task rank below the others, each in random order.
        rank = ranks(size_score[here] + np.where(multi[here], 0.0, -8.0))
        width_score = normal_score((rank + 0.5) / max(len(here), 1))
        rho = profile.width_correlation
        mixed = rho * width_score + (1 - rho**2) ** 0.5 * rng.standard_normal(len(here))
        time[here] = table.at(spread(rng, ranks(mixed))) * MINUTE
    priority, scheduling_class = np.empty_like(fate), np.empty_like(fate)
    for wide in (False, True):
        for outcome in (FINISHED, FAILED, KILLED):
            here = np.flatnonzero((multi == wide) & (fate == outcome))
            bands = (profile.priority_multi if wide else profile.priority_single)[outcome]
            classes = (profile.class_multi if wide else profile.class_single)[outcome]
            priority[here] = allot(rng, bands, len(here))
            scheduling_class[here] = allot(rng, classes, len(here))
    user = (rng.random(n) ** profile.user_skew * profile.users).astype(np.int64)
    time = np.minimum(time, tasks * float(profile.longest))
    return Jobs(submit, fate, multi, tasks, time, priority, scheduling_class, user, span)


def _fate_shares(profile: Google2011) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares of finished, failed, killed: jobs of one task, jobs of several."""
    total = sum(profile.job_shares)
    _, failed, killed = (share / total for share in profile.job_shares)
    wide, narrow = profile.multi_share, 1 - profile.multi_share
    multi_killed = profile.multi_killed
    single_killed = (killed - wide * multi_killed) / narrow
    return (
        (1 - failed - single_killed, failed, single_killed),
        (1 - failed - multi_killed, failed, multi_killed),
    )


def _tasks(profile: Google2011, job: Jobs, rng: np.random.Generator) -> Tasks:
    of = np.repeat(np.arange(len(job.tasks)), job.tasks)
    position = shuffled_position(rng, of, job.tasks)
    fate, pending = _task_fates(profile, job, of, position, rng)
    failures = failure_counts(profile, job.fate, job.multi, job.tasks, of, fate, rng)
    time = _task_times(profile, job, of, fate, pending & (failures == 0), rng)
    rate = np.asarray(profile.evictions_per_hour)[job.priority][of]
    evictions = np.minimum(rng.poisson(rate * time / HOUR), profile.most_evictions)
    requeues = np.zeros(len(of), dtype=np.int64)
    count = round(profile.requeue_share * len(of))
    requeues[choose(rng, time > 0, count)] = 1
    return Tasks(of, fate, pending, time, failures, evictions, requeues)


def _task_fates(
    profile: Google2011, job: Jobs, of: Ints, position: Ints, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Fates of tasks, and which are killed pending; `position` orders a job's tasks at random."""
    n = len(job.tasks)
    killed_share = rng.beta(*profile.unfinished_beta, n)
    killed_share[rng.random(n) < profile.unfinished_all] = 1.0
    killed = np.clip(np.rint(killed_share * job.tasks), 1, job.tasks)
    failed = np.clip(np.rint(rng.beta(*profile.failed_beta, n) * job.tasks), 1, job.tasks)
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
    waiting[choose(rng, may_wait, count)] = True
    return fate, waiting


def _task_times(
    profile: Google2011, job: Jobs, of: Ints, fate: Ints, idle: Flags, rng: np.random.Generator
) -> Floats:
    """The machine-time of each task [ms]: its share of its job's."""
    weight = np.exp(profile.task_spread * rng.standard_normal(len(of)))
    share = (ranks(job.time) + 1.0) / len(job.tasks)  # of jobs with no more machine-time
    hangs = rng.random(len(job.tasks)) < share**profile.hung_power
    killed = fate == KILLED
    weight[killed] *= np.where(hangs[of], profile.hung_factor, profile.cut_factor)[killed]
    weight[idle] = 0.0
    total = np.bincount(of, weight, len(job.tasks))
    return np.minimum(job.time[of] * weight / total[of], float(profile.longest))


def _rows(profile: Google2011, task: Tasks, rng: np.random.Generator) -> Rows:
    numbers = np.arange(len(task.job))
    # The last row is the task's own end; a failed task's is the last of its failures.
    failed = task.fate == FAILED
    counts = (task.failures - failed, task.evictions, task.requeues, np.ones_like(task.failures))
    of = np.concatenate([np.repeat(numbers, count) for count in counts])
    kind = np.repeat(np.arange(4), [int(count.sum()) for count in counts])
    order = np.lexsort((rng.random(len(of)), kind == LAST_ROW, of))
    of, kind = of[order], kind[order]
    last = kind == LAST_ROW
    kind[last & failed[of]] = FAIL_ROW
    weight = rng.standard_exponential(len(of)) + 0.02
    weight[(kind == FAIL_ROW) & ~last] *= profile.failure_weight
    weight[last & task.pending[of]] = 0.0
    total = np.bincount(of, weight, len(numbers))
    run = task.time[of] * weight / np.maximum(total, 1e-9)[of]
    return Rows(of, kind, _waits(profile, task, of, kind, last, rng), run, last)


def _waits(
    profile: Google2011, task: Tasks, of: Ints, kind: Ints, last: Flags, rng: np.random.Generator
) -> Floats:
    """How long each attempt waits for its start [ms]."""
    wait = profile.queue_delay.sample(rng, len(of)) * SECOND
    for before, table in enumerate(profile.requeue_delay):
        after = np.flatnonzero((of[1:] == of[:-1]) & (kind[:-1] == before)) + 1
        wait[after] = table.sample(rng, len(after)) * SECOND
    waits = np.flatnonzero(last & task.pending[of])
    wait[waits] = profile.pending_minutes.sample(rng, len(waits)) * MINUTE
    return wait


def _timeline(
    profile: Google2011, job: Jobs, task: Tasks, rows: Rows, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Queued, start and end of each attempt [ms], as if the data had no end."""
    wait = np.rint(rows.wait).astype(np.int64)
    run = np.where(rows.run > 0, np.maximum(np.rint(rows.run), 1), 0).astype(np.int64)
    length = np.bincount(rows.task, wait + run, len(task.job)).astype(np.int64)
    span = np.zeros(len(job.tasks), dtype=np.int64)
    np.maximum.at(span, task.job, length)
    slack = span[task.job] - length
    late = rng.random(len(slack)) < profile.late_share
    offset = np.where(late, rng.random(len(slack)) * slack, 0.0).astype(np.int64)
    # What is killed ends when the job does: one kill for all.
    killed = task.fate == KILLED
    offset[killed] = slack[killed]
    passed = np.cumsum(wait + run)
    begin = (passed - wait - run) - np.concatenate(([0], passed))[_first_row(rows)][rows.task]
    queued = (job.submit[task.job] + offset)[rows.task] + begin
    return queued, queued + wait, queued + wait + run


def _first_row(rows: Rows) -> Ints:
    return first_of_group(np.bincount(rows.task))


def _trace(
    profile: Google2011, job: Jobs, task: Tasks, rows: Rows, rng: np.random.Generator
) -> Trace:
    queued, start, end = _timeline(profile, job, task, rows, rng)
    outcome = np.array([Outcome.FAIL, Outcome.EVICT, Outcome.KILL, Outcome.FINISH])[rows.kind]
    cause = np.array([Cause.INTRINSIC, Cause.PREEMPTION, Cause.REQUEUE, -1])[rows.kind]
    user_kill = (rows.kind == LAST_ROW) & (task.fate == KILLED)[rows.task]
    outcome[user_kill], cause[user_kill] = Outcome.KILL, Cause.USER
    idle = rows.last & task.pending[rows.task]
    seen, cut = queued <= job.span, end > job.span
    outcome[cut], cause[cut] = Outcome.CENSORED, -1
    job_cut = np.zeros(len(job.tasks), dtype=np.bool_)
    job_cut[task.job[rows.task[cut]]] = True
    present = seen[_first_row(rows)]
    columns: dict[str, Any] = {
        "task": rows.task,
        "queued": queued,
        "start": np.ma.array(start, mask=idle | (start > job.span)),
        "end": np.minimum(end, job.span),
        "outcome": outcome,
        "cause": np.ma.array(cause, mask=cause < 0),
    }
    return in_order(
        _meta(profile, job),
        jobs=_job_columns(profile, job, np.bincount(task.job[present]), job_cut),
        tasks=_task_columns(profile, job, task, rng),
        attempts=columns,
        seen=seen,
    )


def _meta(profile: Google2011, job: Jobs) -> Meta:
    return Meta(
        source=f"synthetic: {profile.name}",
        licence="MIT",
        citation="Calibrated to El-Sayed et al., ICDCS 2017, and Rosà et al., IWQoS 2015",
        time_origin=f"synthetic; {job.span / DAY:.2f} days",
        end=job.span,
    )


def _job_columns(profile: Google2011, job: Jobs, width: Ints, cut: Flags) -> dict[str, Any]:
    return {
        "original_id": [f"{number:09d}" for number in range(len(job.submit))],
        "user": [f"u{number:03d}" for number in job.user.tolist()],
        "submit": job.submit,
        "width": width,
        "outcome": np.where(cut, Outcome.CENSORED, job.fate),
        "priority": np.asarray(profile.priorities)[job.priority],
        "scheduling_class": job.scheduling_class,
    }


def _task_columns(
    profile: Google2011, job: Jobs, task: Tasks, rng: np.random.Generator
) -> dict[str, Any]:
    """Requests are those of the job; they grow, or fall, with its mean machine-time per task."""
    log_time = np.log(np.maximum(job.time / job.tasks, 1.0))
    unfinished = (task.fate != FINISHED) & (task.time > 0)
    shared = _covariance(log_time[task.job[unfinished]], np.log(task.time[unfinished] + 1.0))
    columns: dict[str, Any] = {
        "job": task.job,
        "index": position_in_group(job.tasks),
        "width": 1,
    }
    centre = float(np.median(log_time))
    for number, resource in enumerate(("cpu", "memory", "disk")):
        slope = profile.request_covariance[number] / max(shared, 0.1)
        request = np.log(profile.request_median[number]) + slope * (log_time - centre)
        request += profile.request_spread * rng.standard_normal(len(log_time))
        request[job.fate == FAILED] += np.log(profile.failed_request[number])
        columns[resource] = np.clip(np.exp(request), 1e-6, 0.5)[task.job]
    return columns


def _covariance(x: Floats, y: Floats) -> float:
    if not len(x):
        return 0.0
    return float(np.dot(x - x.mean(), y - y.mean())) / len(x)
