"""What an actor's best actions are, without what stable-baselines3 does around its network.

`predict` of stable-baselines3 takes a millisecond for one observation as for a hundred: most of it
makes and checks a distribution that nobody draws from. In the scheduled world, where few episodes
are open at once, that was more than half of the time that an agent took to answer. The operations
on tensors are those that stand behind `predict`, in their order, so that answers are the same to
the bit, ties included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy

__all__ = ["best_actions", "has_plain_actor"]

ILLEGAL = -1e8
"""Logit of what is masked, as in sb3-contrib's `MaskableCategorical`."""
PLAIN = (ActorCriticPolicy, MaskableActorCriticPolicy)


def has_plain_actor(network: BasePolicy) -> bool:
    """Is its actor an MLP without a memory, of which `best_actions` can be asked?"""
    return type(network) in PLAIN


def best_actions(
    network: BasePolicy,
    shown: npt.NDArray[np.float32],
    legal: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.int64] | None:
    """The actions that `network.predict(..., deterministic=True)` chooses.

    Args:
        network: one that `has_plain_actor`.
        shown: float32 [batch, fields].
        legal: [batch, actions], or as many in a row, for a network that was trained with masks.

    Returns:
        int64 [batch]; None where a logit is no finite number: `predict` says so in its own way.
    """
    own: Any = network
    with torch.inference_mode():
        logits: Any = own.action_net(own.mlp_extractor.forward_actor(torch.as_tensor(shown)))
        if not bool(torch.isfinite(logits).all()):
            return None
        if legal is not None:
            masked = torch.as_tensor(legal).reshape(logits.shape)
            logits = torch.where(masked, _normalised(logits), torch.tensor(ILLEGAL))
        chances = torch.softmax(_normalised(logits), dim=-1)
        return chances.argmax(dim=1).numpy()


def _normalised(logits: Any) -> Any:
    """As `torch.distributions.Categorical` keeps them."""
    return logits - logits.logsumexp(dim=-1, keepdim=True)
