"""What the episodes of a batch came to: what stable-baselines3's `Monitor` says, and costs."""

# torch annotates some of its arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from failgym.agents.environments.batch_step import Step

__all__ = ["EpisodeTally", "final_infos"]

Ints = npt.NDArray[np.int64]


class EpisodeTally:
    """Return and length of N running episodes.

    Args:
        num_envs: N.
    """

    def __init__(self, num_envs: int) -> None:
        self.began = time.time()
        self.returns = np.zeros(num_envs)
        self.lengths = np.zeros(num_envs, dtype=np.int64)

    def clear(self) -> None:
        """Begin all episodes anew."""
        self.returns[:], self.lengths[:] = 0.0, 0

    def add(self, rewards: npt.NDArray[Any]) -> None:
        """Count a step of every episode."""
        self.returns += rewards
        self.lengths += 1

    def to_state(self) -> dict[str, Any]:
        """State of the tally for a checkpoint: tensors and numbers."""
        return {
            "returns": torch.from_numpy(self.returns.copy()),
            "lengths": torch.from_numpy(self.lengths.copy()),
            "seconds": time.time() - self.began,
        }

    def go_on(self, state: dict[str, Any]) -> None:
        """Count on from what `to_state` returned. Raises ValueError for other episodes."""
        returns, lengths = state["returns"].numpy(), state["lengths"].numpy()
        if not returns.shape == lengths.shape == self.returns.shape:
            raise ValueError(f"tally: expected {len(self.returns)} episodes, got {returns.shape}")
        self.returns[:], self.lengths[:] = returns, lengths
        self.began = time.time() - float(state["seconds"])

    def close(
        self, ended: Ints, costs: npt.NDArray[np.float64] | None = None
    ) -> list[dict[str, Any]]:
        """What the episodes that ended came to; they begin anew.

        Args:
            ended: which they are, [k].
            costs: what they cost by reward term, in the order of `failgym.envs.spaces.TERMS`,
                [k, 5]; None where there are no such terms.

        Returns:
            For each of them, under the names of `Monitor`, return ``r``, length ``l`` [decisions]
            and time ``t`` since the beginning [s]; and the cost by term.
        """
        now = round(time.time() - self.began, 6)
        returns, lengths = self.returns[ended].tolist(), self.lengths[ended].tolist()
        self.returns[ended], self.lengths[ended] = 0.0, 0
        # Often more than half of a batch ends in a step: literals are faster than zipped names.
        if costs is None:
            return [{"r": r, "l": n, "t": now} for r, n in zip(returns, lengths, strict=True)]
        columns = (returns, lengths, *costs.T.tolist())
        return [
            {"r": r, "l": n, "t": now}
            | {"wasted": w, "overhead": v, "completion": c, "forfeited": f, "others": o}
            for r, n, w, v, c, f, o in zip(*columns, strict=True)
        ]


def final_infos(step: Step, episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What stable-baselines3 is told of the episodes that ended in a step.

    Args:
        step: the step.
        episodes: what `EpisodeTally.close` said of them.
    """
    columns = (step.last, step.cut, episodes)
    if step.tasks is None:
        return [
            {"terminal_observation": last, "TimeLimit.truncated": cut, "episode": episode}
            for last, cut, episode in zip(*columns, strict=True)
        ]
    return [
        {
            "task": -1,
            "elapsed": ms,
            "terminal_observation": last,
            "TimeLimit.truncated": cut,
            "episode": episode,
        }
        for last, cut, episode, ms in zip(*columns, step.last_elapsed, strict=True)
    ]
