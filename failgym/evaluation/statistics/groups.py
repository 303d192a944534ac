"""Intervals of the sums over several groups of sampling units, weeks say, for all groups at once.

A group may hold few units, and the largest that it could hold need not be among them: its own
variance is then far too small. So units of all groups are taken to vary about the mean of their
group alike, and the variance of one is known from all. Where those of a group vary more than that,
their own counts. The quantile is that of Student's t for all groups at once (Bonferroni), with the
degrees of freedom of `failgym.evaluation.statistics.interval_width.freedom_of`.

Nothing is said of a group of fewer than `FEWEST` units. `docs/results/intervals.md` shows how often
the intervals hold.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.evaluation.statistics.interval_width import far_student, freedom_of

__all__ = ["FEWEST", "sums_with_intervals"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEWEST = 5
"""Units of a group that has an interval (chosen: the sum of fewer is not near any normal law)."""
ROUNDING = 1e-9
"""Deviations that are rounding alone, a share of the largest value."""


def sums_with_intervals(
    values: Floats, unit: Ints, group: Ints, count: int, error: float
) -> tuple[Floats, Floats, Floats]:
    """Sums over groups, and where those of as many units like these lie.

    A unit that has rows in several groups counts in each with those.

    Args:
        values: [rows] what is summed.
        unit: [rows] the sampling unit of each, numbered from 0.
        group: [rows] the group of each, numbered from 0.
        count: how many groups there are.
        error: chance that any of the intervals does not hold the truth [%].

    Returns:
        The sums, and the lower and upper ends of their intervals, each [groups]. Ends are NaN of a
        group of few units, and of all groups if the units of each are alike.
    """
    units = int(unit.max(initial=-1)) + 1
    pairs, of_row = np.unique(group * units + unit, return_inverse=True)
    of_pair = np.bincount(of_row, values, len(pairs))  # of a unit in a group
    in_group = pairs // max(units, 1)
    members = np.bincount(in_group, minlength=count)
    sums = np.bincount(in_group, of_pair, count).astype(np.float64)
    told, others = members >= FEWEST, np.maximum(members - 1, 1)
    apart = of_pair - (sums / np.maximum(members, 1))[in_group]
    apart *= np.sqrt(members / others)[in_group]  # by so much deviations from a mean are too small
    apart[np.abs(apart) <= ROUNDING * np.abs(of_pair).max(initial=0.0)] = 0.0
    free = int(np.maximum(members - 1, 0).sum())
    freedom = min(freedom_of(apart[(members > 1)[in_group]]), free)
    nothing = np.full(count, np.nan)
    if not apart.any():
        return sums, nothing, nothing.copy()
    own = np.bincount(in_group, apart**2, count)  # of the sum of a group
    shared = members * (own * others / np.maximum(members, 1)).sum() / free
    quantile = far_student(error / 200.0 / int(told.sum()), freedom) if told.any() else np.nan
    reach = np.where(told, quantile * np.sqrt(np.maximum(shared, own)), np.nan)
    return sums, sums - reach, sums + reach
