"""What an engine is asked to do with an episode, and the slice that is drawn for it."""

from __future__ import annotations

import numpy as np

from failgym.sim.shared.jit import kernel

__all__ = [
    "ANSWERED",
    "DRAWN",
    "RESET",
    "STEP",
    "draw_slice",
]

STEP, RESET = 0, 1
"""What `run` is called for."""
ANSWERED, DRAWN = -2, -1
"""What stands for a slice where none is begun, and where one is drawn."""


@kernel
def draw_slice(key: int, count: int, slices: int) -> int:
    """The slice of episode number ``count`` of an environment with this key (SplitMix64)."""
    x = key + (np.uint64(count) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return int(float(x >> np.uint64(11)) * 2.0**-53 * slices)
