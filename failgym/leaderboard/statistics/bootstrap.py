"""Intervals of a leaderboard's estimates: a stratified bootstrap of traces, slices, training runs.

Every environment is a stratum. A sample draws its traces and their units, the same for all
policies, so that two of them are compared in pairs, and, apart from them, each policy's training
runs. Units are blocks of jobs; of what is said of slices, and where tasks share machines, slices or
blocks of them (`failgym.evaluation.statistics`). Units and runs are drawn crosswise
(Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 2007), which errs on the wide side.
The interval is that between percentiles, stretched where few traces, units or runs are known or few
decide. It knows only what varied: one training run says nothing of the next.

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
from failgym.evaluation.statistics.interval_width import Variance, stretched
from failgym.evaluation.statistics.resampling import drawn
from failgym.evaluation.statistics.sampling_units import TracesUnits
from failgym.leaderboard.statistics.estimators import (
    AGGREGATES,
    OPTIMUM,
    Runs,
    improvements,
    mean_difference,
    pool,
    probability_of_improvement,
    run_scores,
    slice_scores,
)
from failgym.leaderboard.statistics.interval_width import (
    of_runs,
    over,
    spread_of_mean,
    spread_of_score,
    unvaried,
)

__all__ = ["EACH", "Bootstrap", "Estimate", "Profile"]

Floats = npt.NDArray[np.float64]

GAPS, PROBABILITIES = (0.0, math.inf), (0.0, 1.0)
"""Between which numbers they lie."""
UNITS, TRACES = 0, 3
"""Streams of the draws of units and of traces."""
ONE, OTHER, EACH = 1, 2, 4
"""Streams of the draws of training runs: of a policy, and of the one it is compared with; and of
the first of many that are compared at once, followed by those of the others."""
KEPT = 64
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
        spread = spread_of_score(runs)
        scores, weights = self._drawn(runs, spread.trace_weight, environment, ONE)
        value = float(run_scores(runs).mean())
        samples = (scores * weights).sum(axis=-1)
        parts = [*spread.parts, *of_runs(run_scores(runs))]
        return self._interval(value, samples, parts, (-math.inf, self.highest))

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
        spreads = [spread_of_score(cell) for cell in cells]
        parts = [
            part
            for cell, spread in zip(cells, spreads, strict=True)
            for part in (*spread.parts, *of_runs(run_scores(cell)))
        ]
        both = [
            self._drawn(cell, spread.trace_weight, at, ONE)
            for (at, cell), spread in zip(numbered, spreads, strict=True)
        ]
        observed = pool(cells)
        scores = np.concatenate([scores for scores, _ in both], axis=-1)
        weights = np.concatenate([weights for _, weights in both], axis=-1) / len(cells)
        return {
            name: self._interval(
                float(of(*observed)),
                of(scores, weights, observed[2]),
                over(parts, len(cells)),
                GAPS if name == "optimality_gap" else (-math.inf, self.highest),
                whole=name == "mean",
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
        value, samples, parts = 0.0, np.zeros(self.resamples), list[Variance]()
        pairs = [pair for pair in _pairs(x, y, first) if pair[1].scored()]
        if not pairs:
            return NONE
        for at, ours, theirs in pairs:
            less = mean_difference(ours, theirs)
            spread = spread_of_score(less)
            parts += spread.parts
            for runs, stream, sign in ((ours, ONE, 1.0), (theirs, OTHER, -1.0)):
                scores, weights = self._drawn(runs, spread.trace_weight, at, stream)
                value += sign * float(run_scores(runs).mean()) / len(pairs)
                samples += sign * (scores * weights).sum(axis=-1) / len(pairs)
                parts += of_runs(run_scores(runs))
        return self._interval(value, samples, over(parts, len(pairs)))

    def probability_of_improvement(
        self, x: Sequence[Runs], y: Sequence[Runs], first: int = 0
    ) -> Estimate:
        """`statistics.probability_of_improvement` and its interval; arguments of `difference`.

        Where every slice says the same, samples do too: the interval is then that of `unvaried`.
        """
        value, samples = probability_of_improvement(x, y), np.zeros(self.resamples)
        counts, parts = [len(cell.sampled) for cell in x], list[Variance]()
        if min(counts) > 1 and all((better == value).all() for better in map(improvements, x, y)):
            return Estimate(value, *unvaried(value, counts, self.confidence))
        for at, ours, theirs in _pairs(x, y, first):
            better = improvements(ours, theirs)
            spread = spread_of_mean(better.mean(axis=(0, 1)), ours.sampled)
            of_x, of_y = (
                self.run_shares(len(better), at, ONE),
                self.run_shares(better.shape[1], at, OTHER),
            )
            slices = self._slices(ours.sampled, spread.trace_weight, at)
            samples += np.einsum("ri,rj,rk,ijk->r", of_x, of_y, slices, better, optimize=True)
            parts += spread.parts
            parts += of_runs(better.mean(axis=(1, 2))) + of_runs(better.mean(axis=(0, 2)))
        return self._interval(value, samples / len(x), over(parts, len(x)), PROBABILITIES)

    def profile(self, cells: Sequence[Runs], thresholds: Floats) -> Profile:
        """The share of slices and runs with a score above each threshold.

        The run-score distribution of Agarwal et al., with each slice of a run for a run: each
        environment weighs the same. Slices on which there is nothing to gain are left out, and so
        are environments that have no others. The band is that between percentiles; traces count
        whole, as if their units did not explain why they differ: it errs on the wide side.

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
            slices = self._slices(cell.sampled.only(scored), 1.0, at)
            runs = self.run_shares(len(cell.saved), at, ONE)
            value += above.mean(axis=(0, 1)) / len(numbered)
            samples += np.einsum(
                "rk,ri,ikt->rt", slices, runs, above / len(numbered), optimize=True
            )
        tail = (100.0 - self.confidence) / 2.0
        low, high = np.percentile(samples, [tail, 100.0 - tail], axis=0)
        return Profile(value, low, high)

    def _drawn(
        self, runs: Runs, trace_weight: float, environment: int, stream: int
    ) -> tuple[Floats, Floats]:
        """Scores of the runs on drawn slices, and weights of drawn runs, [resamples, runs] each."""
        units = runs.by_unit()
        weights = self._units(units.sampled, trace_weight, environment)
        return run_scores(units, weights), self.run_shares(len(runs.saved), environment, stream)

    def draws(self, units: TracesUnits, environment: int) -> tuple[Floats, Floats]:
        """How often each unit counts, over how often it does on average, and by how much more or
        less it does where its trace is drawn too, [resamples, units] each.

        The first and so many times the second are what counts: of the estimate's `trace_weight`.

        Args:
            units: of an environment.
            environment: its number.
        """
        counts, key = np.bincount(units.trace), (self.seed, environment)
        found = _shares(self.resamples, tuple(counts.tolist()), (*key, UNITS))
        order = np.argsort(np.argsort(units.trace, kind="stable"), kind="stable")
        found = found[:, order]
        if len(counts) == 1:
            return found, np.zeros(found.shape)
        traces = _shares(self.resamples, (len(counts),), (*key, TRACES))
        return found, found * (traces - 1.0)[:, units.trace]

    def run_shares(self, count: int, environment: int, stream: int) -> Floats:
        """How large a share of each sample each of so many training runs is [resamples, runs].

        Args:
            count: how many runs there are.
            environment: number of the environment.
            stream: of draws: runs of two streams are drawn apart.
        """
        return _shares(self.resamples, (count,), (self.seed, environment, stream)) / count

    def _units(self, units: TracesUnits, trace_weight: float, environment: int) -> Floats:
        """How often each unit counts, over how often it does on average [resamples, units]."""
        found, more = self.draws(units, environment)
        return found + trace_weight * more if trace_weight > 0.0 else found

    def _slices(self, units: TracesUnits, trace_weight: float, environment: int) -> Floats:
        """How large a share of each sample each slice is [resamples, slices]."""
        found = self._units(units, trace_weight, environment)[:, units.of_row]
        return found / found.sum(axis=1, keepdims=True)

    def _interval(
        self,
        value: float,
        samples: Floats,
        parts: Sequence[Variance],
        possible: tuple[float, float] = (-math.inf, math.inf),
        *,
        whole: bool = True,
    ) -> Estimate:
        """The percentiles of the samples, stretched; none where a variance is unknown.

        What is not possible is cut off, unless the estimate itself lies there: where a bound is not
        proven, scores may be above 100.
        """
        if math.isnan(value):
            return NONE
        found = percentiles(samples, self.confidence)
        ends = stretched(value, found, parts, self.confidence, whole=whole)
        low, high = np.clip(ends, min(possible[0], value), max(possible[1], value))
        return Estimate(value, float(low), float(high))


def _pairs(x: Sequence[Runs], y: Sequence[Runs], first: int) -> Iterator[tuple[int, Runs, Runs]]:
    """Number of each environment, and the runs of two policies in it."""
    for at, (ours, theirs) in enumerate(zip(x, y, strict=True), start=first):
        yield at, ours, theirs


@lru_cache(maxsize=KEPT)
def _shares(resamples: int, counts: tuple[int, ...], key: tuple[int, ...]) -> Floats:
    """How often each is drawn, over how often on average [resamples, all], group by group."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))
    shares = np.concatenate([drawn(count, resamples, rng) for count in counts], axis=1)
    shares.flags.writeable = False
    return shares
