"""Actors answer as stable-baselines3's `predict` does, to the last tie, in less time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from failgym.agents.networks.answers import Actor
from failgym.agents.networks.architectures import ARCHITECTURES, build
from failgym.agents.networks.sizes import Lstm, Network
from failgym.sim.shared.fields import INDEX
from failgym.vocabulary import ACTIONS

FIELDS = tuple(INDEX)[:20]
PLAIN = ("ppo", "a2c", "maskable_ppo")
ROWS = 400


def network_of(algorithm: str, activation: str = "tanh", scale: float = 1.0) -> Any:
    """A network with weights drawn at random."""
    memory = Lstm(units=8, layers=1, critic="own") if algorithm == "recurrent_ppo" else None
    values = None if algorithm in ("dqn", "qrdqn") else (8,)
    quantiles = 5 if algorithm == "qrdqn" else None
    sizes = Network(
        actor=(16, 16), critic=values, activation=activation, quantiles=quantiles, lstm=memory
    )
    network = build(sizes, ARCHITECTURES[algorithm], FIELDS)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in network.parameters():
            weights.copy_(scale * torch.randn(weights.shape, generator=generator))
    return network


def actor_of(network: Any) -> Actor:
    found = Actor.of(network)
    assert found is not None
    return found


@pytest.mark.parametrize("algorithm", PLAIN)
@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
def test_the_best_actions_are_those_of_predict(
    algorithm: str, activation: str, scale: float
) -> None:
    """With no weights at all actions are tied; with large ones chances are 0 and 1."""
    network, rng = network_of(algorithm, activation, scale), np.random.default_rng(2)
    actor = actor_of(network)
    shown = rng.normal(scale=5.0, size=(ROWS, len(FIELDS))).astype(np.float32)
    options: dict[str, Any] = {"deterministic": True}
    legal = None
    if ARCHITECTURES[algorithm].masked:
        legal = rng.random((ROWS, ACTIONS)) < 0.5
        legal[:, 0] |= ~legal.any(axis=1)
        options["action_masks"] = legal
    expected, _ = network.predict(shown, **options)
    found = actor.best_actions(shown, legal)
    assert found is not None
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    assert (len(set(expected.tolist())) > 2) == (scale > 0.0 or legal is not None)
    some = rng.random(ROWS) < 0.3
    for wanted in (some, np.zeros(ROWS, dtype=np.bool_)):
        found = actor.best_actions(shown, legal, wanted)
        assert found is not None
        assert np.array_equal(found[wanted], expected[wanted])
    for few in (1, 7):
        mask = None if legal is None else legal[:few]
        for given in (mask, None if mask is None else mask.ravel()):
            found = actor.best_actions(shown[:few], given)
            assert found is not None
            assert np.array_equal(found, expected[:few])


def cancelling(network: Any, activation: str, size: float) -> float:
    """Make sums of a network cancel: numbers of that size are added and taken off again.

    Returns:
        How large the fields are that it is to be shown.
    """
    first, second = network.mlp_extractor.policy_net[0], network.mlp_extractor.policy_net[2]
    with torch.no_grad():
        if activation == "relu":
            second.weight[8:] = second.weight[:8] * (1.0 + 1e-6)
            second.bias[8:] = second.bias[:8]
            network.action_net.weight[:, 8:] = -size * network.action_net.weight[:, :8]
            network.action_net.weight[:, :8] *= size
            return 1.0
        first.weight[:, 10:] = -first.weight[:, :10]
        return size


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("size", [0.0, 1e3, 1e5, 1e6])
def test_numpy_rounds_by_less_than_what_it_decides_by(
    activation: str, scale: float, size: float
) -> None:
    """Where sums of large numbers cancel, too: answers are those of `predict` all the same."""
    network, rng = network_of("maskable_ppo", activation, scale), np.random.default_rng(3)
    shown = rng.normal(scale=20.0, size=(5 * ROWS, len(FIELDS))).astype(np.float32)
    if size:
        shown *= np.float32(cancelling(network, activation, size) / 20.0)
        if activation == "tanh":
            shown[:, 10:] = shown[:, :10] * (1.0 + np.float32(1e-6) * shown[:, 10:])
    actor = actor_of(network)
    found = actor.logits(shown)
    with torch.inference_mode():
        latent = network.mlp_extractor.forward_actor(torch.as_tensor(shown))
        expected = network.action_net(latent).numpy()
    largest = float(np.abs(expected).max())
    assert np.abs(found - expected).max() < actor.rounding.apart(shown, largest) / 4.0
    options: dict[str, Any] = {"deterministic": True}
    options["action_masks"] = np.ones((len(shown), ACTIONS), dtype=np.bool_)
    best = actor.best_actions(shown, options["action_masks"])
    assert best is not None
    assert np.array_equal(best, network.predict(shown, **options)[0])


def test_squares_of_small_numbers_are_not_lost() -> None:
    """Weights as large as the fields are small, whose products cancel."""
    network, rng = network_of("ppo", "relu"), np.random.default_rng(7)
    first = network.mlp_extractor.policy_net[0]
    with torch.no_grad():
        for bias in (layer.bias for layer in (first, network.mlp_extractor.policy_net[2])):
            bias.zero_()
        first.weight *= 3e27
        first.weight[:, 10:] = -first.weight[:, :10]
    shown = rng.normal(scale=1e-24, size=(ROWS, len(FIELDS))).astype(np.float32)
    shown[:, 10:] = shown[:, :10] * (1.0 + np.float32(1e-6) * rng.normal(size=(ROWS, 10)))
    found = actor_of(network).best_actions(shown)
    assert found is not None
    assert np.array_equal(found, network.predict(shown, deterministic=True)[0])


def test_actions_that_are_nearly_as_good_are_told_apart_by_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of the actions differ by the last bits only, and are first in turn."""
    network, rng = network_of("ppo"), np.random.default_rng(4)
    with torch.no_grad():
        network.action_net.weight[1] = network.action_net.weight[2] * (1.0 + 2e-7)
        network.action_net.bias[1] = network.action_net.bias[2]
        network.action_net.bias[1:3] += 50.0
    shown = rng.normal(scale=5.0, size=(ROWS, len(FIELDS))).astype(np.float32)
    asked: list[int] = []
    by_torch = Actor._by_torch  # pyright: ignore[reportPrivateUsage]

    def noted(self: Actor, shown: Any, legal: Any) -> Any:
        asked.append(len(shown))
        return by_torch(self, shown, legal)

    monkeypatch.setattr(Actor, "_by_torch", noted)
    expected, _ = network.predict(shown, deterministic=True)
    assert set(expected.tolist()) == {1, 2}
    found = actor_of(network).best_actions(shown)
    assert found is not None
    assert np.array_equal(found, expected)
    assert asked == [ROWS]


def test_what_numpy_cannot_do_is_left_to_torch() -> None:
    """Other activations, and layers so large that it would call other threads for a few rows."""
    wide = build(
        Network(actor=(256, 256), critic=(8,), activation="tanh", quantiles=None, lstm=None),
        ARCHITECTURES["ppo"],
        FIELDS,
    )
    shown = np.random.default_rng(5).normal(size=(ROWS, len(FIELDS))).astype(np.float32)
    for network in (wide, network_of("ppo", "gelu")):
        assert actor_of(network).rows == 0
        expected, _ = network.predict(shown, deterministic=True)
        found = actor_of(network).best_actions(shown)
        assert found is not None
        assert np.array_equal(found, expected)


def test_logits_that_are_no_numbers_are_left_to_predict() -> None:
    network = network_of("ppo", "relu", 1e20)
    shown = np.full((1, len(FIELDS)), 1e20, dtype=np.float32)
    assert actor_of(network).best_actions(shown) is None
    with pytest.raises(ValueError, match="logits"):
        network.predict(shown, deterministic=True)


def test_only_actors_without_a_memory_are_asked_so() -> None:
    assert [name for name in ARCHITECTURES if Actor.of(network_of(name)) is not None] == [
        name for name in ARCHITECTURES if name in PLAIN
    ]
