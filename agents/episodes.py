"""What the episodes of a batch came to: what stable-baselines3's `Monitor` says, and costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["EpisodeTally"]


class EpisodeTally:
    """Return, length and cost by term of N running episodes.

    Args:
        num_envs: N.
        terms: names of the reward terms that ``info["reward_terms"]`` holds.
    """

    def __init__(self, num_envs: int, terms: tuple[str, ...]) -> None:
        self.began = time.time()
        self.terms = terms
        self.returns = np.zeros(num_envs)
        self.lengths = np.zeros(num_envs, dtype=np.int64)
        self.costs = np.zeros((len(terms), num_envs))

    def clear(self) -> None:
        """Begin all episodes anew."""
        self.returns[:], self.lengths[:], self.costs[:] = 0.0, 0, 0.0

    def add(self, rewards: npt.NDArray[Any], info: dict[str, Any]) -> None:
        """Count a step of every episode; the info is that of Gymnasium's vector environment.

        Where an episode ended and the next has begun, the terms of the last step are in
        ``info["final_info"]``.
        """
        self.returns += rewards
        self.lengths += 1
        final = info.get("final_info")
        for k, name in enumerate(self.terms):
            self.costs[k] -= info["reward_terms"][name]
            if final is not None:
                ended = info["_final_info"]
                self.costs[k, ended] -= final["reward_terms"][name][ended]

    def close(self, ended: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
        """What the episodes that ended came to, and begin them anew.

        Returns:
            For each of them: return ``r``, length ``l`` [decisions], time ``t`` since the beginning
            [s], as `Monitor` names them, and the cost of each reward term.
        """
        now = round(time.time() - self.began, 6)
        costs = dict(zip(self.terms, self.costs[:, ended].tolist(), strict=True))
        columns = {"r": self.returns[ended].tolist(), "l": self.lengths[ended].tolist(), **costs}
        self.returns[ended], self.lengths[ended], self.costs[:, ended] = 0.0, 0, 0.0
        rows = zip(*columns.values(), strict=True)
        return [{**dict(zip(columns, row, strict=True)), "t": now} for row in rows]
