"""Jobs of google-2011 whose applications recur.

How many jobs of each width have which outcome is allotted as without applications. Then each such
class of jobs is dealt to applications, listed and rare ones; the widths and machine-times of the
profile's tables go to jobs in the order of what their applications are used to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

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
MOST_POWER = 8.0
HALVINGS = 20
"""Of the interval from 0 to `MOST_POWER`."""
Columns = dict[str, Any]
"""Applications as columns by the name of a habit: one entry per application."""
BATCH = (2, 8)
"""Priorities of batch jobs, from and to."""
TINY = 1e-9
"""Weight of an application that no rare one takes after, where none has more."""
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
    unfinished: Floats  # share of a job's tasks that do not finish, if it does not
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
    first: Ints  # number of the first of these; -1: at a time of its own
    turns: Ints
    counts: Ints  # jobs by outcome, (applications, 3)
    several: Ints  # 1 if jobs have several tasks


def recurring_jobs(
    profile: Google2011, law: Applications, n: int, rng: np.random.Generator
) -> Recurring:
    """`n` jobs in order of submission."""
    span = within_reach(n / (profile.jobs_per_hour * profile.sampling) * HOUR)
    pool = _pool(profile, law, n, rng)
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
    batch = _is_batch(profile, pool.priority[of]) == 1
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


def _pool(profile: Google2011, law: Applications, n: int, rng: np.random.Generator) -> Pool:
    """The listed applications and as many rare ones as it takes, with their numbers of jobs."""
    listed = _columns(law.catalogue)
    several = (listed["tasks"] > 1).astype(np.int64)
    ends = _ends(listed)
    batch = _is_batch(profile, listed["priority"])
    counts = np.zeros((len(several), ENDS), dtype=np.int64)
    rare: list[tuple[Ints, Ints, int]] = []  # jobs of each application, candidates, outcome
    for kind, number in _classes(profile, law, n):
        here = (batch == kind.batch) & (several == kind.several)
        weight = np.where(here, ends[:, kind.end] * listed["jobs"], 0.0)
        some = bool(weight.any())
        few = round(law.rare[kind.batch][kind.several][kind.end] * number) if some else number
        if number > few:
            counts[:, kind.end] += recurrence.systematic(weight, number - few, rng)
        models = np.flatnonzero(weight > 0 if some else here)
        rare.append((_rare_counts(law, few, rng), models, kind.end))
    total = counts.sum(axis=1)
    campaigns = np.ceil(total / np.maximum(listed["jobs"], 1.0)).astype(np.int64)
    always = listed["hours"] >= law.always
    listed["campaigns"] = np.where(always, 1, np.maximum(campaigns, 1))
    listed["first"] = np.zeros(len(total), dtype=np.int64)
    listed["hours"] = np.where(always, np.inf, listed["hours"])
    parts = [listed | {"counts": counts, "several": several}]
    parts += [_rare(profile, law, listed, several, *each, rng) for each in rare]
    joined: Columns = {
        f.name: np.concatenate([part[f.name] for part in parts]) for f in fields(Pool)
    }
    return Pool(**joined)


class Kind(NamedTuple):
    """A kind of jobs whose number is published, or known from the record."""

    batch: int  # 1 if of a batch priority
    several: int  # 1 if of several tasks
    end: int


def _classes(profile: Google2011, law: Applications, n: int) -> list[tuple[Kind, int]]:
    """The kinds of jobs, and how many there are of each.

    Published is the mix of batch jobs; that of the others is the law's.
    """
    others, batch = quotas((1 - law.batch, law.batch), n).tolist()
    wide = quotas((1 - profile.multi_share, profile.multi_share), batch).tolist()
    mixes = profile.fates_by_width()
    counts = [quotas(mixes[several], wide[several]) for several in (0, 1)]
    other = quotas([*law.others[0], *law.others[1]], others).reshape(2, ENDS)
    return [
        (Kind(kind, several, end), int(those[several][end]))
        for kind, those in enumerate((other, counts))
        for several in (0, 1)
        for end in range(ENDS)
    ]


def _is_batch(profile: Google2011, priority: Ints) -> Ints:
    """1 for the positions of priorities that are of batch jobs."""
    priorities = np.asarray(profile.priorities)[priority]
    return ((priorities >= BATCH[0]) & (priorities <= BATCH[1])).astype(np.int64)


def _columns(catalogue: tuple[Application, ...]) -> Columns:
    return {
        field.name: np.array([getattr(each, field.name) for each in catalogue])
        for field in fields(Application)
    }


def _ends(listed: Columns) -> Floats:
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
    listed: Columns,
    several: Ints,
    runs: Ints,
    after: Ints,
    end: int,
    rng: np.random.Generator,
) -> Columns:
    """Rare applications: each takes after a listed one."""
    n = len(runs)
    if not len(after):
        after = np.arange(len(several))
    upto = np.cumsum(listed["rare"][after] + TINY)
    model = after[np.searchsorted(upto, rng.random(n) * upto[-1], side="right")]
    columns = {name: values[model] for name, values in listed.items()}
    for name in ("tasks", "minutes"):
        columns[name] = columns[name] * np.exp(law.rare_spread * rng.standard_normal(n))
    counts = np.zeros((n, ENDS), dtype=np.int64)
    counts[:, end] = runs
    fresh = np.flatnonzero(rng.random(n) < law.rare_requests)
    factor = np.exp(law.rare_spread * rng.standard_normal(len(fresh)))
    exact = np.clip(columns["memory"][fresh] * factor, 0.0, 0.5)
    columns["memory"][fresh] = np.rint(exact * GRID) / GRID
    first = (rng.random(n) * listed["campaigns"][model]).astype(np.int64)
    others = np.setdiff1d(np.arange(profile.users), listed["owner"])
    owner = columns["owner"]
    if len(others):
        other = others[skewed(rng, profile.user_skew, len(others), n)]
        owner = np.where(rng.random(n) < law.rare_users, other, owner)
    return columns | {
        "owner": owner,
        "hours": law.rare_hours.sample(rng, n),
        "names": np.full(n, law.rare_names),
        "regularity": np.ones(n),
        "campaigns": np.ones(n, dtype=np.int64),
        "first": np.where(np.isinf(listed["hours"][model]), -1, first),
        "turns": np.zeros(n, dtype=np.int64),
        "counts": counts,
        "several": several[model],
    }
