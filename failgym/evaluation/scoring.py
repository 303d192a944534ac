"""The score: how much of what a clairvoyant saves over replay a policy saves, and how surely."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["CONFIDENCE", "RESAMPLES", "Score", "score"]

Floats = npt.NDArray[np.float64]

RESAMPLES = 2_000
"""Bootstrap samples of the slices."""
DRAWN_BYTES = 1 << 26
"""Memory for bootstrap samples that are held at once [bytes]."""
CONFIDENCE = 95.0
"""Of the interval [%]."""


class Score(NamedTuple):
    """A score and its bootstrap interval; NaN where the clairvoyant saves nothing over replay."""

    value: float
    low: float
    high: float


def score(
    replay: Floats,
    policy: Floats,
    bound: Floats,
    seed: int = 0,
    *,
    confidence: float = CONFIDENCE,
) -> Score:
    """100 (replay - policy) / (replay - bound), a ratio of sums over slices.

    0 is replay, 100 the clairvoyant bound; a policy that does harm is below 0. The interval is a
    percentile bootstrap over slices, paired: each sample holds the same slices of all three.

    Args:
        replay: [slices] cost of replay.
        policy: [slices] cost of the policy on the same slices.
        bound: [slices] least possible cost.
        seed: of the bootstrap.
        confidence: of the interval [%].
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    saved, possible = replay - policy, replay - bound
    samples = _resample(saved, possible, rng)
    samples = samples[~np.isnan(samples)]
    tail = (100.0 - confidence) / 2.0
    low, high = np.percentile(samples, [tail, 100.0 - tail]) if len(samples) else (np.nan, np.nan)
    whole = _ratio(np.array([saved.sum()]), np.array([possible.sum()]))
    return Score(float(whole[0]), float(low), float(high))


def _resample(saved: Floats, possible: Floats, rng: np.random.Generator) -> Floats:
    """Scores of bootstrap samples [RESAMPLES]; drawn in parts, since a sample is as long as n."""
    n = len(saved)
    part = max(1, DRAWN_BYTES // (8 * n))
    samples: list[Floats] = []
    for first in range(0, RESAMPLES, part):
        size = min(part, RESAMPLES - first)
        drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=size)
        samples.append(_ratio(drawn @ saved, drawn @ possible))
    return np.concatenate(samples)


def _ratio(saved: Floats, possible: Floats) -> Floats:
    """Scores, NaN where nothing could be saved."""
    return 100.0 * np.divide(saved, possible, out=np.full(len(saved), np.nan), where=possible > 0)
