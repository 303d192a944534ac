"""Estimators of a leaderboard: scores of training runs, and what they say of all environments.

Those of Agarwal, Schwarzer, Castro, Courville and Bellemare, "Deep reinforcement learning at the
edge of the statistical precipice" (NeurIPS 2021), and of their package rliable: interquartile mean,
mean, median, optimality gap, probability of improvement, performance profiles. What they call a
task is an environment here, and what they call a run is a training run of a policy; a policy that
is not trained has one. Intervals are in `failgym.leaderboard.statistics.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.room import enough_room
from failgym.evaluation.statistics.sampling_units import TracesUnits

__all__ = [
    "AGGREGATES",
    "OPTIMUM",
    "Aggregate",
    "Runs",
    "improvements",
    "iqm",
    "mean",
    "mean_difference",
    "median",
    "optimality_gap",
    "pool",
    "probability_of_improvement",
    "run_scores",
    "slice_scores",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

OPTIMUM = 100.0
"""The score of the clairvoyant bound, below which the optimality gap is measured: the highest that
is possible."""
QUARTILES = (0.25, 0.75)
"""Between these shares of the ordered scores lies what the interquartile mean averages."""


class Runs(NamedTuple):
    """The training runs of one policy on the slices of one environment.

    Whatever else costs are known of, jobs say, may stand for slices.
    """

    saved: Floats
    """[runs, slices] cost of replay - cost of the policy"""
    possible: Floats
    """[slices] cost of replay - cost of the bound"""
    spent: Floats | None = None
    """[slices] what replay spends (`failgym.evaluation.room`), which says whether there is anything
    to gain; None: there is wherever the bound saves anything"""
    units: TracesUnits | None = None
    """which slices say something only together, and of which trace they are; None: each speaks for
    itself, all of one trace"""
    blocks: Runs | None = None
    """the same costs by what is resampled for scores, where that is known better than by slices:
    blocks of jobs, which may lie in several"""

    @property
    def sampled(self) -> TracesUnits:
        """What is resampled: the units."""
        return self.units or TracesUnits.each(len(self.possible))

    def by_unit(self) -> Runs:
        """Sums over the slices of each unit, or the blocks; each then speaks for itself."""
        if self.blocks is not None:
            return self.blocks
        if self.units is None:
            return self
        spent = None if self.spent is None else self.units.sums(self.spent)
        alone = TracesUnits(np.arange(len(self.units)), self.units.trace)
        return Runs(self.units.sums(self.saved), self.units.sums(self.possible), spent, alone)

    def scored(self, weights: Floats | None = None) -> Bools:
        """Is there something to gain on these slices together?

        Args:
            weights: [..., slices] how often each slice counts; once by default.

        Returns:
            [...]
        """
        weights = np.ones(len(self.possible)) if weights is None else weights
        spent = 0.0 if self.spent is None else weights @ self.spent
        return enough_room(weights @ self.possible, spent)

    @property
    def scored_slices(self) -> Bools:
        """[slices] Is there something to gain on each by itself?"""
        return enough_room(self.possible, 0.0 if self.spent is None else self.spent)


Aggregate = Callable[[Floats, Floats, Ints], Floats]
"""(scores [..., runs], weights [..., runs], environment of each run [runs]) -> one number [...].
Weights add up to 1 over the runs, to the same share in each environment."""


def run_scores(runs: Runs, weights: Floats | None = None) -> Floats:
    """Scores of training runs, a ratio of sums over slices: 100 saved / possible.

    Args:
        runs: of a policy in an environment.
        weights: [..., slices] how often each slice counts; once by default.

    Returns:
        [..., runs], NaN where there is nothing to gain.
    """
    weights = np.ones(len(runs.possible)) if weights is None else weights
    saved, possible = weights @ runs.saved.T, (weights @ runs.possible)[..., None]
    nothing, scored = np.full(saved.shape, np.nan), runs.scored(weights)[..., None]
    return OPTIMUM * np.divide(saved, possible, out=nothing, where=scored)


def slice_scores(runs: Runs) -> Floats:
    """The score on each slice by itself, [runs, slices]; NaN where there is nothing to gain."""
    nothing = np.full(runs.saved.shape, np.nan)
    return OPTIMUM * np.divide(runs.saved, runs.possible, out=nothing, where=runs.scored_slices)


def pool(cells: Sequence[Runs]) -> tuple[Floats, Floats, Ints]:
    """What an `Aggregate` takes: the runs of a policy in all environments, each with its weight."""
    environment = np.repeat(np.arange(len(cells)), [len(cell.saved) for cell in cells])
    share = [np.full(len(cell.saved), 1.0 / (len(cells) * len(cell.saved))) for cell in cells]
    return np.concatenate([run_scores(cell) for cell in cells]), np.concatenate(share), environment


def mean(scores: Floats, weights: Floats, environment: Ints) -> Floats:
    """The mean over environments of the mean over runs."""
    return (scores * weights).sum(axis=-1)


def median(scores: Floats, weights: Floats, environment: Ints) -> Floats:
    """The median over environments of the mean over runs."""
    count = int(environment.max()) + 1
    member = np.equal.outer(environment, np.arange(count)) * float(count)
    return np.median((scores * weights) @ member, axis=-1)


def iqm(scores: Floats, weights: Floats, environment: Ints) -> Floats:
    """The interquartile mean: of the middle half of all runs.

    A run that lies across a quartile counts with the part inside. So a policy with one run and one
    with ten are cut at the same place; rliable drops whole runs, which is the same where their
    number divides by four.
    """
    order = np.argsort(scores, axis=-1)
    scores, weights = (np.take_along_axis(of, order, -1) for of in (scores, weights))
    upper = np.cumsum(weights, axis=-1)
    inside = np.clip(upper, *QUARTILES) - np.clip(upper - weights, *QUARTILES)
    return (inside * scores).sum(axis=-1) / (QUARTILES[1] - QUARTILES[0])


def optimality_gap(scores: Floats, weights: Floats, environment: Ints) -> Floats:
    """How far runs fall short of the bound; what lies above it makes up for nothing."""
    return (np.maximum(OPTIMUM - scores, 0.0) * weights).sum(axis=-1)


AGGREGATES: dict[str, Aggregate] = {
    "iqm": iqm,
    "mean": mean,
    "median": median,
    "optimality_gap": optimality_gap,
}
"""By name, in the order of a table."""


def mean_difference(x: Runs, y: Runs) -> Runs:
    """What a mean run of x saves over one of y, as a single run."""
    less = x.saved.mean(axis=0) - y.saved.mean(axis=0)
    blocks = mean_difference(x.blocks, y.blocks) if x.blocks and y.blocks else None
    return x._replace(saved=less[None], blocks=blocks)


def improvements(x: Runs, y: Runs) -> Floats:
    """[x's runs, y's runs, slices] 1 where x saves more than y, 1/2 where as much, else 0."""
    ours, theirs = x.saved[:, None, :], y.saved[None, :, :]
    return (ours > theirs) + 0.5 * (ours == theirs)


def probability_of_improvement(x: Sequence[Runs], y: Sequence[Runs]) -> float:
    """How likely x does better than y: a run of each, an environment and a slice drawn at random.

    The Mann-Whitney estimate of P(X > Y) + P(X = Y) / 2 within each slice, averaged over the slices
    and then over the environments: both policies meet the same slice.

    Args:
        x: of one policy, a cell per environment.
        y: of another, in the same environments and on the same slices.
    """
    pairs = zip(x, y, strict=True)
    return float(np.mean([improvements(ours, theirs).mean() for ours, theirs in pairs]))
