"""Resampling of a ratio of sums: traces first, then the sampling units of each trace.

A sample draws the units of each trace anew, and weighs the traces. Of n, n - 1 are drawn with
replacement, which makes the variance of the samples the unbiased estimate instead of (n - 1) / n of
it (Rao and Wu, "Resampling inference with complex survey data", JASA 1988).

Traces that are drawn with replacement differ by all that units differ by already. If both stages
counted whole, the spread of units would be counted twice: intervals would hold the truth 99 times
in a hundred. So the weight of a trace differs from 1 by the share of the spread between traces that
units do not explain: with V of traces and W of units, c^2 = (V - W) / (V + W), and a sample has the
variance W + (V - W). Where V is not larger than W, traces differ by their units alone, and c is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.statistics.interval_width import Variance, freedom_of

__all__ = ["RESAMPLES", "Spread", "drawn", "resampled", "spread_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RESAMPLES = 2_000
"""Bootstrap samples."""
DRAWN_BYTES = 1 << 26
"""Memory for bootstrap samples that are held at once [bytes]."""


class Spread(NamedTuple):
    """Where the variance of an estimate comes from."""

    units: Variance
    """between the units of a trace"""
    traces: Variance
    """between traces, what their units do not explain"""
    trace_weight: float
    """c: how far the weights of traces differ from 1 in a sample, as a share"""

    @property
    def parts(self) -> tuple[Variance, Variance]:
        """The variances that add up to that of the estimate."""
        return self.units, self.traces


def spread_of(parts: Floats, trace: Ints) -> Spread:
    """Where the variance of an estimate comes from, linearised.

    Args:
        parts: [units] what each unit adds to the estimate; the sum is 0.
        trace: [units] the trace of each, numbered from 0 without gaps.
    """
    counts = np.bincount(trace)
    totals = np.bincount(trace, parts).astype(np.float64)
    within = parts - (totals / counts)[trace]
    unbiased = counts / np.maximum(counts - 1, 1)
    units = float((within**2 * unbiased[trace]).sum())
    of_units = Variance(units, freedom_of(within, len(counts)))
    if len(counts) == 1:
        return Spread(of_units, Variance(0.0, 1.0), 0.0)
    traces = len(counts) / (len(counts) - 1) * float((totals**2).sum())
    more = traces - units
    if not more > 0.0:
        return Spread(of_units, Variance(0.0, 1.0), 0.0)
    # The difference is known no better than the variance of traces that it is taken from, and that
    # no better than from the few traces that hold most of it.
    freedom = freedom_of(totals, len(counts)) * (more / traces) ** 2
    return Spread(of_units, Variance(more, freedom), float(np.sqrt(more / (traces + units))))


def resampled(
    sums: Floats,
    trace: Ints,
    trace_weight: float,
    rng: np.random.Generator,
    samples: int = RESAMPLES,
) -> Floats:
    """Sums over bootstrap samples of traces and of their units.

    Args:
        sums: [units, columns] sums over each unit.
        trace: [units] the trace of each, numbered from 0 without gaps.
        trace_weight: c of the `Spread`.
        rng: draws the samples.
        samples: how many.

    Returns:
        [samples, columns]
    """
    count = int(trace.max()) + 1
    weights = np.ones((samples, count))
    if trace_weight > 0.0:
        weights += trace_weight * (drawn(count, samples, rng) - 1.0)
    total = np.zeros((samples, sums.shape[1]))
    for number in range(count):
        total += weights[:, [number]] * _of_trace(sums[trace == number], rng, samples)
    return total


def drawn(n: int, size: int, rng: np.random.Generator) -> Floats:
    """How often each of n is in each sample, over how often it is on average [size, n].

    Args:
        n: how many there are; n - 1 are drawn.
        size: how many samples.
        rng: draws them.
    """
    counts = rng.multinomial(max(n - 1, 1), np.full(n, 1.0 / n), size=size)
    return counts.astype(np.float64) * (n / max(n - 1, 1))


def _of_trace(sums: Floats, rng: np.random.Generator, samples: int) -> Floats:
    """Sums over samples of units [samples, columns]; drawn in parts: a sample is as long as n."""
    part = max(1, DRAWN_BYTES // (8 * len(sums)))
    sizes = [min(part, samples - first) for first in range(0, samples, part)]
    return np.concatenate([drawn(len(sums), size, rng) @ sums for size in sizes])
