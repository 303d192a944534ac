"""Ranks of policies, and which of them the evidence allows.

The rank of a policy is 1 and the number of those with a higher score. A bootstrap of ranks, in
which each sample is ranked, says too much where policies are close: ties are broken by chance in
every sample, and the truth is often held in no more than half of the intervals (Hall and Miller,
"Using the bootstrap to quantify the authority of an empirical ranking", The Annals of Statistics
2009). So the ranks that a policy may have are counted from its differences to the others: of p
policies, of which b are surely better than it and w surely worse, its rank is from 1 + b to p - w
(Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", The Review of Economic Studies 2024,
section 3.1). Surely means that the intervals of all its differences hold the truth at once: the
critical value is the quantile of the largest of their studentised deviations in the samples
(max-t). Differences that are surely not 0 are then left out of the largest, and the quantile is
taken again of what is left, until none is added (stepdown; Romano and Wolf, "Exact and approximate
stepdown methods for multiple hypothesis testing", JASA 2005; section 3.3 of Mogstad et al.).

Samples draw the same traces and units for all policies (`Bootstrap`), so that differences are
paired. Few traces, units or runs stretch the quantile as they stretch intervals (`stretch`).

Sets are marginal: each policy's own rank is held 95 times in a hundred, not all ranks at once. Two
policies that act alike everywhere differ by exactly 0 in each sample, and neither is surely better:
where policies are tied or nearly so, sets are wide, and hold the truth more often than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.room import enough_room
from failgym.evaluation.statistics.interval_width import Variance, stretch
from failgym.leaderboard.statistics.bootstrap import EACH, Bootstrap
from failgym.leaderboard.statistics.estimators import (
    OPTIMUM,
    Runs,
    mean_difference,
    run_scores,
)
from failgym.leaderboard.statistics.interval_width import of_runs, over, spread_of_score

__all__ = ["ROUNDING", "Differences", "Rank", "rank_set", "ranks"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROUNDING = 1e-9
"""Scores that differ by less are tied [points]."""
MOST_SURE = 1.0 - 1e-9
"""The highest level that Student's law is asked for."""


class Rank(NamedTuple):
    """A rank, from 1 for the best, and the lowest and highest that it may be."""

    value: int
    low: int
    high: int


class Differences(NamedTuple):
    """Differences of a policy to the others."""

    value: Floats
    """[others] its score less theirs"""
    samples: Floats
    """[resamples, others] the same in each sample; NaN where there is nothing to gain"""
    parts: Sequence[Sequence[Variance]]
    """[others] the variances that add up to that of each difference"""


def ranks(
    policies: Sequence[Sequence[Runs]],
    bootstrap: Bootstrap,
    first: int = 0,
    only: Sequence[int] | None = None,
) -> list[Rank]:
    """The rank of each policy by its mean score over environments, with its confidence set.

    Args:
        policies: [policies][environments] of each the runs, on the same slices as the others'.
        bootstrap: of the samples; its seed, resamples and confidence.
        first: number of the first environment.
        only: of which policies the ranks are asked, by number; of all by default.

    Returns:
        [asked]; all share the first rank, and may have any, where there is nothing to gain. Any
        rank is possible too where a variance is unknown, as of a single unit.

    Raises:
        ValueError: if policies are not of the same number of environments.
    """
    if len({len(cells) for cells in policies}) > 1:
        raise ValueError("policies: expected the same number of environments of each")
    asked = range(len(policies)) if only is None else only
    scored = [at for at, cell in enumerate(policies[0]) if cell.scored()] if policies else []
    if not scored:
        return [Rank(1, 1, len(policies)) for _ in asked]
    samples = [_Samples.of([of[at] for of in policies], bootstrap, first + at) for at in scored]
    cells = [[of[at] for at in scored] for of in policies]
    scores = np.array([np.mean([run_scores(cell).mean() for cell in of]) for of in cells])
    numbers, parts = np.arange(len(cells)), dict[tuple[int, int], _Parts]()
    found = list[Rank]()
    for one in asked:
        others, of_one = np.delete(numbers, one), list[_Parts]()
        for other in others.tolist():
            pair = min(one, other), max(one, other)
            parts[pair] = parts.get(pair) or _parts(cells[pair[0]], cells[pair[1]])
            of_one.append(parts[pair])
        less = [
            each.less(one, others, np.array([pair.trace_weights[at] for pair in of_one]))
            for at, each in enumerate(samples)
        ]
        value, mean = scores[one] - scores[others], np.mean(less, axis=0)
        pairs = Differences(value, mean, [pair.parts for pair in of_one])
        found.append(rank_set(pairs, bootstrap.confidence))
    return found


def rank_set(pairs: Differences, confidence: float) -> Rank:
    """The rank that a policy has, and those that it may have.

    Args:
        pairs: its differences to all others.
        confidence: of the set [%].
    """
    value = np.where(np.abs(pairs.value) <= ROUNDING, 0.0, pairs.value)
    better, worse = _surely(value, pairs, confidence)
    low, high = 1 + int(better.sum()), 1 + len(value) - int(worse.sum())
    return Rank(1 + int((value < 0.0).sum()), low, high)


def _surely(value: Floats, pairs: Differences, confidence: float) -> tuple[Flags, Flags]:
    """[others] which of them are surely better, and which surely worse: max-t, stepdown."""
    none = np.zeros(len(value), dtype=np.bool_)
    known = np.isfinite(pairs.samples.sum(axis=1))
    outside = 1.0 - confidence / 100.0
    if known.sum() < 2 or (~known).sum() > outside * len(pairs.samples):
        return none, none
    samples = pairs.samples[known]
    normal = np.sqrt([math.fsum(part.size for part in each) for each in pairs.parts])
    error = np.fmax(samples.std(axis=0), normal)
    fixed = (error <= ROUNDING) & ~np.isnan(normal)
    error[error <= ROUNDING] = 1.0
    deviations = (samples - value) / error
    deviations[:, fixed] = 0.0
    # One-sided hypotheses: that the policy is not better than another, and that it is not worse.
    both = np.concatenate([deviations, -deviations], axis=1)
    statistic = np.concatenate([value, -value]) / np.tile(error, 2)
    refused = np.tile(fixed, 2) & (statistic > 0.0)
    while not refused.all():
        critical = float(np.quantile(both[:, ~refused].max(axis=1), 1.0 - outside))
        more = ~refused & (statistic > np.tile(_critical(critical, pairs.parts), 2))
        if not more.any():
            break
        refused |= more
    return refused[len(value) :], refused[: len(value)]


def _critical(critical: float, parts: Sequence[Sequence[Variance]]) -> Floats:
    """The critical value of each difference [others]: a normal law's, as Student's; NaN where a
    variance is unknown.
    """
    if not critical > 0.0:
        return np.full(len(parts), math.inf)
    level = 100.0 * min(2.0 * NormalDist().cdf(critical) - 1.0, MOST_SURE)
    return critical * np.array([stretch(each, level) for each in parts])


class _Parts(NamedTuple):
    """Where the variance of a difference comes from."""

    trace_weights: list[float]
    """[environments]"""
    parts: list[Variance]


def _parts(one: Sequence[Runs], other: Sequence[Runs]) -> _Parts:
    """Of two policies [environments]."""
    pairs = list(zip(one, other, strict=True))
    spreads = [spread_of_score(mean_difference(*pair)) for pair in pairs]
    parts = [part for spread in spreads for part in spread.parts]
    parts += [part for pair in pairs for runs in pair for part in of_runs(run_scores(runs))]
    return _Parts([spread.trace_weight for spread in spreads], over(parts, len(pairs)))


class _Samples(NamedTuple):
    """What all policies save in the samples of an environment.

    A sample's sums are ``units`` and so many times ``traces``: `Spread.trace_weight` of what is
    estimated, which differs from pair to pair.
    """

    units: Floats
    """[resamples, policies + 2] saved by each, the room, and what replay spends"""
    traces: Floats
    """likewise"""

    @classmethod
    def of(cls, cells: Sequence[Runs], bootstrap: Bootstrap, environment: int) -> _Samples:
        tables = [cell.by_unit() for cell in cells]
        possible = tables[0].possible
        spent = np.zeros(len(possible)) if tables[0].spent is None else tables[0].spent
        columns: list[list[Floats]] = [[], []]
        draws = bootstrap.draws(tables[0].sampled, environment)
        for weights, found in zip(draws, columns, strict=True):
            for at, table in enumerate(tables):
                shares = bootstrap.run_shares(len(table.saved), environment, EACH + at)
                found.append(((weights @ table.saved.T) * shares).sum(axis=1))
            found += [weights @ possible, weights @ spent]
        return cls(*(np.stack(found, axis=1) for found in columns))

    def less(self, one: int, others: Ints, trace_weight: Floats) -> Floats:
        """Differences of scores [resamples, others]; NaN where there is nothing to gain.

        Args:
            one: a policy.
            others: [others] policies.
            trace_weight: [others] of each difference.
        """
        units, traces = (of[:, [one]] - of[:, others] for of in self)
        saved = units + trace_weight * traces
        possible, spent = (
            self.units[:, [at]] + trace_weight * self.traces[:, [at]] for at in (-2, -1)
        )
        none = np.full(saved.shape, np.nan)
        scored = enough_room(possible, spent)
        return OPTIMUM * np.divide(saved, possible, out=none, where=scored)
