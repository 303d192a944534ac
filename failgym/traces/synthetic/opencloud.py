"""The opencloud generator: Hadoop jobs, their map and reduce tasks, failures and settings.

The mechanisms are those of `batch` and `failures`; here are the two stages, and how jobs are
configured.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from failgym.traces.synthetic.profiles import OpenCloud
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
    ranks,
    shuffled_position,
    skewed,
    spread,
)
from failgym.traces.synthetic.ranges import check_rows, within_reach
from failgym.traces.synthetic.tables import identifiers, in_order, meta_of
from failgym.traces.synthetic.usage import usage_windows
from failgym.traces.tables import Meta
from failgym.traces.trace import Trace
from failgym.vocabulary import DAY, Cause, Outcome

STAGES = ("map", "reduce")
"""The stages of a job, in order."""


@dataclass(frozen=True)
class HadoopJobs(Jobs):
    """One entry per job, in order of submission."""

    maps: Ints
    reducers: Ints


@dataclass(frozen=True)
class HadoopTasks(Tasks):
    """One entry per task, in order of (job, index): of a job first the maps."""

    reduces: Flags


def generate_opencloud(
    profile: OpenCloud,
    jobs: int,
    rng: np.random.Generator,
    usage_rng: np.random.Generator | None = None,
) -> Trace:
    """A trace of `jobs` jobs after the profile; with windows of usage if there is a `usage_rng`."""
    job = _jobs(profile, jobs, rng)
    task = _tasks(profile, job, rng)
    rows = attempts(profile, task, rng)
    killed_by = np.where((job.fate == FAILED)[task.job], Cause.DEPENDENCY, Cause.USER)
    submit = _task_submits(profile, job, task, rows, rng)
    recorded = record(job, task, rows, submit, killed_by)
    windows: dict[str, Any] = {}
    if usage_rng is not None:
        runs = running(job, task, rows, recorded)
        windows = usage_windows(profile.usage, runs, usage_rng)
    stages, stage_of = _stages(job)
    memory = _memory(profile, job, rng)
    return in_order(
        _meta(profile, job),
        jobs={
            "original_id": identifiers(jobs),
            "user": [f"u{number:02d}" for number in job.user.tolist()],
            "submit": job.submit,
            "width": recorded_width(task, rows, recorded),
            "outcome": np.where(recorded.job_cut, Outcome.CENSORED, job.fate),
            "speculation": ~_chosen(job.fate, profile.no_speculation, rng),
            "skip_mode": _skip_modes(profile, job, rng),
            "attempt_limit": _attempt_limits(profile, job, task, rng),
        },
        tasks={
            "job": task.job,
            "index": position_in_group(job.tasks),
            "width": 1,
            "stage": stage_of[task.job, task.reduces.astype(np.int64)],
            "memory": memory[task.job],
        },
        attempts=recorded.columns,
        seen=recorded.seen,
        windows=windows,
        stages=stages,
        machines={
            "original_id": [f"node{number:02d}" for number in range(profile.nodes)],
            "memory": 1.0,
            "speed": 1.0,
        },
    )


def _jobs(profile: OpenCloud, n: int, rng: np.random.Generator) -> HadoopJobs:
    span = within_reach(n / (profile.all_jobs / profile.days * profile.sampling) * DAY)
    submit = np.sort(rng.integers(0, max(span, 1), n))
    multi = allot(rng, (1 - profile.multi_share, profile.multi_share), n) == 1
    fate = fates(rng, multi, (profile.job_shares, profile.job_shares))
    maps, reducers = np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    scores, time = rng.standard_normal(n), np.empty(n)
    # Among jobs of several mappers, the others of those with at most one reducer.
    few = 1 - (1 - profile.few_reducers) / profile.multi_share
    for outcome, table in enumerate(profile.task_minutes):
        here = np.flatnonzero(fate == outcome)
        wide = here[multi[here]]
        scores[wide] = normal_score(spread(rng, evenly(rng, len(wide))))
        maps[wide] = np.rint(profile.maps.at_score(scores[wide]))
        reducers[here] = allot(rng, (profile.no_reducer, 1 - profile.no_reducer), len(here))
        many = wide[allot(rng, (few, 1 - few), len(wide)) == 1]
        reducers[many] = np.rint(profile.reducers.sample(rng, len(many)))
        time[here] = job_times(profile, table, multi[here], scores[here], rng)
    user = skewed(rng, profile.user_skew, profile.users, n)
    tasks = maps + reducers
    time = np.minimum(time, tasks * float(profile.longest))
    return HadoopJobs(submit, fate, multi, tasks, time, user, span, maps, reducers)


def _tasks(profile: OpenCloud, job: HadoopJobs, rng: np.random.Generator) -> HadoopTasks:
    check_rows(int(job.tasks.sum()), "tasks")
    of = np.repeat(np.arange(len(job.tasks)), job.tasks)
    reduces = position_in_group(job.tasks) >= job.maps[of]
    fate, pending = _task_fates(profile, job, of, reduces, rng)
    failures = failure_counts(profile, job.fate, job.multi, job.tasks, of, fate, rng)
    weight = _weights(profile, job, of, fate, rng)
    time = task_times(profile, job, of, fate, pending & (failures == 0), weight)
    never = np.zeros(len(of), dtype=np.int64)
    return HadoopTasks(of, fate, pending, time, failures, never, never, reduces)


def _weights(
    profile: OpenCloud, job: HadoopJobs, of: Ints, fate: Ints, rng: np.random.Generator
) -> Floats:
    """Machine-time of each task, over that of a finished one of its job at the median."""
    weight = np.exp(profile.task_spread * rng.standard_normal(len(of)))
    share = (ranks(job.time) + 1.0) / len(job.tasks)  # of jobs with no more machine-time
    hangs = rng.random(len(job.tasks)) < share**profile.hung_power
    longer = np.where(hangs, profile.hung_factor, profile.cut_factor)
    return np.where(fate == KILLED, weight * longer[of], weight)


def _task_fates(
    profile: OpenCloud, job: HadoopJobs, of: Ints, reduces: Flags, rng: np.random.Generator
) -> tuple[Ints, Flags]:
    """Fates of tasks, and which reducers are killed before they start.

    What does not finish in a killed job are its reducers first. A failed job fails in one stage;
    if in its maps, its reducers are killed.
    """
    n = len(job.tasks)
    fate = np.full(len(of), FINISHED)
    share = rng.beta(*profile.unfinished_beta, n)
    share[rng.random(n) < profile.unfinished_all] = 1.0
    unfinished = np.clip(np.rint(share * job.tasks), 1, job.tasks)
    # A random order within each stage of a job: reducers come last, and are lost first.
    stage = 2 * of + reduces
    sizes = np.bincount(stage, minlength=2 * n)
    place = shuffled_position(rng, stage, sizes)
    from_end = np.where(reduces, place, job.reducers[of] + place)
    fate[(job.fate == KILLED)[of] & (from_end < unfinished[of])] = KILLED
    in_maps = (job.reducers == 0) | (rng.random(n) < profile.failed_in_maps)
    size = np.where(in_maps, job.maps, job.reducers)
    failed = np.clip(np.rint(rng.beta(*profile.failed_beta, n) * size), 1, size)
    silent = round((1 - profile.failed_with_failure) * int((job.fate == FAILED).sum()))
    failed[choose(rng, (job.fate == FAILED) & job.multi, silent)] = 0
    lost = failed + np.rint((size - failed) * profile.failed_job_killed)
    fails = (job.fate == FAILED)[of]
    there = fails & (reduces != in_maps[of])
    fate[there & (place < lost[of])] = KILLED
    fate[there & (place < failed[of])] = FAILED
    fate[fails & reduces & in_maps[of]] = KILLED
    maps_done = np.bincount(of, (fate != FINISHED) & ~reduces, n) == 0
    waits = (fate == KILLED) & reduces & ~maps_done[of]
    return fate, waits & (rng.random(len(of)) < profile.waiting_reducers)


def _task_submits(
    profile: OpenCloud, job: HadoopJobs, task: HadoopTasks, rows: Rows, rng: np.random.Generator
) -> Ints:
    """When each task is submitted [ms]: reducers when the maps are done.

    The task that fails its job ends last, and what is killed ends with it: one kill for all.
    """
    length, killed = task_lengths(rows, len(task.job)), task.fate == KILLED
    stage = 2 * task.job + task.reduces
    spans = np.zeros(2 * len(job.tasks), dtype=np.int64)
    np.maximum.at(spans, stage[~killed], length[~killed])
    end = spans[0::2] + spans[1::2]
    np.maximum.at(end, task.job[killed], length[killed])
    late = rng.random(len(length)) < profile.late_share
    slack = np.where(killed, 0, spans[stage] - length)
    offset = np.where(late, rng.random(len(length)) * slack, 0.0).astype(np.int64)
    offset += np.where(task.reduces, spans[2 * task.job], 0)
    failed = np.flatnonzero(task.fate == FAILED)
    _, first = np.unique(task.job[failed], return_index=True)
    last = killed.copy()
    last[failed[first]] = True
    offset[last] = (end[task.job] - length)[last]
    return job.submit[task.job] + offset


def _stages(job: HadoopJobs) -> tuple[dict[str, Any], Ints]:
    """The stages table, and the row in it of each (job, stage), (jobs, 2)."""
    counts = 1 + (job.reducers > 0)
    number = position_in_group(counts)
    first = first_of_group(counts)
    return {
        "job": np.repeat(np.arange(len(counts)), counts),
        "stage": number,
        "name": [STAGES[stage] for stage in number.tolist()],
    }, np.stack((first, first + 1), axis=1)


def _chosen(fate: Ints, shares: tuple[float, float, float], rng: np.random.Generator) -> Flags:
    """A share of the jobs of each outcome, (jobs,)."""
    result = np.zeros(len(fate), dtype=np.bool_)
    for outcome, share in enumerate(shares):
        here = fate == outcome
        exact = share * int(here.sum())
        result[choose(rng, here, int(exact + rng.random()))] = True
    return result


def _skip_modes(profile: OpenCloud, job: Jobs, rng: np.random.Generator) -> Ints:
    kept = _chosen(job.fate, profile.skip_mode_kept, rng)
    values, shares = zip(*profile.skip_modes, strict=True)
    others = np.array(values)[allot(rng, shares, int((~kept).sum()))]
    modes = np.full(len(kept), profile.default_skip_mode)
    modes[~kept] = others
    return modes


def _attempt_limits(profile: OpenCloud, job: Jobs, task: Tasks, rng: np.random.Generator) -> Ints:
    """Limits that every task of the job keeps to."""
    most = np.zeros(len(job.tasks), dtype=np.int64)
    np.maximum.at(most, task.job, task.failures)
    limits = np.full(len(most), profile.default_attempt_limit)
    values = np.array([value for value, _ in profile.attempt_limits])
    for outcome, share in enumerate(profile.attempt_limit_changed):
        here = job.fate == outcome
        must = here & (most > profile.default_attempt_limit)
        free = round(share * int(here.sum())) - int(must.sum())
        changed = np.concatenate((np.flatnonzero(must), choose(rng, here & ~must, free)))
        shares = [by_outcome[outcome] for _, by_outcome in profile.attempt_limits]
        drawn = values[allot(rng, shares, len(changed))]
        least = np.searchsorted(values, np.maximum(drawn, most[changed]))
        limits[changed] = values[least]
    return limits


def _memory(profile: OpenCloud, job: Jobs, rng: np.random.Generator) -> Floats:
    """Requested by the tasks of each job, a share of a node's."""
    kept = _chosen(job.fate, profile.memory_kept, rng)
    other = np.array(profile.memories)[rng.integers(0, len(profile.memories), len(kept))]
    return np.where(kept, profile.default_memory, other) / profile.node_memory


def _meta(profile: OpenCloud, job: Jobs) -> Meta:
    return meta_of(
        profile.name,
        "Calibrated to El-Sayed et al., ICDCS 2017",
        job.span,
    )
