"""Sampling units: the smallest pieces of evidence that say something independently of each other.

The tasks of a job end alike, and a job may lie in several slices: slices that share one are not
independent. So a unit is a job, wherever its tasks lie, if it is known what each task costs. In a
recorded trace jobs that follow each other belong together too (a user's session, one bad build):
there a unit is a block of jobs that were submitted one after the other. Where only slices have
costs, since their tasks share machines, a unit is a slice of whole jobs, or else a block of
neighbouring slices.

Blocks of slices hold as many as the cube root of their number, blocks of jobs twice as many as
that. The cube root is the order of the length that estimates a variance best; the factor is 2 where
successive jobs are correlated by .66, 1.4 at .5 and 3 at .79 (Carlstein, "The use of subseries
values for estimating the variance of a general statistic from a stationary sequence", The Annals of
Statistics 1986). In Google's record successive jobs of a user are correlated by .4 to .8. Jobs that
are independent are put into blocks only where there are more than `MOST` of them, which saves time
and changes nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["MOST", "SamplingUnits", "of_jobs", "of_slices"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST = 2_000
"""Units of a trace, at most."""
JOBS_LENGTH = 2
"""Jobs of a block, over the cube root of their number."""


@dataclass(frozen=True)
class SamplingUnits:
    """Which unit each row of a table of costs belongs to."""

    of_row: Ints
    """[rows] the unit of each task, or of each slice"""
    name: str
    """what a unit is: "job", "block of jobs", "slice" or "block of slices" """
    members: int
    """jobs, or slices, of the largest unit"""

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.of_row.max(initial=-1)) + 1

    def sums(self, values: Floats) -> Floats:
        """Sums of values over the rows of each unit.

        Args:
            values: [rows].

        Returns:
            [units]
        """
        return np.bincount(self.of_row, values, self.count).astype(np.float64)


def of_jobs(job: Ints, submit: Ints, *, recorded: bool) -> SamplingUnits:
    """Jobs, or blocks of jobs that were submitted one after the other.

    Args:
        job: [tasks] the job of each task.
        submit: [tasks] when it was submitted [ms].
        recorded: is it the record of a real system, whose jobs depend on those before them?
    """
    jobs, of_row = np.unique(job, return_inverse=True)
    first = np.full(len(jobs), np.iinfo(np.int64).max)
    np.minimum.at(first, of_row, submit)
    length = JOBS_LENGTH * _cube_root(len(jobs)) if recorded else 1
    length = max(length, math.ceil(len(jobs) / MOST))
    place = np.empty(len(jobs), dtype=np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(jobs))
    name = "job" if length == 1 else "block of jobs"
    return SamplingUnits((place // length)[of_row], name, length)


def of_slices(count: int, *, apart: bool) -> SamplingUnits:
    """Slices, or blocks of neighbouring ones.

    Args:
        count: how many slices there are, in order of time.
        apart: do they share nothing?
    """
    length = max(1 if apart else _cube_root(count), math.ceil(count / MOST))
    name = "slice" if length == 1 else "block of slices"
    return SamplingUnits(np.arange(count) // length, name, length)


def _cube_root(count: int) -> int:
    """Rounded, at least 1."""
    return max(round(count ** (1.0 / 3.0)), 1)
