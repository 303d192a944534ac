"""The score: how much of what a clairvoyant saves over replay a policy saves, and how surely."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.evaluation.room import enough_room

__all__ = ["CONFIDENCE", "RESAMPLES", "Score", "percentiles", "score"]

Floats = npt.NDArray[np.float64]

RESAMPLES = 2_000
"""Bootstrap samples of the slices."""
DRAWN_BYTES = 1 << 26
"""Memory for bootstrap samples that are held at once [bytes]."""
CONFIDENCE = 95.0
"""Of the interval [%]."""


class Score(NamedTuple):
    """A score and its bootstrap interval; NaN where there is nothing to gain.

    There is if the room is large enough for a share of it to mean anything: `enough_room`.
    """

    value: float
    low: float
    high: float


def score(
    replay: Floats,
    policy: Floats,
    bound: Floats,
    seed: int = 0,
    *,
    spent: Floats | None = None,
    confidence: float = CONFIDENCE,
    if_room: bool = False,
) -> Score:
    """100 (replay - policy) / (replay - bound), a ratio of sums over slices.

    0 is replay, 100 the clairvoyant bound; a policy that does harm is below 0. The interval is a
    percentile bootstrap over slices, paired: each sample holds the same slices of all three. No
    sample is above 100 where no policy costs less than the bound on any slice. A sample in which
    there is nothing to gain has no score; where these are more than lie outside the interval, the
    room hangs on a few slices, and there is no interval.

    Args:
        replay: [slices] cost of replay.
        policy: [slices] cost of the policy on the same slices.
        bound: [slices] least possible cost.
        seed: of the bootstrap.
        spent: [slices] what replay spends (`failgym.evaluation.room`), which the room is measured
            by; what it costs, which may be more or less, by default.
        confidence: of the interval [%].
        if_room: give an interval all the same: it says where the score lies if there is something
            to gain.

    Returns:
        NaN for what there is not.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    sums = np.stack([replay - policy, replay - bound, replay if spent is None else spent], axis=1)
    [whole] = _scores(sums.sum(axis=0, keepdims=True))
    if np.isnan(whole):
        return Score(np.nan, np.nan, np.nan)
    samples = _resample(sums, rng)
    if if_room:
        samples = samples[~np.isnan(samples)]
    low, high = percentiles(samples, confidence)
    return Score(float(whole), low, high)


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


def _resample(sums: Floats, rng: np.random.Generator) -> Floats:
    """Scores of bootstrap samples [RESAMPLES]; drawn in parts, since a sample is as long as n."""
    n = len(sums)
    part = max(1, DRAWN_BYTES // (8 * n))
    samples: list[Floats] = []
    for first in range(0, RESAMPLES, part):
        size = min(part, RESAMPLES - first)
        drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=size)
        samples.append(_scores(drawn @ sums))
    return np.concatenate(samples)


def _scores(sums: Floats) -> Floats:
    """Scores [samples] of what is saved, the room and what replay spends [samples, 3]."""
    saved, possible, spent = sums.T
    scored = enough_room(possible, spent)
    return 100.0 * np.divide(saved, possible, out=np.full(len(sums), np.nan), where=scored)
