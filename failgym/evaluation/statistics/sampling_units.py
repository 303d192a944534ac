"""Sampling units: the smallest pieces of evidence that say something independently of each other.

The tasks of a job end alike, and a job may lie in several slices: slices that share one are not
independent. So a unit is a job, wherever its tasks lie, if it is known what each task costs. Where
jobs that follow each other belong together too (a user's session, one bad build, a machine that
fails), as in every record of a real system, a unit is a block of jobs that were submitted one after
the other. Where only slices have costs, since their tasks share machines, a unit is a slice of
whole jobs that nothing joins, or else a block of neighbouring slices.

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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["MOST", "SamplingUnits", "TracesUnits", "of_jobs", "of_slices"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

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
    member: Ints
    """[rows] the job of each task, or each slice itself, numbered from 0"""
    by_task: bool = True
    """are rows tasks? Else they are slices"""

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


@dataclass(frozen=True)
class TracesUnits:
    """Which unit each row of a table belongs to, and each unit to which trace."""

    of_row: Ints
    """[rows] numbered from 0 without gaps"""
    trace: Ints
    """[units] numbered from 0 without gaps"""

    @classmethod
    def each(cls, count: int) -> TracesUnits:
        """Every row by itself, all of one trace."""
        return cls(np.arange(count), np.zeros(count, dtype=np.int64))

    @classmethod
    def joined(cls, units: Sequence[SamplingUnits]) -> TracesUnits:
        """The rows of each trace behind those of the one before."""
        counts = [each.count for each in units]
        first = np.cumsum([0, *counts[:-1]])
        rows = [each.of_row + start for each, start in zip(units, first, strict=True)]
        return cls(np.concatenate(rows), np.repeat(np.arange(len(counts)), counts))

    def __len__(self) -> int:
        """How many units there are."""
        return len(self.trace)

    def sums(self, values: Floats) -> Floats:
        """Sums of values over the rows of each unit, [..., rows] -> [..., units]."""
        flat = values.reshape(-1, values.shape[-1])
        sums = [np.bincount(self.of_row, row, len(self)) for row in flat]
        return np.array(sums, dtype=np.float64).reshape(*values.shape[:-1], len(self))

    def only(self, rows: Flags) -> TracesUnits:
        """Those of some rows.

        Args:
            rows: [rows] which.
        """
        kept, of_row = np.unique(self.of_row[rows], return_inverse=True)
        return TracesUnits(of_row, np.unique(self.trace[kept], return_inverse=True)[1])


def of_jobs(job: Ints, submit: Ints, *, apart: bool) -> SamplingUnits:
    """Jobs, or blocks of jobs that were submitted one after the other.

    Args:
        job: [tasks] the job of each task.
        submit: [tasks] when it was submitted [ms].
        apart: does nothing join jobs, neither user nor application nor machine?
    """
    jobs, of_row = np.unique(job, return_inverse=True)
    first = np.full(len(jobs), np.iinfo(np.int64).max)
    np.minimum.at(first, of_row, submit)
    length = 1 if apart else JOBS_LENGTH * _cube_root(len(jobs))
    length = max(length, math.ceil(len(jobs) / MOST))
    place = np.empty(len(jobs), dtype=np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(jobs))
    name = "job" if length == 1 else "block of jobs"
    return SamplingUnits((place // length)[of_row], name, length, of_row.astype(np.int64))


def of_slices(count: int, *, apart: bool) -> SamplingUnits:
    """Slices, or blocks of neighbouring ones.

    Args:
        count: how many slices there are, in order of time.
        apart: do they share nothing?
    """
    length = max(1 if apart else _cube_root(count), math.ceil(count / MOST))
    name = "slice" if length == 1 else "block of slices"
    slices = np.arange(count)
    return SamplingUnits(slices // length, name, length, slices, by_task=False)


def _cube_root(count: int) -> int:
    """Rounded, at least 1."""
    return max(round(count ** (1.0 / 3.0)), 1)
