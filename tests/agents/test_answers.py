"""Actors answer as stable-baselines3's `predict` does, to the last tie, in less time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from failgym.agents.networks.answers import best_actions, has_plain_actor
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


@pytest.mark.parametrize("algorithm", PLAIN)
@pytest.mark.parametrize("activation", ["tanh", "gelu"])
@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
def test_the_best_actions_are_those_of_predict(
    algorithm: str, activation: str, scale: float
) -> None:
    """With no weights at all actions are tied; with large ones chances are 0 and 1."""
    network, rng = network_of(algorithm, activation, scale), np.random.default_rng(2)
    shown = rng.normal(scale=5.0, size=(ROWS, len(FIELDS))).astype(np.float32)
    options: dict[str, Any] = {"deterministic": True}
    legal = None
    if ARCHITECTURES[algorithm].masked:
        legal = rng.random((ROWS, ACTIONS)) < 0.5
        legal[:, 0] |= ~legal.any(axis=1)
        options["action_masks"] = legal
    expected, _ = network.predict(shown, **options)
    found = best_actions(network, shown, legal)
    assert found is not None
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    assert (len(set(expected.tolist())) > 2) == (scale > 0.0 or legal is not None)
    for few in (1, 7):
        mask = None if legal is None else legal[:few]
        for given in (mask, None if mask is None else mask.ravel()):
            found = best_actions(network, shown[:few], given)
            assert found is not None
            assert np.array_equal(found, expected[:few])


def test_logits_that_are_no_numbers_are_left_to_predict() -> None:
    network = network_of("ppo", "relu", 1e20)
    shown = np.full((1, len(FIELDS)), 1e20, dtype=np.float32)
    assert best_actions(network, shown) is None
    with pytest.raises(ValueError, match="logits"):
        network.predict(shown, deterministic=True)


def test_only_actors_without_a_memory_are_asked_so() -> None:
    assert [name for name in ARCHITECTURES if has_plain_actor(network_of(name))] == [
        name for name in ARCHITECTURES if name in PLAIN
    ]
