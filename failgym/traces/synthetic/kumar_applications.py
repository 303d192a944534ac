"""Jobs after Kumar et al. whose applications recur: when they run, and what each is used to.

Applications come first, and say in which order jobs have what the profile's laws give: the jobs of
an environment have the published run times, nodes and ends, whoever has which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from failgym.traces.synthetic import recurrence
from failgym.traces.synthetic.profiles.kumar import Kumar
from failgym.traces.synthetic.profiles.kumar_applications import Parts, RecurringApplications
from failgym.traces.synthetic.quantiles import (
    Flags,
    Floats,
    Ints,
    Numbers,
    normal_score,
    quotas,
    ranks,
    skewed,
    spread,
)
from failgym.vocabulary import SECOND

STRATA = 20
"""Of jobs by node count, in each of which ends are as frequent as in all."""

STEEP = 2.2
"""By how much log run time grows with its normal score in the profiles' tables, about: ln(9,000 /
30) between the tenths of System A's successes, 2.56 apart."""


@dataclass(frozen=True)
class Habits:
    """What jobs, in order of submission, are used to: normal scores, one entry per job."""

    submit: Floats  # [s]
    environment: Ints
    sitting: Ints
    run: Floats
    own_run: Floats  # by how much a job's run time differs from that of its sitting
    alike: Ints  # the same for jobs that run alike
    nodes: Floats
    end: Floats
    failure: Floats
    request: Floats
    memory: Floats
    usual: Ints  # the same for jobs that request the same walltime, and the same nodes
    application: Ints  # of each sitting
    user: Ints  # of each sitting
    level: Floats  # of usage, (4, sittings)

    def rows(self, rows: Ints) -> Rows:
        """What decides the first runs of some of the jobs."""
        return Rows(self.run[rows], self.own_run[rows], self.alike[rows], self.end[rows])

    def uniform(self, scores: Floats, rng: np.random.Generator) -> Floats:
        """Numbers in (0, 1) in the order of the scores, one in each n-th of it."""
        return spread(rng, ranks(scores))


@dataclass(frozen=True)
class Rows:
    """What decides the first runs of the jobs of an environment."""

    run: Floats
    own_run: Floats
    alike: Ints
    end: Floats

    def in_order(self, nodes: Ints, *, stratified: bool) -> Ints:
        """The jobs in the order of their ends; if `stratified`, among jobs of any width alike."""
        if not stratified:
            return np.argsort(self.end, kind="stable")
        n = len(nodes)
        stratum = ranks(nodes.astype(np.float64)) * min(STRATA, n) // max(n, 1)
        order = np.lexsort((self.end, stratum))
        sizes = np.bincount(stratum)
        first = np.cumsum(sizes) - sizes
        place = np.empty(n)
        place[order] = (np.arange(n) - first[stratum[order]] + 0.5) / sizes[stratum[order]]
        return np.argsort(place, kind="stable")

    def scores(self, own_end: Ints) -> Floats:
        """Normal scores of run times.

        The jobs of each end have the normal law, but those that run alike have one place in it in
        common: such a one that run times keep their mean.
        """
        score = np.empty(len(own_end))
        for end in np.unique(own_end):
            here = np.flatnonzero(own_end == end)
            place = normal_score((ranks(self.run[here]) + 0.5) / len(here))
            _, code, sizes = np.unique(self.alike[here], return_inverse=True, return_counts=True)
            common = np.log(np.bincount(code, np.exp(STEEP * place)) / sizes) / STEEP
            score[here] = common[code] + self.own_run[here]
        return score


@dataclass(frozen=True)
class Sittings:
    """One entry per sitting."""

    size: Ints  # jobs
    environment: Ints
    application: Ints

    @classmethod
    def of(
        cls, profile: Kumar, law: RecurringApplications, n: int, rng: np.random.Generator
    ) -> Self:
        """The sittings of `n` jobs, as many in each environment as the profile says."""
        parts: list[tuple[Ints, Ints, Ints]] = []
        before = 0
        for number, jobs in enumerate(quotas([e.jobs for e in profile.environments], n).tolist()):
            sizes = _counts(law.runs, jobs, rng)
            runs = _counts(law.sittings, len(sizes), rng)
            of = before + rng.permutation(np.repeat(np.arange(len(runs)), runs))
            parts.append((sizes, np.full(len(sizes), number), of))
            before += len(runs)
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def draw_habits(
    profile: Kumar, law: RecurringApplications, n: int, span: float, rng: np.random.Generator
) -> Habits:
    """The habits of `n` jobs submitted within `span` seconds."""
    sittings = Sittings.of(profile, law, n, rng)
    number = len(sittings.size)
    applications = int(sittings.application.max()) + 1
    user = skewed(rng, law.skew, profile.sessions.users, applications)[sittings.application]
    alone = np.arange(number)
    rhythm = recurrence.Rhythm(
        campaigns=np.ones(number, dtype=np.int64),
        first=alone,
        owner=user,
        hours=law.hours.at(np.clip(rng.random(number), 1e-6, 1.0 - 1e-6)),
        regularity=np.full(number, law.regularity),
        turns=alone,
    )
    runs = recurrence.runs(sittings.size, rhythm, round(span * SECOND), law.office, rng)
    submit = _one_after_the_other(runs, user)
    order = np.argsort(submit, kind="stable")
    sitting = runs.application[order]
    odd = rng.random(n) < law.odd

    def scores(parts: Parts, apart: Flags | None = None) -> Floats:
        return _scores(parts, sittings.application, sitting, apart, rng)

    own = np.where(odd, 0.0, law.run.rest**0.5 * rng.standard_normal(n))
    usual = np.where(rng.random(number) < law.usual, sittings.application, applications + alone)
    apart = ranks(rng.random(n) + ~odd) < round(law.own_request * n)
    level = rng.standard_normal((4, applications))[:, sittings.application] * law.usage**0.5
    level += rng.standard_normal((4, number)) * (1.0 - law.usage) ** 0.5
    return Habits(
        submit=submit[order] / SECOND,
        environment=sittings.environment[sitting],
        sitting=sitting,
        run=scores(law.run, odd),
        own_run=own,
        alike=np.where(odd, number + np.arange(n), sitting),
        nodes=scores(law.nodes),
        end=scores(law.end, odd),
        failure=scores(law.failure),
        request=scores(law.request),
        memory=rng.standard_normal(applications)[sittings.application][sitting],
        usual=np.where(apart, applications + number + np.arange(n), usual[sitting]),
        application=sittings.application,
        user=user,
        level=level,
    )


def _one_after_the_other(runs: recurrence.Runs, user: Ints) -> Ints:
    """When the jobs of sittings are submitted [ms] by users who sit at one application at a time.

    Each user submits when it would; of its sittings the one that began first comes first, whole.
    """
    whose, sitting = user[runs.application], runs.application
    begin = np.full(len(user), np.iinfo(np.int64).max)
    np.minimum.at(begin, sitting, runs.submit)
    submit = np.empty_like(runs.submit)
    jobs = np.lexsort((runs.submit, sitting, begin[sitting], whose))
    submit[jobs] = runs.submit[np.lexsort((runs.submit, whose))]
    return submit


def usual_median(habits: Ints, values: Floats) -> Floats:
    """The median of the values of each habit, for each job."""
    order = np.lexsort((values, habits))
    _, code, sizes = np.unique(habits, return_inverse=True, return_counts=True)
    first = np.cumsum(sizes) - sizes
    return values[order][first + sizes // 2][code]


def usual_mean(habits: Ints, values: Floats) -> Floats:
    """The mean of the values of each habit, for each job: the sum stays."""
    _, code, sizes = np.unique(habits, return_inverse=True, return_counts=True)
    return (np.bincount(code, values) / sizes)[code]


def _scores(
    parts: Parts, application: Ints, sitting: Ints, odd: Flags | None, rng: np.random.Generator
) -> Floats:
    """Normal scores of a trait, one for each job; those of `odd` jobs are their own alone."""
    common = parts.application**0.5 * rng.standard_normal(int(application.max()) + 1)[application]
    common += parts.sitting**0.5 * rng.standard_normal(len(application))
    own = rng.standard_normal(len(sitting))
    found = common[sitting] + parts.rest**0.5 * own
    return found if odd is None else np.where(odd, own, found)


def _counts(table: Numbers, total: int, rng: np.random.Generator) -> Ints:
    """Whole numbers after a table that sum to `total`."""
    drawn = np.rint(table.at(np.clip(rng.random(total), 1e-6, 1.0 - 1e-6))).astype(np.int64)
    counts = np.diff(np.minimum(np.cumsum(drawn), total), prepend=0)
    return counts[counts > 0]
