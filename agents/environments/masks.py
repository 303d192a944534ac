"""Are there masks of legal actions for an algorithm that needs them?"""

# sb3-contrib annotates neither of its two helpers in full.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.type_aliases import GymEnv

__all__ = ["MASKS", "require_masks"]

MASKS = "action_masks"
"""What sb3-contrib calls the method that tells which actions are legal."""


def require_masks(env: GymEnv) -> None:
    """Check that a masked algorithm can learn on an environment.

    Raises:
        ValueError: if it has no ``action_masks``, or not one for each action: a wrapper has lost
            them, or has changed the actions and left the masks as they were.
    """
    needs = f"a masked algorithm needs {MASKS}"
    if not is_masking_supported(env):
        raise ValueError(f"env: {needs}, which {_described(env)} does not have or has lost")
    space: Any = env.action_space
    width = get_action_masks(env).shape[-1]
    if width != space.n:
        raise ValueError(
            f"env: {needs} for each of {space.n} actions, {_described(env)} has them for {width}"
        )


def _described(env: Any) -> str:
    """An environment by its wrappers, from the outside: ``VecMonitor(BatchedVecEnv)``."""
    for inner in ("venv", "env"):
        if inner in vars(env):
            return f"{type(env).__name__}({_described(vars(env)[inner])})"
    return type(env).__name__
