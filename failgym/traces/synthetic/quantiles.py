"""Sampling with little noise: quantile tables, stratified uniforms, exact quotas.

A trace of a few thousand jobs must show the published shares and quantiles already. So shares are
allotted by quota instead of drawn, and quantiles are read at stratified uniforms: what is left to
chance is who gets which value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import Annotated

import numpy as np
import numpy.typing as npt

from failgym.traces.synthetic.ranges import Between, Within

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Acklam's rational approximation of the inverse normal distribution function (relative error 1e-9).
_CENTRE_TOP = (
    -3.969683028665376e01,
    2.209460984245205e02,
    -2.759285104469687e02,
    1.383577518672690e02,
    -3.066479806614716e01,
    2.506628277459239e00,
)
_CENTRE_BOTTOM = (
    -5.447609879822406e01,
    1.615858368580409e02,
    -1.556989798598866e02,
    6.680131188771972e01,
    -1.328068155288572e01,
    1.0,
)
_TAIL_TOP = (
    -7.784894002430293e-03,
    -3.223964580411365e-01,
    -2.400758277161838e00,
    -2.549732539343734e00,
    4.374664141464968e00,
    2.938163982698783e00,
)
_TAIL_BOTTOM = (
    7.784695709041462e-03,
    3.224671290700398e-01,
    2.445134137142996e00,
    3.754408661907416e00,
    1.0,
)
_TAIL = 0.02425


def normal_score(u: Floats) -> Floats:
    """The standard normal quantile of each probability in (0, 1)."""
    middle = u - 0.5
    square = middle * middle
    centre = middle * np.polyval(_CENTRE_TOP, square) / np.polyval(_CENTRE_BOTTOM, square)
    root = np.sqrt(-2.0 * np.log(np.minimum(u, 1.0 - u)))
    tail = -np.polyval(_TAIL_TOP, root) / np.polyval(_TAIL_BOTTOM, root)
    return np.where(np.abs(middle) <= 0.5 - _TAIL, centre, np.copysign(tail, middle))


LARGEST = 1e9
"""Beyond any value of a table, in whatever unit: as minutes, two thousand years."""
MOST_LOG = 700.0
"""Logarithm of a number that can still be had."""
Probability = Annotated[float, Between(1e-6, 1.0 - 1e-6)]
Value = Annotated[float, Between(1e-9, LARGEST)]
Bound = Annotated[float, Between(0.0, LARGEST)]


@dataclass(frozen=True)
class QuantileTable:
    """A positive random variable given by some of its quantiles.

    Between them ln x is linear in the normal quantile; beyond the outer ones the outer slopes go
    on, up to the bounds. A lognormal needs two points; heavier tails take more.
    """

    points: tuple[tuple[Probability, Value], ...]
    """(probability, value): two at least, in order."""
    low: Bound = 0.0
    """Least value."""
    high: Value = LARGEST
    """Largest value."""

    def faults(self) -> Iterator[tuple[str, str]]:
        """What does not fit in `points` and bounds."""
        probabilities, values = zip(*self.points, strict=True) if self.points else ((), ())
        if len(values) < 2 or any(b <= a for a, b in pairwise(probabilities)):
            yield "points", "at least two, with rising probabilities"
        elif any(b < a for a, b in pairwise(values)):
            yield "points", "values that do not fall"
        elif self.high < self.low:
            yield "high", f"at least low, which is {self.low:g}"

    @cached_property
    def _knots(self) -> tuple[Floats, Floats]:
        normal = NormalDist()
        z = np.array([normal.inv_cdf(q) for q, _ in self.points])
        y = np.log(np.array([x for _, x in self.points]))
        far = 10.0  # standard deviations: beyond any sample
        left = y[0] - (far + z[0]) * (y[1] - y[0]) / (z[1] - z[0])
        right = y[-1] + (far - z[-1]) * (y[-1] - y[-2]) / (z[-1] - z[-2])
        right = min(right, MOST_LOG)
        return np.concatenate(([-far], z, [far])), np.concatenate(([left], y, [right]))

    def at_score(self, z: Floats) -> Floats:
        """The values at normal scores `z`."""
        return np.clip(np.exp(np.interp(z, *self._knots)), self.low, self.high)

    def at(self, u: Floats) -> Floats:
        """The values at probabilities `u` in (0, 1)."""
        return self.at_score(normal_score(u))

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """`n` values at stratified probabilities, in random order."""
        return self.at(stratified(rng, n))


Numbers = Annotated[QuantileTable, Within(1.0, 100_000.0)]
"""A table of how many there are of something, in one job or task."""


def stratified(rng: np.random.Generator, n: int) -> Floats:
    """`n` numbers in (0, 1), one in each n-th of it, in random order."""
    return spread(rng, rng.permutation(n))


def evenly(rng: np.random.Generator, n: int) -> Ints:
    """A permutation of 0 .. n-1 any stretch of which holds small and large numbers alike.

    The ranks of multiples of the golden ratio, modulo 1, from a random start. What is allotted in
    this order to jobs in order of submission is the same mix early and late.
    """
    return ranks((rng.random() + np.arange(n) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0)


def spread(rng: np.random.Generator, rank: Ints) -> Floats:
    """Numbers in (0, 1) in the order of the ranks 0 .. n-1, one in each n-th of it."""
    jitter = np.clip(rng.random(len(rank)), 1e-6, 1.0 - 1e-6)
    return (rank + jitter) / max(len(rank), 1)


def ranks(values: Floats) -> Ints:
    """The rank 0 .. n-1 of each value."""
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return rank


def quotas(shares: Sequence[float], n: int) -> Ints:
    """Counts that sum to `n`, in proportion to `shares` (largest remainders)."""
    exact = np.asarray(shares, dtype=np.float64) / float(np.sum(shares)) * n
    counts = np.floor(exact).astype(np.int64)
    short = n - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:short]] += 1
    return counts


def allot(rng: np.random.Generator, shares: Sequence[float], n: int) -> Ints:
    """Codes 0 .. len(shares) - 1 for `n` items: exact shares, in random order."""
    return rng.permutation(np.repeat(np.arange(len(shares)), quotas(shares, n)))


def choose(rng: np.random.Generator, eligible: Flags, count: int) -> Ints:
    """`count` of the eligible positions at random, or all of them if there are fewer."""
    places = np.flatnonzero(eligible)
    return rng.permutation(places)[: max(count, 0)]


def skewed(rng: np.random.Generator, skew: float, count: int, n: int) -> Ints:
    """Numbers 0 .. count-1 for `n` items, low ones more often: uniform numbers to a power."""
    return (rng.random(n) ** skew * count).astype(np.int64)


def first_of_group(sizes: Ints) -> Ints:
    """The first position of each group, of groups of these sizes laid end to end."""
    return np.cumsum(sizes) - sizes


def position_in_group(sizes: Ints) -> Ints:
    """0, 1, ... within each group, of groups of these sizes laid end to end."""
    return np.arange(int(sizes.sum())) - np.repeat(first_of_group(sizes), sizes)


def shuffled_position(rng: np.random.Generator, group: Ints, sizes: Ints) -> Ints:
    """A random permutation of 0, 1, ... within each group; `group` is sorted."""
    order = np.lexsort((rng.random(len(group)), group))
    position = np.empty(len(group), dtype=np.int64)
    position[order] = position_in_group(sizes)
    return position
