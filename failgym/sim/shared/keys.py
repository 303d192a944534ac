"""Keyed randomness: a uniform number that depends on nothing but its key.

Two policies on one seed meet the same fate wherever they behave the same, because no number depends
on how many were drawn before it. The key is (seed, trace row of the task, attempt number, purpose).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

__all__ = ["Purpose", "stream", "uniform", "uniform_of"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


class Purpose(IntEnum):
    """What a keyed number is drawn for; part of its key."""

    LENGTH = 1
    FORECAST_ALARM = 2
    FORECAST_TIME = 3
    FORECAST_CLASS = 4
    FORECAST_JOB = 5
    NODE_HIT = 6
    NODE_TIME = 7
    NODE_FALSE = 8
    LATENT = 9
    FORECAST_SHARED = 10
    WORK = 11
    SLOW_ROW = 12
    NEXT_FAILURE = 13
    NEXT_EXTERNAL = 14
    NEXT_CHANCE = 15
    NEXT_GAP = 16
    NEXT_RESTART = 17
    GIVES_UP = 18
    ALARM_SHARED = 19
    ALARM_TRUE = 20
    ALARM_LEAD = 21
    ALARM_FALSE = 22
    ALARM_FALSE_SCORE = 23
    ALARM_FALSE_LEAD = 24


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


def _keyed(key: npt.NDArray[np.uint64], part: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Keys with one part more."""
    with np.errstate(over="ignore"):
        words = np.asarray(part, dtype=np.int64).astype(np.uint64)
        return _mix((key ^ _mix(words + _GOLDEN)) + _GOLDEN)


def stream(seed: int, task: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """The first half of the keys of `uniform`: kernels draw from it (`draws.keyed`)."""
    return _keyed(np.full(1, seed % 2**64, dtype=np.uint64), task)


def uniform(
    seed: int, task: npt.ArrayLike, attempt: npt.ArrayLike, purpose: Purpose
) -> npt.NDArray[np.float64]:
    """Return uniform numbers on [0, 1), one per key, with 53 random bits.

    Args:
        seed: the seed of the world, any integer; taken modulo 2**64.
        task: trace rows of tasks, broadcast against ``attempt``.
        attempt: attempt numbers.
        purpose: what the number is for.
    """
    shape = np.broadcast_shapes(np.shape(task), np.shape(attempt))
    return uniform_of(stream(seed, task), attempt, purpose).reshape(shape)


def uniform_of(
    streams: npt.NDArray[np.uint64], attempt: npt.ArrayLike, purpose: Purpose
) -> npt.NDArray[np.float64]:
    """The numbers of `uniform` for the seed and the tasks of some `stream`."""
    key = _keyed(_keyed(streams, attempt), int(purpose))
    return (key >> np.uint64(11)).astype(np.float64) * 2.0**-53
