"""Intervals of a leaderboard's estimates: a stratified bootstrap over slices and training runs.

Every environment is a stratum. A sample draws its slices, the same for all policies, so that two
of them are compared in pairs, and, apart from them, each policy's training runs. Of n, n - 1 are
drawn with replacement, which makes the variance of a mean of the samples the unbiased estimate
instead of (n - 1) / n of it (Rao and Wu, "Resampling inference with complex survey data", JASA
1988). Slices and runs are drawn crosswise (Owen, "The pigeonhole bootstrap", Annals of Applied
Statistics 2007), which errs on the wide side. The interval is that between percentiles, stretched
where few slices or runs are known (`failgym.evaluation.statistics.interval_width`). It knows only
what varied: one training run says nothing of the next.

Where there is nothing to gain (`failgym.evaluation.room`) there is no score. Such an environment is
left out of what is said over environments, for every policy alike. A sample of slices in which
there is nothing to gain is left out of the percentiles, since it would divide by next to nothing;
where many are (`failgym.evaluation.scoring.percentiles`), there is no interval.

An interval ends where what it is of ends: a score at 100, since no policy costs less than the
bound on any slice, a gap at 0, a probability at 0 and 1. The percentiles themselves lie within; it
is the stretch about the estimate, sixfold in theory for two slices, that leads beyond. What is cut
off is impossible, so the truth is held as often without it. A difference of scores has no such end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.scoring import CONFIDENCE, RESAMPLES, percentiles
from failgym.evaluation.statistics.interval_width import Variance, stretch
from failgym.leaderboard.statistics.estimators import (
    AGGREGATES,
    OPTIMUM,
    Runs,
    improvements,
    pool,
    probability_of_improvement,
    run_scores,
    slice_scores,
)
from failgym.leaderboard.statistics.interval_width import (
    of_difference,
    of_improvement,
    of_scores,
    unvaried,
)

__all__ = ["Bootstrap", "Estimate", "Profile"]

Floats = npt.NDArray[np.float64]

GAPS, PROBABILITIES = (0.0, math.inf), (0.0, 1.0)
"""Between which numbers they lie."""
ONE, OTHER = 0, 1
"""Streams of the draws of training runs: of a policy, and of the one it is compared with."""
KEPT = 32
"""Draws that are kept for the next policy: some for each environment."""


class Estimate(NamedTuple):
    """A number and its 95 % interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


NONE = Estimate(math.nan, math.nan, math.nan)
"""Where there is nothing to gain."""


class Profile(NamedTuple):
    """A performance profile and its pointwise 95 % band, [thresholds] each."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Bootstrap:
    """Estimates with intervals; equal seeds draw equal samples, whatever the policy."""

    seed: int = 0
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    """[%]"""
    highest: float = OPTIMUM
    """the highest score that is possible; infinity where "scores" are differences of scores"""

    def score(self, runs: Runs, environment: int = 0) -> Estimate:
        """The score in one environment: the mean over training runs.

        Args:
            runs: of the policy.
            environment: which; its number names the stream of draws.
        """
        scores, weights = self._drawn(runs, environment, ONE)
        value = float(run_scores(runs).mean())
        samples = (scores * weights).sum(axis=-1)
        return self._interval(value, samples, of_scores([runs]), (-math.inf, self.highest))

    def aggregates(self, cells: Sequence[Runs]) -> dict[str, Estimate]:
        """Each of `statistics.AGGREGATES` over environments, by name, all from the same samples.

        Args:
            cells: of one policy, one per environment.

        Returns:
            NaN if there is nothing to gain in any of them.
        """
        numbered = [(at, cell) for at, cell in enumerate(cells) if cell.scored()]
        cells = [cell for _, cell in numbered]
        if not cells:
            return dict.fromkeys(AGGREGATES, NONE)
        observed, spread = pool(cells), of_scores(cells)
        drawn = [self._drawn(cell, at, ONE) for at, cell in numbered]
        scores = np.concatenate([scores for scores, _ in drawn], axis=-1)
        weights = np.concatenate([weights for _, weights in drawn], axis=-1) / len(cells)
        return {
            name: self._interval(
                float(of(*observed)),
                of(scores, weights, observed[2]),
                spread,
                GAPS if name == "optimality_gap" else (-math.inf, self.highest),
            )
            for name, of in AGGREGATES.items()
        }

    def difference(self, x: Sequence[Runs], y: Sequence[Runs], first: int = 0) -> Estimate:
        """Score of x less that of y, on the same slices; the mean over environments.

        Args:
            x: of one policy, a cell per environment.
            y: of another, in the same environments and on the same slices.
            first: number of the first environment.
        """
        value, samples = 0.0, np.zeros(self.resamples)
        pairs = [pair for pair in _pairs(x, y, first) if pair[1].scored()]
        if not pairs:
            return NONE
        for at, ours, theirs in pairs:
            for runs, stream, sign in ((ours, ONE, 1.0), (theirs, OTHER, -1.0)):
                scores, weights = self._drawn(runs, at, stream)
                value += sign * float(run_scores(runs).mean()) / len(pairs)
                samples += sign * (scores * weights).sum(axis=-1) / len(pairs)
        spread = of_difference([ours for _, ours, _ in pairs], [theirs for *_, theirs in pairs])
        return self._interval(value, samples, spread)

    def probability_of_improvement(
        self, x: Sequence[Runs], y: Sequence[Runs], first: int = 0
    ) -> Estimate:
        """`statistics.probability_of_improvement` and its interval; arguments of `difference`.

        Where every slice says the same, samples do too: the interval is then that of `unvaried`.
        """
        value, samples = probability_of_improvement(x, y), np.zeros(self.resamples)
        counts = [len(cell.possible) for cell in x]
        if min(counts) > 1 and all((better == value).all() for better in map(improvements, x, y)):
            return Estimate(value, *unvaried(value, counts, self.confidence))
        for at, ours, theirs in _pairs(x, y, first):
            better = improvements(ours, theirs)
            of_x, of_y = self._runs(len(better), at, ONE), self._runs(better.shape[1], at, OTHER)
            slices = self._slices(better.shape[2], at)
            samples += np.einsum("ri,rj,rk,ijk->r", of_x, of_y, slices, better, optimize=True)
        return self._interval(value, samples / len(x), of_improvement(x, y), PROBABILITIES)

    def profile(self, cells: Sequence[Runs], thresholds: Floats) -> Profile:
        """The share of slices and runs with a score above each threshold.

        The run-score distribution of Agarwal et al., with each slice of a run for a run: each
        environment weighs the same. Slices on which there is nothing to gain are left out, and so
        are environments that have no others. The band is that between percentiles.

        Args:
            cells: of one policy, one per environment.
            thresholds: of the score.

        Returns:
            NaN if no environment has a slice on which there is something to gain.
        """
        numbered = [(at, cell) for at, cell in enumerate(cells) if cell.scored_slices.any()]
        if not numbered:
            return Profile(*np.full((3, len(thresholds)), np.nan))
        value, samples = np.zeros(len(thresholds)), np.zeros((self.resamples, len(thresholds)))
        for at, cell in numbered:
            scored = cell.scored_slices
            above = slice_scores(cell)[:, scored, None] > thresholds
            slices = self._slices(int(scored.sum()), at)
            runs = self._runs(len(cell.saved), at, ONE)
            value += above.mean(axis=(0, 1)) / len(numbered)
            samples += np.einsum(
                "rk,ri,ikt->rt", slices, runs, above / len(numbered), optimize=True
            )
        low, high = np.percentile(samples, self._tails, axis=0)
        return Profile(value, low, high)

    def _drawn(self, runs: Runs, environment: int, stream: int) -> tuple[Floats, Floats]:
        """Scores of the runs on drawn slices, and weights of drawn runs, [resamples, runs] each."""
        slices = self._slices(len(runs.possible), environment)
        return run_scores(runs, slices), self._runs(len(runs.saved), environment, stream)

    def _slices(self, count: int, environment: int) -> Floats:
        return _shares(self.resamples, count, (self.seed, environment, 0))

    def _runs(self, count: int, environment: int, stream: int) -> Floats:
        return _shares(self.resamples, count, (self.seed, environment, 1 + stream))

    def _interval(
        self,
        value: float,
        samples: Floats,
        spread: Sequence[Variance],
        possible: tuple[float, float] = (-math.inf, math.inf),
    ) -> Estimate:
        """The percentiles of the samples, stretched; none where a spread is unknown.

        What is not possible is cut off, unless the estimate itself lies there: where a bound is not
        proven, scores may be above 100.
        """
        if math.isnan(value):
            return NONE
        wider = stretch(spread, self.confidence)
        ends = value + wider * (np.array(percentiles(samples, self.confidence)) - value)
        low, high = np.clip(ends, min(possible[0], value), max(possible[1], value))
        return Estimate(value, float(low), float(high))

    @property
    def _tails(self) -> list[float]:
        tail = (100.0 - self.confidence) / 2.0
        return [tail, 100.0 - tail]


def _pairs(x: Sequence[Runs], y: Sequence[Runs], first: int) -> Iterator[tuple[int, Runs, Runs]]:
    """Number of each environment, and the runs of two policies in it."""
    for at, (ours, theirs) in enumerate(zip(x, y, strict=True), start=first):
        yield at, ours, theirs


@lru_cache(maxsize=KEPT)
def _shares(resamples: int, count: int, key: tuple[int, ...]) -> Floats:
    """How large a share of each sample each of so many is, [resamples, count]."""
    drawn = max(count - 1, 1)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))
    shares = rng.multinomial(drawn, np.full(count, 1.0 / count), resamples) / drawn
    shares.flags.writeable = False
    return shares
