"""Moments at which attempts of several jobs end together: what fails, fails in bursts."""

from __future__ import annotations

import numpy as np

from failgym.traces.twins.record import Flags, Ints, Record
from failgym.vocabulary import SECOND, Outcome

__all__ = ["bursts", "in_bursts"]

TOGETHER = SECOND
"""Attempts that end within this end together [ms]; chosen."""
LEAST = 3
"""Jobs in a burst at least; chosen."""
BEYOND = 5.0
"""A burst has so many standard deviations more jobs than a moment has on average; chosen."""
UNFINISHED = (Outcome.FAIL, Outcome.EVICT, Outcome.LOST, Outcome.KILL)


def bursts(record: Record) -> Ints:
    """The burst in which each attempt ended, or -1, (attempts,).

    Moments are compared among endings of one outcome; of one job, however many attempts end then,
    one counts.
    """
    found = np.full(len(record.run), -1, dtype=np.int64)
    outcome = record.trace.column("attempts", "outcome")
    end = record.trace.column("attempts", "end") // TOGETHER
    job = record.trace.column("tasks", "job")[record.trace.column("attempts", "task")]
    number = 0
    for kind in UNFINISHED:
        here = np.flatnonzero((outcome == kind) & (record.run > 0))
        if not len(here):
            continue
        moment, of = np.unique(end[here], return_inverse=True)
        pairs = np.unique(np.stack([of, job[here]]), axis=1)[0]
        jobs = np.bincount(pairs, minlength=len(moment))
        mean = jobs.sum() / max(record.span // TOGETHER, 1)
        burst: Flags = jobs >= max(LEAST, mean + BEYOND * mean**0.5)
        names = np.where(burst, number + np.cumsum(burst) - 1, -1)
        found[here] = names[of]
        number += int(burst.sum())
    return found


def in_bursts(record: Record, together: Ints) -> Flags:
    """The jobs with an attempt that ended in a burst, (jobs,); `together` as `bursts` gives it."""
    inside = np.zeros(len(record.submit), dtype=np.bool_)
    task = record.trace.column("attempts", "task")[together >= 0]
    inside[record.trace.column("tasks", "job")[task]] = True
    return inside
