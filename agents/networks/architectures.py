"""Networks of stable-baselines3 and sb3-contrib, described by sizes and built again from them.

A fixed list of algorithms, policy classes and activations: a description names one of them, or is
refused. No class is imported because a file says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from gymnasium.spaces import Box
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

from failgym.agents.networks.sizes import Lstm, Network
from failgym.envs.spaces import FieldBox, action_space, fields_of
from failgym.known_names import unknown

__all__ = [
    "ACTIVATIONS",
    "ARCHITECTURES",
    "Architecture",
    "algorithm_of",
    "build",
    "describe",
    "kept_weights",
    "load_weights",
    "shown_fields",
]

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "leaky_relu": nn.LeakyReLU,
}
"""Name -> activation."""

CRITIC = ("mlp_extractor.value_net.", "value_net.", "lstm_critic.", "critic.")
"""How the names of weights begin that only the value function uses."""
TARGETS = ("q_net_target.", "quantile_net_target.")
"""How those of the slow copies begin that only training uses."""


@dataclass(frozen=True)
class Architecture:
    """The classes of an algorithm, and what its policies are like."""

    model: type[BaseAlgorithm]
    policy: type[BasePolicy]
    masked: bool = False
    """does it leave out illegal actions? To others they are CONTINUE"""
    actor_critic: bool = True
    """is it an actor with a value function, or values of actions?"""


ARCHITECTURES: dict[str, Architecture] = {
    "ppo": Architecture(PPO, ActorCriticPolicy),
    "a2c": Architecture(A2C, ActorCriticPolicy),
    "dqn": Architecture(DQN, DQNPolicy, actor_critic=False),
    "qrdqn": Architecture(QRDQN, QRDQNPolicy, actor_critic=False),
    "maskable_ppo": Architecture(MaskablePPO, MaskableActorCriticPolicy, masked=True),
    "recurrent_ppo": Architecture(RecurrentPPO, RecurrentActorCriticPolicy),
}
"""Name of an algorithm -> its classes."""


def algorithm_of(model: BaseAlgorithm) -> str:
    """The name of a model's algorithm; that of the class it is derived from, if it is derived.

    Raises:
        ValueError: for an algorithm that is not one of `ARCHITECTURES`.
    """
    for name, architecture in ARCHITECTURES.items():
        if isinstance(model, architecture.model):
            return name
    got = type(model).__name__
    raise ValueError(f"model: {got}, expected one of {', '.join(ARCHITECTURES)}")


def describe(policy: BasePolicy, architecture: Architecture) -> Network:
    """The sizes of a network.

    Raises:
        ValueError: for what `build` cannot make again: another policy class, spaces, features
            extractor or activation, options of an LSTM, or sizes beyond the bounds.
    """
    _expect("policy class", type(policy).__name__, architecture.policy.__name__)
    known: Any = policy
    shown_fields(known.observation_space)
    _expect("action_space", known.action_space, action_space())
    extractor: type[Any] = known.features_extractor_class
    _expect("features extractor", extractor.__name__, FlattenExtractor.__name__)
    names = {kind: name for name, kind in ACTIVATIONS.items()}
    if known.activation_fn not in names:
        raise ValueError(
            f"activation {known.activation_fn.__name__}: expected one of {', '.join(ACTIVATIONS)}"
        )
    actor, critic = _layers(known.net_arch, architecture.actor_critic)
    return Network(
        actor=actor,
        critic=critic,
        activation=names[known.activation_fn],
        quantiles=known.n_quantiles if isinstance(policy, QRDQNPolicy) else None,
        lstm=_lstm(policy) if isinstance(policy, RecurrentActorCriticPolicy) else None,
    )


def shown_fields(space: object) -> tuple[str, ...]:
    """Names of the fields that a network is shown. Raises ValueError for another space."""
    fields = fields_of(space)
    if fields is None:
        raise ValueError(f"observation_space: expected failgym's fields, got {_shown(space)}")
    return fields


def build(network: Network, architecture: Architecture, fields: Sequence[str]) -> BasePolicy:
    """A policy of these sizes, on the CPU, with weights that mean nothing.

    The random state of torch is as before.

    Args:
        network: sizes.
        architecture: classes.
        fields: names of the fields of the observation that it is shown.

    Raises:
        ValueError: for an unknown activation, naming the nearest, or sizes that do not belong to
            the policy class.
    """
    if network.activation not in ACTIVATIONS:
        raise unknown("activation", network.activation, ACTIVATIONS)
    options: dict[str, Any] = {"activation_fn": ACTIVATIONS[network.activation]}
    _expect("critic", network.critic is not None, architecture.actor_critic)
    _expect("quantiles", network.quantiles is not None, architecture.policy is QRDQNPolicy)
    _expect("lstm", network.lstm is not None, architecture.policy is RecurrentActorCriticPolicy)
    if network.critic is not None:
        options["net_arch"] = {"pi": list(network.actor), "vf": list(network.critic)}
        options["ortho_init"] = False
    else:
        options["net_arch"] = list(network.actor)
    if network.quantiles is not None:
        options["n_quantiles"] = network.quantiles
    if network.lstm is not None:
        options |= {
            "lstm_hidden_size": network.lstm.units,
            "n_lstm_layers": network.lstm.layers,
            "shared_lstm": network.lstm.critic == "shared",
            "enable_critic_lstm": network.lstm.critic == "own",
        }
    kind = cast(Any, architecture.policy)
    with cast(Any, torch.random).fork_rng(devices=[]):
        policy: BasePolicy = kind(FieldBox(fields), action_space(), _constant, **options)
    policy.set_training_mode(False)
    return policy


def kept_weights(policy: BasePolicy, critic: bool) -> dict[str, torch.Tensor]:
    """The weights that a file keeps, by name: none of target networks, the critic's if wanted."""
    dropped = TARGETS if critic else (*TARGETS, *CRITIC)
    return {
        name: tensor.detach().cpu()
        for name, tensor in policy.state_dict().items()
        if not name.startswith(dropped)
    }


def load_weights(
    policy: BasePolicy, weights: Mapping[str, torch.Tensor], critic: bool = True
) -> None:
    """Copy the weights of `kept_weights` into a policy; a target network becomes a copy.

    Raises:
        ValueError: for a weight that is missing, unknown, of another shape or type, or not finite.
    """
    expected = kept_weights(policy, critic)
    for name in sorted(expected.keys() | weights.keys()):
        if name not in expected:
            raise ValueError(f"weights: unknown {name!r}")
        if name not in weights:
            raise ValueError(f"weights: {name} is missing")
        given, wanted = weights[name], expected[name]
        if given.shape != wanted.shape or given.dtype != wanted.dtype:
            raise ValueError(
                f"weights: {name} is {given.dtype} {list(given.shape)},"
                f" expected {wanted.dtype} {list(wanted.shape)}"
            )
        if not bool(torch.isfinite(given).all()):
            raise ValueError(f"weights: {name} has a value that is not finite")
    everything: dict[str, torch.Tensor] = dict(policy.state_dict())
    for name in everything:
        source = name.replace("_target.", ".", 1) if name.startswith(TARGETS) else name
        everything[name] = weights.get(source, everything[name])
    policy.load_state_dict(everything)


def _layers(arch: Any, actor_critic: bool) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Hidden layers of the actor and of the critic."""
    if not actor_critic:
        return tuple(arch), None
    if isinstance(arch, dict):
        sizes = cast("dict[str, list[int]]", arch)
        return tuple(sizes.get("pi", ())), tuple(sizes.get("vf", ()))
    return tuple(arch), tuple(arch)


def _lstm(policy: RecurrentActorCriticPolicy) -> Lstm:
    _expect("lstm_kwargs", policy.lstm_kwargs, {})
    layers, _, units = policy.lstm_hidden_state_shape
    own = "own" if policy.enable_critic_lstm else "none"
    return Lstm(units=units, layers=layers, critic="shared" if policy.shared_lstm else own)


def _expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        wanted, is_now = _shown(expected), _shown(got)
        raise ValueError(f"{what}: expected {wanted}, got {is_now}")


def _shown(value: object) -> str:
    """A space by its shape: its bounds are as many numbers."""
    space: Any = value
    return f"Box({space.shape}, {space.dtype})" if isinstance(value, Box) else str(space)


def _constant(progress: float) -> float:
    """A learning rate, for an optimizer that is never asked."""
    return 0.0
