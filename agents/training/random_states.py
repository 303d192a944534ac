"""States of the random generators that training draws from, kept and put back.

stable-baselines3 draws from the global generators of Python, NumPy and torch, and from that of the
action space.
"""

# ruff: noqa: NPY002 - it is NumPy's global generator whose state is kept

# stable-baselines3 and torch annotate some of their arguments without what they hold.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import random
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
import torch

__all__ = ["apart", "random_states", "set_random_states"]

KINDS = ("python", "numpy", "torch", "actions")


def random_states(actions: gym.Space[Any]) -> dict[str, Any]:
    """The states of all generators, as tensors and texts."""
    kind, keys, *rest = np.random.get_state()
    return {
        "python": json.dumps(random.getstate()),
        "numpy": {"keys": torch.from_numpy(np.array(keys)), "rest": json.dumps([kind, *rest])},
        "torch": torch.get_rng_state(),
        "actions": json.dumps(actions.np_random.bit_generator.state),
    }


def set_random_states(states: dict[str, Any], actions: gym.Space[Any]) -> None:
    """Put back what `random_states` returned. Raises ValueError, KeyError or TypeError if it is not
    such.
    """
    version, internal, gauss = json.loads(states["python"])
    random.setstate((version, tuple(internal), gauss))
    kind, *rest = json.loads(states["numpy"]["rest"])
    np.random.set_state((kind, states["numpy"]["keys"].numpy(), *rest))
    torch.set_rng_state(states["torch"])
    actions.np_random.bit_generator.state = json.loads(states["actions"])


@contextmanager
def apart(seed: int, actions: gym.Space[Any]) -> Generator[None]:
    """Draw from generators of this seed while the block runs; the others stay as they are."""
    kept = random_states(actions)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    actions.seed(seed)
    try:
        yield
    finally:
        set_random_states(kept, actions)
