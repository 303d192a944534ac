"""Fields of the observation that a network is not shown.

A policy reads every field. One that is not to learn from some has weights of zero for them, in all
layers that read the observation, and gradients of zero, so that training leaves them at zero: an
optimiser that has met no gradient moves nothing, unless it lets weights decay. The files of such
policies are those of any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.policies import BasePolicy
from torch import nn

from failgym.sim.fields import FIELDS

__all__ = ["columns", "hide"]

VALUES = ("q_net", "quantile_net")
"""What networks of the values of actions are called; that of the slow copy ends in ``_target``."""


def columns(names: Sequence[str]) -> list[int]:
    """Positions of fields that are named themselves, or whose group is."""
    return [i for i, field in enumerate(FIELDS) if field.name in names or field.group in names]


def hide(policy: BasePolicy, names: Sequence[str]) -> None:
    """Let the actions and the values of a policy depend on some fields no longer, for good.

    Args:
        policy: of one of `networks.architectures.ARCHITECTURES`; not trained with weight decay.
        names: of fields, or of groups of fields.
    """
    hidden = columns(names)
    if not hidden:
        return
    kept = torch.ones(len(FIELDS))
    kept[hidden] = 0.0

    def shown(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * kept

    for weight in _reading(policy):
        with torch.no_grad():
            weight[:, hidden] = 0.0
        if weight.requires_grad:
            hooked: Any = weight
            hooked.register_hook(shown)


def _reading(policy: BasePolicy) -> Iterator[torch.Tensor]:
    """The weights, [units, fields], of all layers that read the observation."""
    known: Any = policy
    if isinstance(policy, RecurrentActorCriticPolicy):
        yield known.lstm_actor.weight_ih_l0
        if known.lstm_critic is not None:
            yield known.lstm_critic.weight_ih_l0
        elif known.critic is not None:
            yield known.critic.weight
    elif hasattr(policy, "mlp_extractor"):
        yield _first(known.mlp_extractor.policy_net, known.action_net)
        yield _first(known.mlp_extractor.value_net, known.value_net)
    else:
        for name in VALUES:
            for copy in (name, f"{name}_target"):
                if hasattr(policy, copy):
                    yield _first(getattr(getattr(known, copy), name))


def _first(*parts: nn.Module) -> torch.Tensor:
    """The weights of the first linear layer."""
    layers = (layer for part in parts for layer in part.modules() if isinstance(layer, nn.Linear))
    return next(layers).weight
