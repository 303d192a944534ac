"""The applications of a trace after google-2011, listed and rare, and their jobs by outcome."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from failgym.traces.synthetic import recurrence
from failgym.traces.synthetic.profiles import Google2011
from failgym.traces.synthetic.profiles.applications import Application, Applications
from failgym.traces.synthetic.quantiles import Floats, Ints, quotas, skewed

ENDS = 3
"""Outcomes of jobs: finished, failed, killed."""
GRID = 2.0**16
"""Requests of memory that no listed application has are multiples of 1 / GRID."""
Columns = dict[str, Any]
"""Applications as columns by the name of a habit: one entry per application."""
BATCH = (2, 8)
"""Priorities of batch jobs, from and to."""
TINY = 1e-9
"""Weight of an application that no rare one takes after, where none has more."""
ROUNDING = 1e-6
"""What rounding leaves of a share of 0."""


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


def pool_of(profile: Google2011, law: Applications, n: int, rng: np.random.Generator) -> Pool:
    """The listed applications and as many rare ones as it takes, with their numbers of jobs."""
    listed = _columns(law.catalogue)
    several = (listed["tasks"] > 1).astype(np.int64)
    ends = _ends(listed)
    batch = is_batch(profile, listed["priority"])
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


def is_batch(profile: Google2011, priority: Ints) -> Ints:
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
    killed[killed < ROUNDING] = 0.0
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
