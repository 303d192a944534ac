"""Random: any legal action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from failgym.baselines.base import Bools, Choices, Heuristic, ObservationView
from failgym.baselines.search import fixed

__all__ = ["RandomPolicy"]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class RandomPolicy(Heuristic):
    """Each legal action with the same probability.

    The draw is a hash of the seed and the observation. So it needs no memory, and a trajectory is
    the same in single and batched environments, in whatever order the observations are served.
    """

    name: ClassVar[str] = "random"

    seed: int = fixed(0)
    """Different seeds draw independently."""

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """Return the legal action at a uniform rank."""
        rank = np.floor(self._uniform(view) * mask.sum(axis=1)).astype(np.int64)
        return np.argmax(np.cumsum(mask, axis=1) > rank[:, None], axis=1).astype(np.int64)

    def _uniform(self, view: ObservationView) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Hash each observation to [0, 1): a multilinear hash, then the finaliser of SplitMix64."""
        with np.errstate(over="ignore"):
            words = np.ascontiguousarray(view.values).view(np.uint32).astype(np.uint64)
            seed = np.array([self.seed % 2**64], dtype=np.uint64)
            keys = self._mix(np.arange(1, words.shape[1] + 1, dtype=np.uint64) * _ODD + seed)
            hashed = self._mix(words @ (keys | np.uint64(1)) + seed)
        return (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-53

    @staticmethod
    def _mix(
        x: np.ndarray[tuple[int], np.dtype[np.uint64]],
    ) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        x = (x ^ (x >> np.uint64(30))) * _MIX_1
        x = (x ^ (x >> np.uint64(27))) * _MIX_2
        return x ^ (x >> np.uint64(31))
