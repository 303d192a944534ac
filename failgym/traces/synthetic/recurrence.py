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
"""Office hours: from 9 to 17, Monday to Friday."""
LEAST_GAP = 1e-9
"""Beside a mean gap of about 1."""


@dataclass(frozen=True)
class Runs:
    """When applications run: one entry per run."""

    application: Ints
    submit: Ints  # [ms]


@dataclass(frozen=True)
class Rhythm:
    """When applications run: one entry per application."""

    campaigns: Ints  # over how many its runs are spread evenly, at least 1
    first: Ints  # number of the first of these
    owner: Ints  # its user, whose campaigns of one number are at about the same time
    hours: Floats  # how long a campaign lasts, infinite for all the time
    regularity: Floats  # shape of the gamma law of the gaps between the runs of a campaign
    turns: Ints  # the same number for those that take turns, one of its own for each other


def runs(counts: Ints, rhythm: Rhythm, span: int, office: float, rng: np.random.Generator) -> Runs:
    """When the runs of applications are submitted within `span` ms.

    Args:
        counts: runs of each application.
        rhythm: of each application. The longest campaign of a user of one number is anywhere, the
            others somewhere in it. Applications that take turns have the same gaps, and follow
            each other within them.
        span: [ms]; a campaign that would outlast it lasts all of it.
        office: rate at which campaigns begin in office hours, over that of other hours.
        rng: what it is drawn from.
    """
    application = np.repeat(np.arange(len(counts)), counts)
    campaigns = rhythm.campaigns[application]
    part = position_in_group(counts) * campaigns // np.maximum(counts, 1)[application]
    fresh = np.diff(application, prepend=-1) + np.abs(np.diff(part, prepend=0)) > 0
    campaign = np.cumsum(fresh) - 1
    of = application[fresh]
    part = part[fresh] + rhythm.first[of]
    _, turn, steps = np.unique(rhythm.turns, return_inverse=True, return_counts=True)
    place = np.empty(len(turn), dtype=np.int64)
    place[np.argsort(turn, kind="stable")] = position_in_group(steps)
    together = _code(turn[of], part)
    begin, length = _campaigns(
        rhythm, of, _code(rhythm.owner[of], part), together, span, office, rng
    )
    sizes = np.bincount(campaign, minlength=len(of))
    drawn = rng.standard_gamma(rhythm.regularity[application]) + LEAST_GAP
    gap = drawn[_first_alike(together[campaign], position_in_group(sizes))]
    uniform = rng.random(int(together.max(initial=-1)) + 1)[together]
    phase = (uniform + (steps[turn] - 1 - place)[of]) / steps[turn][of]
    passed = np.cumsum(gap)
    before = (passed - gap)[first_of_group(sizes)]
    since = passed - before[campaign] - gap * phase[campaign]
    share = since / np.bincount(campaign, gap, len(of))[campaign]
    submit = begin[campaign] + length[campaign] * np.clip(share, 0.0, 1.0)
    return Runs(application, np.clip(submit.astype(np.int64), 0, max(span - 1, 0)))


def _campaigns(
    rhythm: Rhythm,
    of: Ints,
    moment: Ints,
    together: Ints,
    span: int,
    office: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """When campaigns begin, and how long they last [ms].

    `of` is the application of each, `moment` the same for those of a user at about the same time,
    `together` for those that take turns.
    """
    length = np.minimum(rhythm.hours[of] * HOUR, span)
    always = length >= span
    longest = np.zeros(int(moment.max(initial=-1)) + 1)
    np.maximum.at(longest, moment, np.where(always, 0.0, length))
    begin = _begins(span - longest, rng.random(len(longest)), office)
    place = rng.random(int(together.max(initial=-1)) + 1)[together]
    return np.where(always, 0.0, begin[moment] + place * (longest[moment] - length)), length


def _code(one: Ints, other: Ints) -> Ints:
    """A number, from 0, for each pair of numbers."""
    return np.unique(_pair(one, other), return_inverse=True)[1]


def _first_alike(one: Ints, other: Ints) -> Ints:
    """The first position at which each pair of numbers is found."""
    _, first, inverse = np.unique(_pair(one, other), return_index=True, return_inverse=True)
    return first[inverse]


def _pair(one: Ints, other: Ints) -> Ints:
    low, high = int(other.min(initial=0)), int(other.max(initial=0))
    return one * (high - low + 1) + other - low


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


def mixed(owner: Ints, kind: Ints, block: int, rng: np.random.Generator) -> Ints:
    """Which run comes at each place, for runs in order of submission; those of a user change.

    Of so many runs of a user in a row, those of each kind are spread evenly, in their order.
    """
    places = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner)
    shift = rng.integers(0, block, len(sizes))[owner[places]]
    part = _code(owner[places], (position_in_group(sizes) + shift) // block)
    group = _code(part, kind[places])
    members = np.bincount(group)
    rank = np.empty(len(group), dtype=np.int64)
    rank[np.argsort(group, kind="stable")] = position_in_group(members)
    at = (rank + rng.random(len(members))[group]) / members[group]
    run = np.empty(len(owner), dtype=np.int64)
    run[places] = places[np.lexsort((at, part))]
    return run


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
