"""Jobs of google-2011 whose applications recur.

How many jobs of each width have which outcome is allotted as without applications. Then each such
class of jobs is dealt to applications (`google_2011_pool`); the widths and machine-times of the
profile's tables go to jobs in the order of what their applications are used to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from failgym.traces.synthetic import recurrence
from failgym.traces.synthetic.batch import FAILED, Jobs
from failgym.traces.synthetic.google_2011_kills import tempered
from failgym.traces.synthetic.google_2011_pool import Pool, is_batch, pool_of
from failgym.traces.synthetic.profiles import Google2011
from failgym.traces.synthetic.profiles.applications import Applications
from failgym.traces.synthetic.quantiles import Flags, Floats, Ints, ranks, spread
from failgym.traces.synthetic.ranges import within_reach
from failgym.vocabulary import HOUR, MINUTE


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
    )
    jobs = Jobs(submit, fate, multi, tasks, time, pool.owner[of], span)
    return Recurring(jobs, pool.priority[of], pool.scheduling_class[of], habits)


def failed_shares(law: Applications, jobs: Jobs, habits: Habits) -> Floats:
    """Share of the tasks of each job that do not finish if it fails, one entry per job."""
    failed = jobs.multi & (jobs.fate == FAILED)
    return np.where(failed, tempered(habits.unfinished, jobs.tasks, failed, law.unfinished), 1.0)


def _widths(
    profile: Google2011, pool: Pool, of: Ints, multi: Flags, rng: np.random.Generator
) -> Ints:
    """The tasks of each job: as many as ever, if its application always has as many."""
    tasks = np.ones(len(of), dtype=np.int64)
    wide = np.flatnonzero(multi)
    varied = np.exp(pool.tasks_spread[of[wide]] * rng.standard_normal(len(wide)))
    tasks[wide] = np.clip(np.rint(pool.tasks[of[wide]] * varied), 2, profile.job_tasks)
    return tasks
