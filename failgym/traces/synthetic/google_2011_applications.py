"""Jobs of google-2011 whose applications recur.

How many jobs of each width have which outcome is allotted as without applications. Then each such
class of jobs is dealt to applications, listed and rare ones; the widths and machine-times of the
profile's tables go to jobs in the order of what their applications are used to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from failgym.traces.synthetic import recurrence
from failgym.traces.synthetic.batch import Jobs
from failgym.traces.synthetic.profiles import Google2011
from failgym.traces.synthetic.profiles.applications import Application, Applications
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    quotas,
    ranks,
    skewed,
    spread,
)
from failgym.traces.synthetic.ranges import within_reach
from failgym.vocabulary import HOUR, MINUTE

ENDS = 3
"""Outcomes of jobs: finished, failed, killed."""
GRID = 2.0**16
"""Requests of memory that no listed application has are multiples of 1 / GRID."""
JITTER = 1e-6
"""What tells jobs of equal habits apart when they are put in order."""


@dataclass(frozen=True)
class Habits:
    """What the applications of jobs are used to, beside what `Jobs` says: one entry per job."""

    application: Ints
    name: Ints
    cpu: Floats
    memory: Floats
    disk: Floats
    within: Floats  # deviation of the log run times of a job's tasks
    unfinished: Floats  # rank among all jobs by the share of tasks that do not finish, in (0, 1)
    luck: Floats  # a uniform number for each application


class Recurring(NamedTuple):
    """Jobs in order of submission, and the habits of their applications."""

    jobs: Jobs
    priority: Ints
    scheduling_class: Ints
    habits: Habits


@dataclass(frozen=True)
class Pool:
    """Applications as columns: one entry per application."""

    owner: Ints
    cpu: Floats
    memory: Floats
    disk: Floats
    priority: Ints
    scheduling_class: Ints
    tasks: Floats
    tasks_spread: Floats
    minutes: Floats
    minutes_spread: Floats
    within: Floats
    unfinished: Floats
    names: Floats
    hours: Floats
    regularity: Floats
    campaigns: Ints
    counts: Ints  # jobs by outcome, (applications, 3)
    several: Ints  # 1 if jobs have several tasks


def recurring_jobs(
    profile: Google2011, law: Applications, n: int, rng: np.random.Generator
) -> Recurring:
    """`n` jobs in order of submission."""
    span = within_reach(n / (profile.jobs_per_hour * profile.sampling) * HOUR)
    pool = _pool(profile, law, n, rng)
    total = pool.counts.sum(axis=1)
    runs = recurrence.runs(
        total, pool.campaigns, pool.hours, pool.regularity, span, law.office, rng
    )
    fate = recurrence.alike(pool.counts, law.stretch, rng)
    name = recurrence.names(total, pool.names, rng)
    common = rng.standard_normal(int(runs.campaign.max(initial=-1)) + 1)[runs.campaign]
    luck = rng.random(len(total))
    order = np.argsort(runs.submit, kind="stable")
    of = runs.application[order]
    fate, multi = fate[order], pool.several[of] == 1
    tasks = _widths(profile, pool, of, multi, rng)
    noise = law.together**0.5 * common[order]
    noise += (1.0 - law.together) ** 0.5 * rng.standard_normal(n)
    size = np.log(tasks) + np.log(pool.minutes)[of] + pool.minutes_spread[of] * noise
    time = np.empty(n)
    for outcome, table in enumerate(profile.task_minutes):
        here = np.flatnonzero(fate == outcome)
        time[here] = table.at(spread(rng, ranks(size[here]))) * MINUTE
    time = np.minimum(time, tasks * float(profile.longest))
    unfinished = pool.unfinished[of] + JITTER * rng.random(n)
    habits = Habits(
        of,
        name[order],
        pool.cpu[of],
        pool.memory[of],
        pool.disk[of],
        pool.within[of],
        spread(rng, ranks(unfinished)),
        luck[of],
    )
    jobs = Jobs(runs.submit[order], fate, multi, tasks, time, pool.owner[of], span)
    return Recurring(jobs, pool.priority[of], pool.scheduling_class[of], habits)


def _widths(
    profile: Google2011, pool: Pool, of: Ints, multi: Flags, rng: np.random.Generator
) -> Ints:
    """The tasks of each job: as many as ever, if its application always has as many."""
    tasks = np.ones(len(of), dtype=np.int64)
    wide = np.flatnonzero(multi)
    varied = np.exp(pool.tasks_spread[of[wide]] * rng.standard_normal(len(wide)))
    tasks[wide] = np.clip(np.rint(pool.tasks[of[wide]] * varied), 2, profile.job_tasks)
    return tasks


def _pool(profile: Google2011, law: Applications, n: int, rng: np.random.Generator) -> Pool:
    """The listed applications and as many rare ones as it takes, with their numbers of jobs."""
    listed = _columns(law.catalogue)
    several = (listed["tasks"] > 1).astype(np.int64)
    ends = _ends(listed)
    counts = np.zeros((len(several), ENDS), dtype=np.int64)
    rare: list[tuple[Ints, Ints, int]] = []  # jobs of each application, candidates, outcome
    multi, fates = (
        quotas((1 - profile.multi_share, profile.multi_share), n),
        profile.fates_by_width(),
    )
    for wide in (0, 1):
        for end, number in enumerate(quotas(fates[wide], int(multi[wide])).tolist()):
            weight = np.where(several == wide, ends[:, end] * listed["jobs"], 0.0)
            few = round(law.rare[wide][end] * number) if weight.any() else number
            if number > few:
                counts[:, end] += recurrence.systematic(weight, number - few, rng)
            after = weight > 0 if weight.any() else several == wide
            rare.append((_rare_counts(law, few, rng), np.flatnonzero(after), end))
    total = counts.sum(axis=1)
    campaigns = np.ceil(total / np.maximum(listed["jobs"], 1.0)).astype(np.int64)
    always = listed["hours"] >= law.always
    listed["campaigns"] = np.where(always, 1, np.maximum(campaigns, 1))
    listed["hours"] = np.where(always, np.inf, listed["hours"])
    parts = [listed | {"counts": counts, "several": several}]
    parts += [_rare(profile, law, listed, several, *each, rng) for each in rare]
    return Pool(*(np.concatenate([part[f.name] for part in parts]) for f in fields(Pool)))


def _columns(catalogue: tuple[Application, ...]) -> dict[str, np.ndarray]:
    return {
        field.name: np.array([getattr(each, field.name) for each in catalogue])
        for field in fields(Application)
    }


def _ends(listed: dict[str, np.ndarray]) -> Floats:
    """Shares of finished, failed, killed, (applications, 3)."""
    finished, failed = listed["finished"], listed["failed"]
    killed = np.maximum(1.0 - finished - failed, 0.0)
    killed[killed < JITTER] = 0.0
    return np.stack((finished, failed, killed), axis=1)


def _rare_counts(law: Applications, jobs: int, rng: np.random.Generator) -> Ints:
    """The jobs of each of the rare applications that have so many in all."""
    runs = np.maximum(np.rint(law.rare_runs.sample(rng, jobs)), 1).astype(np.int64)
    upto = np.minimum(np.cumsum(runs), jobs)
    counts = np.diff(upto, prepend=0)
    return counts[counts > 0]


def _rare(
    profile: Google2011,
    law: Applications,
    listed: dict[str, np.ndarray],
    several: Ints,
    runs: Ints,
    after: Ints,
    end: int,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Rare applications: each takes after some of the listed ones, a habit from each."""
    n = len(runs)
    if not len(after):
        after = np.arange(len(several))
    model = after[rng.integers(0, len(after), n)]
    columns = {name: values[model] for name, values in listed.items()}
    for request in ("cpu", "memory", "disk"):
        columns[request] = listed[request][after[rng.integers(0, len(after), n)]]
    for name in ("tasks", "minutes"):
        columns[name] = columns[name] * np.exp(law.rare_spread * rng.standard_normal(n))
    counts = np.zeros((n, ENDS), dtype=np.int64)
    counts[:, end] = runs
    fresh = np.flatnonzero(rng.random(n) < law.rare_requests)
    factor = np.exp(law.rare_spread * rng.standard_normal(len(fresh)))
    exact = np.clip(columns["memory"][fresh] * factor, 0.0, 0.5)
    columns["memory"][fresh] = np.rint(exact * GRID) / GRID
    other = rng.random(n) < law.rare_users
    owner = np.where(other, skewed(rng, profile.user_skew, profile.users, n), columns["owner"])
    return columns | {
        "owner": owner,
        "hours": law.rare_hours.sample(rng, n),
        "names": np.full(n, law.rare_names),
        "regularity": np.ones(n),
        "campaigns": np.ones(n, dtype=np.int64),
        "counts": counts,
        "several": several[model],
    }
