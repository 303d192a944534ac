"""The score: how much of what a clairvoyant saves over replay a policy saves, and how surely."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.room import enough_room
from failgym.evaluation.statistics.interval_width import stretched
from failgym.evaluation.statistics.resampling import RESAMPLES, Spread, resampled, spread_of

__all__ = ["CONFIDENCE", "RESAMPLES", "Score", "percentiles", "score", "score_spread"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CONFIDENCE = 95.0
"""Of the interval [%]."""
HIGHEST = 100.0
"""The highest score, where no policy costs less than the bound on any unit."""
ROUNDING = 1e-9
"""What a policy may save more than the bound by rounding, a share of the room."""


class Score(NamedTuple):
    """A score and its bootstrap interval; NaN where there is nothing to gain.

    There is if the room is large enough for a share of it to mean anything: `enough_room`.
    """

    value: float
    low: float
    high: float


NONE = Score(np.nan, np.nan, np.nan)


def score(
    replay: Floats,
    policy: Floats,
    bound: Floats,
    seed: int = 0,
    *,
    spent: Floats | None = None,
    traces: Ints | None = None,
    confidence: float = CONFIDENCE,
    if_room: bool = False,
    resamples: int = RESAMPLES,
) -> Score:
    """100 (replay - policy) / (replay - bound), a ratio of sums over sampling units.

    0 is replay, 100 the clairvoyant bound; a policy that does harm is below 0. The interval is that
    between the percentiles of a bootstrap of traces, then of units, paired: each sample holds the
    same units of all three (`failgym.evaluation.statistics`). It is stretched about the score where
    few of them decide. It does not end above 100 where no policy costs less than the bound on any
    unit. A sample in which there is nothing to gain has no score; where these are more than lie
    outside the interval, the room hangs on a few units, and there is no interval, as there is none
    of a single unit.

    Args:
        replay: [units] cost of replay.
        policy: [units] cost of the policy on the same units.
        bound: [units] least possible cost.
        seed: of the bootstrap.
        spent: [units] what replay spends (`failgym.evaluation.room`), which the room is measured
            by; what it costs, which may be more or less, by default.
        traces: [units] the trace of each, numbered from 0 without gaps; one trace by default.
        confidence: of the interval [%].
        if_room: give an interval all the same: it says where the score lies if there is something
            to gain.
        resamples: bootstrap samples.

    Returns:
        NaN for what there is not.
    """
    trace = np.zeros(len(replay), dtype=np.int64) if traces is None else traces
    sums = np.stack([replay - policy, replay - bound, replay if spent is None else spent], axis=1)
    [whole] = _scores(sums.sum(axis=0, keepdims=True))
    if np.isnan(whole):
        return NONE
    if len(sums) == 1:
        return Score(float(whole), np.nan, np.nan)
    saved, possible = sums[:, 0], sums[:, 1]
    total = possible.sum()
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    spread = score_spread(saved, possible, trace)
    samples = _scores(resampled(sums, trace, spread.trace_weight, rng, resamples))
    if if_room:
        samples = samples[~np.isnan(samples)]
    ends = percentiles(samples, confidence)
    low, high = stretched(float(whole), ends, spread.parts, confidence)
    if (saved <= possible + ROUNDING * total).all():
        high = min(high, max(HIGHEST, float(whole)))
    return Score(float(whole), low, high)


def score_spread(saved: Floats, possible: Floats, trace: Ints) -> Spread:
    """Where the variance of a score comes from, or of the difference of two; linearised.

    Args:
        saved: [units] by the policy over replay, or over another policy.
        possible: [units] what the bound saves over replay.
        trace: [units] the trace of each, numbered from 0 without gaps.
    """
    total = possible.sum()
    residual = saved - saved.sum() / total * possible
    residual[np.abs(residual) <= ROUNDING * total / len(residual)] = 0.0
    return spread_of(HIGHEST * residual / total, trace)


def percentiles(samples: Floats, confidence: float) -> tuple[float, float]:
    """Ends of the percentile interval of a bootstrap; NaN where too many samples have no score.

    Args:
        samples: NaN for one without a score; they are left out.
        confidence: of the interval [%]. No more samples than are outside it may have no score.
    """
    scored, outside = samples[~np.isnan(samples)], 100.0 - confidence
    if not len(scored) or len(samples) - len(scored) > outside / 100.0 * len(samples):
        return np.nan, np.nan
    low, high = np.percentile(scored, [outside / 2.0, 100.0 - outside / 2.0])
    return float(low), float(high)


def _scores(sums: Floats) -> Floats:
    """Scores [samples] of what is saved, the room and what replay spends [samples, 3]."""
    saved, possible, spent = sums.T
    scored = enough_room(possible, spent)
    return 100.0 * np.divide(saved, possible, out=np.full(len(sums), np.nan), where=scored)
