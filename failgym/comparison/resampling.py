"""Intervals of what is measured on a trace: its jobs in blocks of time, resampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Flags", "Floats", "Ints", "Measured", "area", "blocks", "measured"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCKS = 20
"""Blocks of time with equally many jobs; chosen: what recurs within hours stays in one."""
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
    return rng.multinomial(number, np.full(number, 1.0 / number), RESAMPLES).astype(np.float64)


def interval(value: float, samples: Floats) -> Measured:
    """A value and the percentiles of its resamples, those without a value left out."""
    known = samples[~np.isnan(samples)]
    if np.isnan(value) or not len(known):
        return NOTHING
    edge = (100.0 - CONFIDENCE) / 2.0
    low, high = np.percentile(known, [edge, 100.0 - edge])
    return Measured(float(value), float(low), float(high))


def measured(block: Ints, statistic: Callable[[Floats], float], seed: int = 0) -> Measured:
    """A statistic of weighted rows, and the percentile interval of its bootstrap over blocks.

    Args:
        block: the block of each row.
        statistic: of weights, one per row.
        seed: of the bootstrap.
    """
    if not len(block):
        return NOTHING
    number = int(block.max()) + 1
    found = np.array([statistic(weight[block]) for weight in drawn(number, seed)])
    return interval(statistic(np.ones(len(block))), found)


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
    return interval(float(wins.sum() / (positive.sum() * negative.sum())), found)
