"""Replay for this layer, which knows no baseline: whatever is asked, CONTINUE."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.vocabulary import Action

__all__ = ["CONTINUING"]


class _Continuing:
    """The policy that every score is relative to."""

    name = "replay"

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: Any = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[npt.NDArray[np.int64], Any]:
        """Answer CONTINUE for every observation of a batch."""
        return np.full(len(observation), int(Action.CONTINUE), dtype=np.int64), state


CONTINUING = _Continuing()
