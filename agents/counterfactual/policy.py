"""A `Decider` behind `predict`, while it is being learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.agents.ensembles.decider import Decider
from failgym.policy import Actions, State
from failgym.sim.shared.fields import MASK

__all__ = ["Learned"]


@dataclass(frozen=True)
class Learned:
    """What trees decide, asked with whole observations."""

    decider: Decider
    columns: npt.NDArray[np.intp]
    """of whole observations, that the trees ask about"""
    name: str = "counterfactual"

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: State = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[Any] | None = None,
    ) -> tuple[Actions, State]:
        """Choose actions as `failgym.policy.Policy` says; nothing is drawn."""
        batch = np.atleast_2d(np.asarray(observation, dtype=np.float32))
        legal = batch[:, MASK] > 0 if action_masks is None else np.atleast_2d(action_masks) > 0
        chosen = self.decider.asked(batch.take(self.columns, axis=1), batch, legal)
        return (chosen if observation.ndim == 2 else np.int64(chosen[0])), None
