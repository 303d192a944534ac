"""What an engine is asked to do with an episode, the slice that is drawn for it, keyed draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from failgym.sim.shared.jit import called, kernel

__all__ = [
    "ANSWERED",
    "DRAWN",
    "RESET",
    "STEP",
    "draw_slice",
    "keyed",
]

STEP, RESET = 0, 1
"""What `run` is called for."""
ANSWERED, DRAWN = -2, -1
"""What stands for a slice where none is begun, and where one is drawn."""


@kernel
def _mix(x: Any) -> Any:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def _on_unit(x: Any) -> float:
    """53 bits as a number on [0, 1)."""
    return float(x >> np.uint64(11)) * 2.0**-53


@kernel
def draw_slice(key: int, count: int, slices: int) -> int:
    """The slice of episode number ``count`` of an environment with this key (SplitMix64)."""
    x = _mix(key + (np.uint64(count) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    return int(_on_unit(x) * slices)


@called
def keyed(stream: Any, number: int, purpose: int) -> float:
    """The bits of `keys.uniform` for the seed and the task of a `keys.stream`."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    x = _mix((stream ^ _mix(np.uint64(number) + golden)) + golden)
    return _on_unit(_mix((x ^ _mix(np.uint64(purpose) + golden)) + golden))
