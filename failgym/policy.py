"""`Policy`: whatever decides, behind stable-baselines3's own `predict` signature.

This is the lowest layer: it knows arrays and nothing of failgym.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

__all__ = ["Actions", "Policy", "State"]

Actions = npt.NDArray[np.int64] | np.int64
"""One action, or one per observation of a batch."""
State = Any
"""What a policy carries from call to call; None at first. One without memory passes it on."""


@runtime_checkable
class Policy(Protocol):
    """A policy: a heuristic, a trained model, a submission.

    The signature is that of stable-baselines3's models, plus the ``action_masks`` of sb3-contrib's
    MaskablePPO, so that one evaluation serves all of them.
    """

    def predict(
        self,
        observation: npt.NDArray[np.float32],
        state: State = None,
        episode_start: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Actions, State]:
        """Choose an action for one observation, or for each of a batch.

        Args:
            observation: float32 [fields] or [batch, fields].
            state: what the last call returned; None at the start.
            episode_start: bool [batch]: is this the first observation of an episode?
            deterministic: False lets a stochastic policy sample; heuristics ignore it.
            action_masks: bool [actions] or [batch, actions]: which actions are legal. None: the
                observation's own last fields say so.

        Returns:
            The action (an integer scalar for one observation, int64 [batch] for a batch) and the
            state for the next call.
        """
        ...
