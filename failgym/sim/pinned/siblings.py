"""What a task may know of the other tasks of its job: who had finished or failed by when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.vocabulary import NEVER

__all__ = ["ByJob", "by_job", "running_medians"]

Ints = npt.NDArray[np.int64]


class ByJob(NamedTuple):
    """Times of one kind of event, grouped by job and ascending within it."""

    first: Ints
    """[jobs + 1] where each job begins"""
    time: Ints
    value: Ints


def by_job(job: Ints, time: Ints, value: Ints, jobs: int) -> ByJob:
    """Group the events of tasks (one each, NEVER for none) by job, in order of time."""
    happened = np.flatnonzero(time != NEVER)
    order = happened[np.lexsort((value[happened], time[happened], job[happened]))]
    first = np.searchsorted(job[order], np.arange(jobs + 1)).astype(np.int64)
    return ByJob(first, time[order].astype(np.int64), value[order].astype(np.int64))


@njit(cache=True)
def running_medians(first: Ints, value: Ints) -> tuple[Ints, Ints]:
    """The middle values of each prefix of each group.

    Of m values sorted as v, low = v[(m - 2) // 2] and high = v[(m - 2) // 2 + 1] (both v[0] for
    m = 1). From the two follow the lower median of all m and of any m - 1 of them.
    """
    low, high = np.zeros_like(value), np.zeros_like(value)
    for g in range(len(first) - 1):
        begin, end = first[g], first[g + 1]
        ordered = np.empty(end - begin, dtype=np.int64)
        for i in range(begin, end):
            m = i - begin
            at = m
            while at > 0 and ordered[at - 1] > value[i]:
                at -= 1
            for j in range(m, at, -1):
                ordered[j] = ordered[j - 1]
            ordered[at] = value[i]
            middle = max((m + 1 - 2) // 2, 0)
            low[i] = ordered[middle]
            high[i] = ordered[min(middle + 1, m)]
    return low, high
