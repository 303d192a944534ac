"""Jobs of google-2011 whose applications recur.

How many jobs of each width have which outcome is allotted as without applications. Then each such
class of jobs is dealt to applications (`google_2011_pool`); the widths and machine-times of the
profile's tables go to jobs in the order of what their applications are used to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from failgym.traces.synthetic import recurrence
from failgym.traces.synthetic.batch import FAILED, KILLED, Jobs
from failgym.traces.synthetic.google_2011_pool import Pool, is_batch, pool_of
from failgym.traces.synthetic.profiles import Google2011
from failgym.traces.synthetic.profiles.applications import Applications
from failgym.traces.synthetic.quantiles import Flags, Floats, Ints, ranks, spread
from failgym.traces.synthetic.ranges import within_reach
from failgym.vocabulary import HOUR, MINUTE

MOST_POWER = 8.0
TINY = 1e-9
"""Stands for a share of nothing."""
LEAST_LOG_POWER, MOST_LOG_POWER = -5.0, 7.0
"""Logarithms of the power of a job's rank by which it hangs."""
HALVINGS = 20
"""Of the intervals in which powers are looked for."""


@dataclass(frozen=True)
class Habits:
    """What the applications of jobs are used to, beside what `Jobs` says: one entry per job."""

    application: Ints
    name: Ints
    cpu: Floats
    memory: Floats
    disk: Floats
    within: Floats  # deviation of the log run times of a job's tasks
    unfinished: Floats  # share of a job's tasks that do not finish, if it does not
    luck: Floats  # a uniform number for each application
    killed: Floats  # machine-time of a job's killed tasks over that of a finished one


class Recurring(NamedTuple):
    """Jobs in order of submission, and the habits of their applications."""

    jobs: Jobs
    priority: Ints
    scheduling_class: Ints
    habits: Habits


def recurring_jobs(
    profile: Google2011, law: Applications, n: int, rng: np.random.Generator
) -> Recurring:
    """`n` jobs in order of submission."""
    span = within_reach(n / (profile.jobs_per_hour * profile.sampling) * HOUR)
    pool = pool_of(profile, law, n, rng)
    total = pool.counts.sum(axis=1)
    slower = max(law.jobs_per_hour * span / HOUR / n, 1.0)
    alone = int(pool.turns.max(initial=0)) + 1 + np.arange(len(pool.turns))
    rhythm = recurrence.Rhythm(
        pool.campaigns,
        np.where(pool.first < 0, -1 - np.arange(len(pool.first)), pool.first),
        pool.owner,
        slower * pool.hours,
        pool.regularity,
        np.where(pool.turns > 0, pool.turns, alone),
    )
    runs = recurrence.runs(total, rhythm, span, law.office, rng)
    fate = recurrence.alike(pool.counts, law.stretch, rng)
    name = recurrence.names(total, pool.names, rng)
    luck = rng.random(len(total))
    order = np.argsort(runs.submit, kind="stable")
    submit, of = runs.submit[order], runs.application[order]
    order = order[recurrence.mixed(pool.owner[of], pool.several[of], law.mixed, rng)]
    of = runs.application[order]
    fate, multi = fate[order], pool.several[of] == 1
    tasks = _widths(profile, pool, of, multi, rng)
    common = recurrence.in_bundles(pool.owner[of], law.bundle, rng)
    noise = law.together**0.5 * common
    noise += (1.0 - law.together) ** 0.5 * rng.standard_normal(n)
    size = np.log(tasks) + np.log(pool.minutes)[of] + pool.minutes_spread[of] * noise
    time = np.exp(size) * MINUTE
    batch = is_batch(profile, pool.priority[of]) == 1
    for outcome, table in enumerate(profile.task_minutes):
        here = np.flatnonzero(batch & (fate == outcome))
        time[here] = table.at(spread(rng, ranks(size[here]))) * MINUTE
    time = np.minimum(time, tasks * float(profile.longest))
    habits = Habits(
        of,
        name[order],
        pool.cpu[of],
        pool.memory[of],
        pool.disk[of],
        pool.within[of],
        pool.unfinished[of],
        luck[of],
        law.killed_ratio.sample(rng, n),
    )
    jobs = Jobs(submit, fate, multi, tasks, time, pool.owner[of], span)
    return Recurring(jobs, pool.priority[of], pool.scheduling_class[of], habits)


def unfinished_shares(law: Applications, jobs: Jobs, habits: Habits) -> tuple[Floats, Floats]:
    """Shares of the tasks of each job that do not finish: if it fails, if it is killed.

    Killed jobs that run long, per task, hang as a whole: none of their tasks finishes. So many do
    that tasks that do not finish take the share of machine-time that the law says, if it can be.
    The others have shares such that of all tasks of these jobs as many do not finish as it says.
    """
    failed, killed = (jobs.multi & (jobs.fate == end) for end in (FAILED, KILLED))
    of_failed, of_killed = law.unfinished
    failed_share = np.where(failed, tempered(habits.unfinished, jobs.tasks, failed, of_failed), 1.0)
    share = np.zeros(len(jobs.tasks))
    long = np.flatnonzero(killed)
    share[long] = (ranks(jobs.time[long] / jobs.tasks[long]) + 1.0) / max(len(long), 1)
    tasks = int(jobs.tasks[killed].sum())

    def killed_share(power: float) -> Floats:
        hung = killed & (habits.luck < share**power)
        others = killed & ~hung
        left = max(of_killed * tasks - int(jobs.tasks[hung].sum()), 0.0)
        wanted = max(left / max(int(jobs.tasks[others].sum()), 1), TINY)
        return np.where(others, tempered(habits.unfinished, jobs.tasks, others, wanted), 1.0)

    def lost(power: float) -> float:
        unfinished = np.where(jobs.fate == KILLED, killed_share(power), 0.0)
        unfinished += np.where(jobs.fate == FAILED, failed_share, 0.0)
        return float(np.sum(jobs.time * unfinished))

    low, high = LEAST_LOG_POWER, MOST_LOG_POWER
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = lost(math.exp(middle)) > law.lost_time * float(jobs.time.sum())
        low, high = (middle, high) if enough else (low, middle)
    return failed_share, killed_share(math.exp(low))


def tempered(share: Floats, sizes: Ints, here: Flags, wanted: float) -> Floats:
    """The shares to the power that makes them, over all that is `here`, the share `wanted`.

    What no power makes small enough is scaled.
    """
    few, size = share[here], sizes[here]

    def lost(power: float) -> float:
        whole = np.clip(np.rint(few**power * size), 1, size)
        return float(whole.sum()) / max(int(size.sum()), 1)

    low, high = 0.0, MOST_POWER
    for _ in range(HALVINGS):
        power = 0.5 * (low + high)
        low, high = (power, high) if lost(power) > wanted else (low, power)
    return share**high * (wanted / max(lost(high), wanted))


def _widths(
    profile: Google2011, pool: Pool, of: Ints, multi: Flags, rng: np.random.Generator
) -> Ints:
    """The tasks of each job: as many as ever, if its application always has as many."""
    tasks = np.ones(len(of), dtype=np.int64)
    wide = np.flatnonzero(multi)
    varied = np.exp(pool.tasks_spread[of[wide]] * rng.standard_normal(len(wide)))
    tasks[wide] = np.clip(np.rint(pool.tasks[of[wide]] * varied), 2, profile.job_tasks)
    return tasks
