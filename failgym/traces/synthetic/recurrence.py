"""When applications run: campaigns, periodic runs and bursts, office hours; names and owners.

Applications are numbered, and so are their runs: everything is arrays with one entry per
application, per campaign or per run, runs in order of (application, number).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from failgym.traces.synthetic.quantiles import Floats, Ints, first_of_group, position_in_group
from failgym.vocabulary import DAY, HOUR

WEEK = 7
"""Days; the first five are worked."""
OPENS, CLOSES = 9, 17
"""Office hours."""
LEAST_GAP = 1e-9
"""Beside a mean gap of about 1."""


@dataclass(frozen=True)
class Runs:
    """When applications run: one entry per run."""

    application: Ints
    submit: Ints  # [ms]


def runs(
    counts: Ints,
    campaigns: Ints,
    owner: Ints,
    hours: Floats,
    regularity: Floats,
    span: int,
    office: float,
    rng: np.random.Generator,
) -> Runs:
    """When the runs of applications are submitted within `span` ms.

    Args:
        counts: runs of each application.
        campaigns: over how many campaigns they are spread evenly, at least 1.
        owner: user of each application; campaigns of one user begin together.
        hours: how long a campaign lasts; one that would outlast the span lasts all of it.
        regularity: shape of the gamma law of the gaps between the runs of a campaign.
        span: [ms].
        office: rate at which campaigns begin in office hours, over that of other hours.
        rng: what it is drawn from.
    """
    application = np.repeat(np.arange(len(counts)), counts)
    part = position_in_group(counts) * campaigns[application] // np.maximum(counts, 1)[application]
    fresh = np.diff(application, prepend=-1) + np.abs(np.diff(part, prepend=0)) > 0
    campaign = np.cumsum(fresh) - 1
    of = application[fresh]
    length = np.minimum(hours[of] * HOUR, span)
    _, moment = np.unique(owner[of] * (len(application) + 1) + part[fresh], return_inverse=True)
    begin = _begins(span - length, rng.random(len(of))[moment], office)
    sizes = np.bincount(campaign, minlength=len(of))
    gap = rng.standard_gamma(regularity[application]) + LEAST_GAP
    passed = np.cumsum(gap)
    before = (passed - gap)[first_of_group(sizes)]
    total = np.bincount(campaign, gap, len(of))
    since = passed - before[campaign] - gap * rng.random(len(of))[campaign]
    submit = begin[campaign] + length[campaign] * np.clip(since / total[campaign], 0.0, 1.0)
    return Runs(application, np.clip(submit.astype(np.int64), 0, max(span - 1, 0)))


def _begins(latest: Floats, uniform: Floats, office: float) -> Floats:
    """When campaigns begin [ms], from 0 to the latest time of each; most in office hours.

    Time is stretched: an hour in the office counts `office` times. The uniform numbers are what
    decides.
    """
    hours = np.arange(int(float(latest.max(initial=0.0)) // HOUR) + 2)
    working = (hours // (DAY // HOUR) % WEEK < WEEK - 2) & (hours % 24 >= OPENS)
    working &= hours % 24 < CLOSES
    edges = np.append(hours, len(hours)) * HOUR
    stretched = np.concatenate(([0.0], np.cumsum(np.where(working, office, 1.0))))
    upto = np.interp(latest, edges, stretched)
    return np.interp(uniform * upto, stretched, edges)


def alike(counts: Ints, stretch: float, rng: np.random.Generator) -> Ints:
    """Which of some ways each run has, (runs,): as many of each as `counts` says.

    Args:
        counts: runs by application and way, (applications, ways).
        stretch: runs of an application in a row that have one way, by the mean; at least 1.
        rng: what it is drawn from.
    """
    of_each: Ints = counts.sum(axis=1)
    application = np.repeat(np.arange(len(counts)), of_each)
    fresh = rng.random(len(application)) < 1.0 / stretch
    fresh |= position_in_group(of_each) == 0
    key = rng.random(len(application))[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    order = np.lexsort((key, application))
    ways = np.tile(np.arange(int(counts.shape[1])), len(counts))
    way = np.empty(len(application), dtype=np.int64)
    way[order] = np.repeat(ways, counts.ravel())
    return way


def in_bundles(owner: Ints, bundle: float, rng: np.random.Generator) -> Floats:
    """Standard normal numbers for runs in order of submission, one for the runs of a bundle.

    A bundle is what an owner submits in a row, `bundle` runs by the mean.
    """
    order = np.argsort(owner, kind="stable")
    fresh = rng.random(len(order)) < 1.0 / bundle
    fresh |= np.diff(owner[order], prepend=-1) != 0
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    return rng.standard_normal(len(order))[number]


def names(counts: Ints, share: Floats, rng: np.random.Generator) -> Ints:
    """The number of the name of each run, over all applications.

    `share` is names over runs, for each application: an application is renamed now and then.
    """
    application = np.repeat(np.arange(len(counts)), counts)
    version = position_in_group(counts) * share[application] + rng.random(len(counts))[application]
    whole = np.floor(np.round(version, 9)).astype(np.int64)
    renamed = np.diff(application, prepend=-1) + np.abs(np.diff(whole, prepend=0)) > 0
    return np.cumsum(renamed) - 1


def systematic(shares: Floats, total: int, rng: np.random.Generator) -> Ints:
    """Counts that sum to `total`, each in proportion to its share but for less than 1."""
    upto = np.cumsum(shares) / shares.sum() * total
    upto[-1] = total
    edges = np.floor(upto + rng.random()).astype(np.int64)
    edges[-1] = total
    return np.diff(np.minimum(edges, total), prepend=0)
