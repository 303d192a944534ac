"""Training runs that take a moment: few decisions, small networks, small environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from failgym.agents.result import TrainingResult
from failgym.agents.training import train
from failgym.envs import Scenario, resolve
from tests.envs.worlds import small

CLONING = "failgym/Cloning-v0"
STEPS = 512
SHORT: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "maskable_ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "recurrent_ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "policy.lstm_hidden_size": 8},
    "a2c": {"n_steps": 16},
    "dqn": {"learning_starts": 100, "buffer_size": 500, "batch_size": 16},
    "qrdqn": {"learning_starts": 100, "buffer_size": 500, "batch_size": 16},
}
"""Hyper-parameters of short runs, by algorithm."""


def scenario(env: str = CLONING) -> Scenario:
    """A small scenario."""
    return resolve(env, small(env))


def short_run(out: Path, algo: str = "ppo", env: str = CLONING, **options: Any) -> TrainingResult:
    """Train for a moment."""
    given: dict[str, Any] = {
        "steps": STEPS,
        "n_envs": 8,
        "validate_every": 256,
        "checkpoint_every": 128,
        "episodes": 50,
        "hyper": {**SHORT[algo], "policy.net_arch": [8]},
        **options,
    }
    return train(scenario(env), algo, out=out, **given)


def weights(out: Path) -> dict[str, torch.Tensor]:
    """The weights of a run's last checkpoint."""
    return checkpoint(out)["model"]["policy"]


def checkpoint(out: Path) -> dict[str, Any]:
    """What a run's last checkpoint holds."""
    return torch.load(out / "checkpoint.pt", weights_only=True)  # noqa: TID251 - tensors, no code
