"""Intervals of what is measured on a trace: its jobs in blocks of time, resampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Measured", "blocks", "measured"]

Floats = npt.NDArray[np.float64]

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


def blocks(rows: int) -> npt.NDArray[np.int64]:
    """The block of each of so many rows in order of time."""
    return np.arange(rows) * BLOCKS // max(rows, 1)


def measured(
    block: npt.NDArray[np.int64], statistic: Callable[[Floats], float], seed: int = 0
) -> Measured:
    """A statistic of weighted rows, and the percentile interval of its bootstrap over blocks.

    Args:
        block: the block of each row.
        statistic: of weights, one per row.
        seed: of the bootstrap.
    """
    if not len(block):
        return NOTHING
    value = statistic(np.ones(len(block)))
    if np.isnan(value):
        return NOTHING
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    number = int(block.max()) + 1
    drawn = rng.multinomial(number, np.full(number, 1.0 / number), size=RESAMPLES)
    found = np.array([statistic(weights[block].astype(np.float64)) for weights in drawn])
    found = found[~np.isnan(found)]
    edge = (100.0 - CONFIDENCE) / 2.0
    low, high = np.percentile(found, [edge, 100.0 - edge]) if len(found) else (np.nan, np.nan)
    return Measured(float(value), float(low), float(high))
