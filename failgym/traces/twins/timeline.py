"""Which job of the record is resampled when, for whom, and under which name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from failgym.traces.schema import LATEST, TraceError
from failgym.traces.twins.record import Flags, Floats, Ints, Record
from failgym.traces.twins.rows import begins, rows_of
from failgym.vocabulary import DAY, HOUR, MINUTE

__all__ = ["Timeline", "timeline"]

STRETCH = 0.05
"""The times between jobs of an application are stretched by up to this; chosen."""
LASTING = 0.5
"""An application whose jobs span this share of the record goes on in the next; chosen."""
MOST_SHIFT = HOUR
"""A user's applications are moved in time together by up to this, and a twentieth of the record at
most [ms]; chosen: hours of the day stay."""
MOST_ALONE = MINUTE
"""Each is moved by up to this besides [ms]; chosen: what comes in one session stays in it."""


@dataclass(frozen=True)
class Timeline:
    """The jobs of a twin, in any order: one entry per job."""

    donor: Ints
    """the job of the record that it is made after"""
    submit: Ints
    """[ms]"""
    user: Ints
    application: Ints
    epoch: Ints
    """how often the record had been repeated before"""
    thinned: float
    """share of the record's jobs that were wanted, if not all"""


def timeline(record: Record, jobs: int, still: Flags, rng: np.random.Generator) -> Timeline:
    """So many jobs: the record over and over, each time resampled.

    Each user comes back, under another name, with applications made each after one of two of the
    user's that began about together. Fewer jobs than the record has are
    whole applications of it, drawn at random.

    Args:
        record: what it is made after.
        jobs: how many.
        still: [jobs of the record] that are not moved in time, since they end in a burst.
        rng: of all draws.

    Raises:
        TraceError: for more jobs than it can be repeated for.
    """
    applications = _Applications.of(record, still)
    layout = _Layout.of(applications, rng)
    drawn: list[_Drawn] = []
    total, epoch = 0, 0
    while total < jobs:
        drawn.append(_epoch(record, applications, layout, epoch, rng))
        total += len(drawn[-1].donor)
        epoch += 1
        _check_goes_on(record, jobs, total, len(drawn[-1].donor), epoch)
    share = 1.0
    if epoch == 1 and total > jobs:
        share = jobs / total
        drawn = [drawn[0].some(jobs, rng)]
    donor = np.concatenate([one.donor for one in drawn])
    keys = np.concatenate([one.key for one in drawn])
    names = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    return Timeline(
        donor=donor,
        submit=np.concatenate([one.submit for one in drawn]),
        user=np.concatenate([one.user for one in drawn]),
        application=names.astype(np.int64),
        epoch=np.concatenate([np.full(len(one.donor), at) for at, one in enumerate(drawn)]),
        thinned=share,
    )


def _check_goes_on(record: Record, jobs: int, total: int, last: int, epoch: int) -> None:
    """Can the record be repeated once more, if so many jobs are not enough? `last` came last."""
    if total >= jobs:
        return
    source, days = record.trace.meta.source, record.period // DAY
    if not total:
        raise TraceError(f"{source}: no jobs came in its first {days} whole days")
    said = f"jobs is {jobs}, expected at most"
    if not last:
        raise TraceError(
            f"{said} {total}: no job came in the first {days} whole days of {source}, which are"
            " repeated for more"
        )
    if not record.stock.all() and (epoch + (jobs - total) // last) * record.period > LATEST:
        most = LATEST // record.period * last
        raise TraceError(f"{said} {most}: more would last {LATEST / DAY / 365.25:,.0f} years")


@dataclass(frozen=True)
class _Applications:
    """The applications of a record; jobs in order of (application, submission)."""

    jobs: Ints
    begin: Ints
    user: Ints
    first: Ints
    lasting: Flags
    still: Flags
    """of the jobs of the record"""
    users: int
    user_order: Ints
    """users by number of jobs, largest first"""

    @classmethod
    def of(cls, record: Record, still: Flags) -> _Applications:
        number = int(record.application.max(initial=-1)) + 1
        jobs = np.lexsort((record.submit, record.application))
        begin = begins(record.application[jobs], number)
        first, last = record.submit[jobs[begin[:-1]]], record.submit[jobs[begin[1:] - 1]]
        users = int(record.user.max(initial=-1)) + 1
        count = np.bincount(record.user, minlength=users)
        return cls(
            jobs=jobs,
            begin=begin,
            user=record.user[jobs[begin[:-1]]],
            first=first,
            lasting=(last - first >= LASTING * record.span) | (first <= 0),
            still=still,
            users=users,
            user_order=np.argsort(-count, kind="stable"),
        )


@dataclass(frozen=True)
class _Drawn:
    """The jobs of one epoch."""

    donor: Ints
    submit: Ints
    user: Ints
    key: Ints
    """[jobs, 3] what tells its application from others: user, application and its copy, epoch"""
    copy: Ints
    """which drawn application it is of"""

    def some(self, jobs: int, rng: np.random.Generator) -> _Drawn:
        """So many jobs of whole applications, drawn at random; of the last one its first."""
        rank = rng.permutation(int(self.copy.max(initial=-1)) + 1)[self.copy]
        kept = np.sort(np.lexsort((self.submit, rank))[:jobs])
        return _Drawn(
            self.donor[kept],
            self.submit[kept],
            self.user[kept],
            self.key[kept],
            self.copy[kept],
        )


def _epoch(
    record: Record, known: _Applications, layout: _Layout, epoch: int, rng: np.random.Generator
) -> _Drawn:
    """The jobs of the record once more."""
    chosen = layout.chosen(known, rng)
    of, _, place = rows_of(known.begin, chosen)
    donor = known.jobs[place]
    since = record.submit[donor] - known.first[chosen][of]
    submit = known.first[chosen][of] + np.rint(since * _stretch(chosen, rng)[of])
    submit = np.rint(submit + _shift(record, known, layout, chosen, rng)[of]).astype(np.int64)
    there = record.submit[donor] < record.period
    if record.period == record.span:  # its last jobs come when it ends
        there[:] = True
    if epoch and not record.stock.all():
        there &= ~record.stock[donor]
    submit = np.where(known.still[donor], record.submit[donor], submit)
    last = max((record.period - 1) // record.unit, 1) * record.unit
    submit = (submit // record.unit * record.unit).clip(record.unit, last)
    submit = np.where(record.stock[donor], 0, submit)
    fresh = np.where(known.lasting[chosen], 0, epoch)
    key = np.stack([layout.user, chosen, layout.copy, fresh], axis=1)[of]
    later = 0 if record.stock.all() else epoch * record.period  # a set of jobs only grows
    return _Drawn(
        donor[there],
        submit[there] + later,
        layout.user[of][there],
        key[there],
        of[there],
    )


@dataclass(frozen=True)
class _Layout:
    """The applications of the twin's users, one entry each; drawn once."""

    user: Ints
    copy: Ints
    """which of its user's it is"""
    own: Ints
    """the application that stands there in the record"""
    drawn: Ints
    """the one that is there in all epochs, if it lasts"""
    group: Ints

    @classmethod
    def of(cls, known: _Applications, rng: np.random.Generator) -> _Layout:
        users = np.arange(known.users)
        order = np.lexsort((known.first, known.lasting, known.user))
        begin = begins(known.user[order], known.users)
        user, copy, place = rows_of(begin, users)
        own = order[place]
        group = user * 2 + known.lasting[own]
        drawn = own[_one_of_two(group, np.arange(len(own)), rng)]
        return cls(user, copy, own, drawn, group)

    def chosen(self, known: _Applications, rng: np.random.Generator) -> Ints:
        """The applications of one epoch."""
        again = self.own[_one_of_two(self.group, np.arange(len(self.own)), rng)]
        return np.where(known.lasting[self.own], self.drawn, again)


def _one_of_two(group: Ints, order: Ints, rng: np.random.Generator) -> Ints:
    """For each place one of two that are beside each other in that order and of one group."""
    place = np.arange(len(order))
    other = (place ^ 1).clip(max=max(len(order) - 1, 0))
    swap = (rng.random(len(order)) < 0.5) & (group[order[other]] == group[order])
    drawn = np.empty(len(order), dtype=np.int64)
    drawn[order] = order[np.where(swap, other, place)]
    return drawn


def _stretch(chosen: Ints, rng: np.random.Generator) -> Floats:
    return 1.0 + STRETCH * (2.0 * rng.random(len(chosen)) - 1.0)


def _shift(
    record: Record, known: _Applications, layout: _Layout, chosen: Ints, rng: np.random.Generator
) -> Floats:
    """How each application is moved [ms]: with its user's others, and a little by itself."""
    most = min(float(MOST_SHIFT), record.span / 20.0)
    together = most * (2.0 * rng.random(known.users) - 1.0)
    alone = min(float(MOST_ALONE), most) * (2.0 * rng.random(len(chosen)) - 1.0)
    still = known.first[chosen] <= 0
    return np.where(still, 0.0, together[layout.user] + alone)
