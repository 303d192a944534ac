"""Slices drawn by what is at stake on them, each with what it stands for.

Few slices hold most of what can be gained: of slices that are drawn alike most say nothing. So a
slice is drawn the likelier the more the bound saves on it and the more replay spends, and what it
costs is multiplied by the inverse of its probability. Sums over slices are then what they are over
all, on the mean over draws, whatever the probabilities (Horvitz and Thompson, "A generalization of
sampling without replacement from a finite universe", JASA 1952). They are drawn at equal steps
through the slices in a random order (Madow, "On the theory of systematic sampling, II", The Annals
of Mathematical Statistics 1949), so that their number is fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Drawn", "draw_by_stake", "inclusion"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHARES = (0.6, 0.3, 0.1)
"""Of the chance of a slice: by what the bound saves, by what replay spends, and to all alike. A
policy may do harm where nothing can be gained, mostly in proportion to what is spent there. They
alter how widely scores scatter from draw to draw, not what they are on the mean."""


class Drawn(NamedTuple):
    """Slices that were drawn."""

    slices: Ints
    """[drawn] ascending"""
    weights: Floats
    """[drawn] how many slices each stands for: at least 1"""


def inclusion(possible: Floats, spent: Floats, count: int) -> Floats:
    """How likely each slice is to be drawn [slices]; they add up to ``count``, or are all 1.

    Args:
        possible: [slices] what the bound saves on each.
        spent: [slices] what replay spends there.
        count: how many are drawn.
    """
    number = len(possible)
    if count >= number:
        return np.ones(number)
    size = np.zeros(number)
    for share, part in zip(SHARES, (possible, spent, np.ones(number)), strict=True):
        part = np.maximum(part, 0.0)
        if (total := part.sum()) > 0.0:
            size += share * part / total
    chance = np.zeros(number)
    left = np.ones(number, dtype=np.bool_)
    # Who would be drawn more than once is drawn for sure, and leaves more to the others.
    while True:
        chance[left] = (count - (~left).sum()) * size[left] / size[left].sum()
        sure = left & (chance >= 1.0)
        if not sure.any():
            return chance
        chance[sure], left = 1.0, left & ~sure


def draw_by_stake(possible: Floats, spent: Floats, count: int, seed: int) -> Drawn:
    """Draw slices without replacement, each with the probability that `inclusion` says.

    Args:
        possible: [slices] what the bound saves on each.
        spent: [slices] what replay spends there.
        count: how many; all if there are not more.
        seed: of the draw.
    """
    chance = inclusion(possible, spent, count)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    order = rng.permutation(len(chance))
    ends = np.cumsum(chance[order])
    ends[-1] = round(float(ends[-1]))  # a whole number, but for rounding
    steps = np.floor(ends - rng.random()) + 1.0
    slices = np.sort(order[np.diff(np.concatenate([[0.0], steps])) > 0.0])
    return Drawn(slices, 1.0 / chance[slices])
