"""Intervals of what is measured on a trace: its jobs in blocks of time, resampled.

As those of scores are (`failgym.evaluation.statistics`): of n blocks n - 1 are drawn, and the
percentiles are stretched about the value, since its variance is known from few blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.statistics import resampling
from failgym.evaluation.statistics.interval_width import Variance, stretch

__all__ = ["Flags", "Floats", "Ints", "Measured", "area", "blocks", "measured", "stretched"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCKS = 20
"""Blocks of time with equally many jobs; chosen: what recurs within hours stays in one. They are
longer than the cube root that scores take: what a cluster runs changes over days."""
RESAMPLES = 400
CONFIDENCE = 95.0
"""[%]"""


class Measured(NamedTuple):
    """A number and its interval; NaN where the trace does not say."""

    value: float
    low: float
    high: float


NOTHING = Measured(np.nan, np.nan, np.nan)


def blocks(rows: int) -> Ints:
    """The block of each of so many rows in order of time."""
    return np.arange(rows) * BLOCKS // max(rows, 1)


def drawn(number: int, seed: int) -> Floats:
    """How often each of so many blocks is in each resample, [resamples, blocks]."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    return resampling.drawn(number, RESAMPLES, rng)


def interval(
    value: float,
    samples: Floats,
    number: int,
    possible: tuple[float, float] = (-np.inf, np.inf),
) -> Measured:
    """A value and its interval.

    Args:
        value: of the whole.
        samples: of the resamples; those without a value are left out.
        number: how many blocks were resampled; of one there is no interval.
        possible: between which numbers values lie.
    """
    known = samples[~np.isnan(samples)]
    if np.isnan(value) or not len(known):
        return NOTHING
    if number < 2:
        return Measured(float(value), np.nan, np.nan)
    edge = (100.0 - CONFIDENCE) / 2.0
    wider = stretch([Variance(1.0, number - 1)], CONFIDENCE)
    ends = value + wider * (np.percentile(known, [edge, 100.0 - edge]) - value)
    low, high = np.clip(ends, *possible)
    return Measured(float(value), float(low), float(high))


def stretched(found: Measured, by: float, possible: tuple[float, float]) -> Measured:
    """The same with an interval that is so many times as wide, between possible numbers."""
    ends = found.value + by * (np.array([found.low, found.high]) - found.value)
    low, high = np.clip(ends, *possible)
    return Measured(found.value, float(low), float(high))


def measured(
    block: Ints,
    statistic: Callable[[Floats], float],
    seed: int = 0,
    possible: tuple[float, float] = (-np.inf, np.inf),
) -> Measured:
    """A statistic of weighted rows, and the percentile interval of its bootstrap over blocks.

    Args:
        block: the block of each row.
        statistic: of weights, one per row.
        seed: of the bootstrap.
        possible: between which numbers the statistic lies.
    """
    if not len(block):
        return NOTHING
    number = int(block.max()) + 1
    found = np.array([statistic(weight[block]) for weight in drawn(number, seed)])
    return interval(statistic(np.ones(len(block))), found, number, possible)


def area(label: Flags, score: Floats, weight: Floats, block: Ints, seed: int = 0) -> Measured:
    """The area under the curve of a score of weighted rows, ties counted half; and its interval.

    What each block's positive rows win against each block's negative ones is summed once, so that a
    resample is two products of matrices.
    """
    if not len(block) or label.all() or not label.any():
        return NOTHING
    number = int(block.max()) + 1
    wins = np.zeros((number, number))
    values, rank = np.unique(score, return_inverse=True)
    of, mass = block[label], weight[label]
    for other in range(number):
        against = ~label & (block == other)
        below = np.bincount(rank[against], weight[against], len(values))
        beaten = np.cumsum(below) - 0.5 * below
        wins[:, other] = np.bincount(of, mass * beaten[rank[label]], number)
    positive = np.bincount(of, mass, number)
    negative = np.bincount(block[~label], weight[~label], number)
    chosen = drawn(number, seed)
    pairs = (chosen @ positive) * (chosen @ negative)
    won = ((chosen @ wins) * chosen).sum(axis=1)
    found = np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)
    value = float(wins.sum() / (positive.sum() * negative.sum()))
    return interval(value, found, number, (0.0, 1.0))
