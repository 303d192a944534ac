"""How slow a task was beside its siblings, and how much of that was chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from failgym.continued import extended
from failgym.continued.rows import Rows, stage_of_tasks
from failgym.continued.strata import enough
from failgym.continued.survival import joined
from failgym.sim.shared.continuation import Law
from failgym.traces import Trace
from failgym.vocabulary import Ending

__all__ = ["LEAST_SIBLINGS", "Chance", "Slowness", "others_median"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LEAST_SIBLINGS = 5
"""Finished siblings without which nothing is said of a task's slowness; also how many it takes to
believe half of it: the logarithm is shrunk by n / (n + 5)."""
SPREADS = 2.0 ** np.arange(-8, 1)
"""Root mean squares of log slowness within a group of siblings at which a class of groups ends and
the next begins: from .4 % to a factor of e. In Google's record of 2011 they range from .003 to .46
(5 and 95 % of jobs), so one distribution for all would make chance of what never varies."""


@dataclass(frozen=True)
class Slowness:
    """Of each task, [tasks], as far as it has enough finished siblings."""

    known: Bools
    log: Floats
    """Logarithm of its first success's duration over the median of its siblings', shrunk; else
    0."""
    spread: Ints
    """Class of the spread in its group, a place in `SPREADS`; -1 if the group has too few."""
    stated: Bools
    """Does the trace state the length of its attempts?"""
    finished: Bools
    """Did it finish?"""

    @classmethod
    def of(cls, trace: Trace, rows: Rows) -> Self:
        """From the first successes of all tasks of a trace.

        A task's siblings are those of its stage, or of its job where there are no stages. Attempts
        of unknown age tell nothing.
        """
        tasks = trace.rows("tasks")
        stated = np.zeros(tasks, dtype=np.bool_)
        stated[rows.task[rows.length >= 0]] = True
        group = stage_of_tasks(trace)
        task, duration = _first_successes(rows)
        log = np.zeros(tasks)
        median, others = others_median(group[task], duration)
        known = others >= LEAST_SIBLINGS
        ratio = extended.log(np.maximum(duration[known], 1)) - extended.log(median[known])
        log[task[known]] = ratio * others[known] / (others[known] + LEAST_SIBLINGS)
        told = np.zeros(tasks, dtype=np.bool_)
        told[task[known]] = True
        finished = np.zeros(tasks, dtype=np.bool_)
        finished[rows.task[rows.ending == Ending.FINISH]] = True
        return cls(told, log, _spreads(group, told, log), stated, finished)


def _first_successes(rows: Rows) -> tuple[Ints, Ints]:
    """Tasks that finished, and the duration of the first success of each [ms]."""
    finish = np.flatnonzero(rows.ending == Ending.FINISH)
    order = finish[np.lexsort((finish, rows.end[finish], rows.task[finish]))]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = rows.task[order][1:] != rows.task[order][:-1]
    chosen = order[first]
    chosen = chosen[rows.known[chosen]]
    return rows.task[chosen], rows.duration[chosen]


def others_median(group: Ints, value: Ints) -> tuple[Floats, Ints]:
    """Median of the other values of the group of each, and how many there are; 1 if none.

    >>> median, others = others_median(np.array([0, 0, 0, 1]), np.array([10, 30, 20, 5]))
    >>> median.tolist(), others.tolist()
    ([25.0, 15.0, 20.0, 1.0], [2, 2, 2, 0])
    """
    order = np.lexsort((value, group))
    grouped, ranked = group[order], value[order].astype(np.float64)
    begin = np.searchsorted(grouped, grouped)
    others = np.searchsorted(grouped, grouped, side="right") - begin - 1
    rank = np.arange(len(order)) - begin
    low, high = np.maximum(others - 1, 0) // 2, others // 2  # middle ranks once it is left out
    low, high = low + (low >= rank), high + (high >= rank)
    last = np.maximum(others, 0)
    middle = (ranked[begin + np.minimum(low, last)] + ranked[begin + np.minimum(high, last)]) / 2.0
    median, count = np.empty(len(order)), np.empty(len(order), dtype=np.int64)
    median[order], count[order] = np.where(others > 0, middle, 1.0), others
    return median, count


def _spreads(group: Ints, known: Bools, log: Floats) -> Ints:
    """Class of the spread in the group of each task, -1 if nothing is known there."""
    groups = int(group.max(initial=-1)) + 1
    number = np.bincount(group[known], minlength=groups)
    order = np.flatnonzero(known)
    order = order[np.lexsort((log[order], group[order]))]  # sums do not depend on tasks' order
    square = np.bincount(group[order], log[order] ** 2, minlength=groups)
    root = np.sqrt(square / np.maximum(number, 1))
    return np.where(number > 0, np.searchsorted(SPREADS, root, side="right"), -1)[group]


@dataclass(frozen=True)
class Chance:
    """By how much attempts of one task differ by chance: cells by spread within the group.

    The last cell is that of tasks whose group is not known: each group counts there as much as any
    other, whatever its size.
    """

    law: Law
    of_spread: Ints
    """[classes of spread] The cell of each; that of the nearest class that was seen often
    enough."""

    @classmethod
    def of(
        cls,
        trace: Trace,
        rows: Rows,
        slowness: Slowness,
        task_share: float,
        least_rows: int,
        least_jobs: int,
    ) -> Self:
        """Slownesses of the tasks of a trace to the power of 1 - ``task_share``."""
        used = np.flatnonzero(slowness.known & ~slowness.stated)
        spread = slowness.spread[used]
        factor = extended.exp((1.0 - task_share) * slowness.log[used])
        job = trace.column("tasks", "job")[used]
        classes = len(SPREADS) + 1
        often = np.flatnonzero(enough(spread, job, classes, least_rows, least_jobs))
        groups = _shares_of_groups(stage_of_tasks(trace)[used])
        laws = [_law(factor[spread == one], None) for one in often]
        laws.append(_law(factor, groups))
        of_spread = np.full(classes, len(often))
        if len(often):
            apart = np.abs(np.arange(classes)[:, None] - often[None, :])
            of_spread = apart.argmin(axis=1)
        return cls(joined(laws), of_spread)

    def cells(self, slowness: Slowness) -> Ints:
        """The cell of each task, [tasks]; -1 where all attempts take the same time.

        So it is where the trace states lengths. And of a task that never finished: its work is
        drawn from the times that attempts took, in which chance is already.
        """
        cell = np.where(slowness.spread >= 0, self.of_spread[slowness.spread], self.law.cells - 1)
        return np.where(slowness.stated | ~slowness.finished, -1, cell)


def _shares_of_groups(group: Ints) -> Floats:
    """A weight for each task so that all groups weigh the same."""
    _, place, size = np.unique(group, return_inverse=True, return_counts=True)
    return 1.0 / size[place]


def _law(value: Floats, weight: Floats | None) -> Law:
    """One cell with the distribution of weighted values."""
    order = np.lexsort((value,) if weight is None else (weight, value))
    weights = np.ones(len(value)) if weight is None else weight[order]
    total = np.cumsum(weights)
    value = value[order]
    last = np.ones(len(value), dtype=np.bool_)
    last[:-1] = value[1:] != value[:-1]
    share = total[last] / total[-1] if len(total) else total[last]
    return Law(np.array([0, last.sum()]), value[last], share)
