"""Training runs that take a moment: few decisions, small networks, small environments."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from failgym.agents.training.result import TrainingResult
from failgym.agents.training.train import train
from failgym.agents.training.training_settings import TrainingSettings
from failgym.envs import Scenario, resolve
from tests.envs.worlds import small

CLONING = "failgym/Cloning-v1"
STEPS = 512
SHORT: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "maskable_ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "warm_start": None},
    "recurrent_ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "policy.lstm_hidden_size": 8},
    "a2c": {"n_steps": 16},
    "dqn": {"learning_starts": 100, "buffer_size": 500, "batch_size": 16},
    "qrdqn": {"learning_starts": 100, "buffer_size": 500, "batch_size": 16},
}
"""Hyper-parameters of short runs, by algorithm."""
MORE = {"resume", "command", "progress", "asked_for"}
"""What `train` is told besides its settings."""
TIMES = {"seconds", "validation_seconds", "warm_start_seconds", "steps_per_second", "t"}
"""What differs between two equal runs."""


FAILING = "google-2011-failing"
"""A trace with enough that fails in few jobs, where Cloning-v1's own has a task or two."""


def scenario(env: str = CLONING) -> Scenario:
    """A small scenario."""
    return resolve(env, {**small(env), **({"trace": FAILING} if env == CLONING else {})})


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
    more = {name: given.pop(name) for name in MORE & given.keys()}
    return train(scenario(env), out, TrainingSettings(algo, **given), **more)


@cache
def an_agent(env: str) -> Path:
    """The file of an agent that learned for a moment in a small environment; one a process."""
    folder = Path(tempfile.mkdtemp(prefix="failgym-agent-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / env / "maskable_ppo-0.safetensors"
    file.parent.mkdir()
    shutil.copyfile(short_run(folder / "run", "maskable_ppo", f"failgym/{env}").policy, file)
    return file


def weights(out: Path) -> dict[str, torch.Tensor]:
    """The weights of a run's last checkpoint."""
    return checkpoint(out)["model"]["policy"]


def checkpoint(out: Path) -> dict[str, Any]:
    """What a run's last checkpoint holds."""
    return torch.load(out / "checkpoint.pt", weights_only=True)  # noqa: TID251 - tensors, no code


class Crash(Exception):
    """Nothing that training knows of."""


def crash_after(steps: int) -> Any:
    """A report of progress that raises once so many decisions are made."""
    made = 0

    def advance(done: int) -> None:
        nonlocal made
        made += done
        if made >= steps:
            raise Crash

    return advance


def assert_same_state(one: Any, other: Any, where: str = "") -> None:
    """Tensors, numbers and texts are equal, bit for bit."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one.keys() - TIMES:
            assert_same_state(one[name], other[name], f"{where}.{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same_state(a, b, f"{where}.{i}")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    else:
        assert one == other, where


def assert_resumes(folder: Path, run: Callable[..., TrainingResult]) -> None:
    """A run that is interrupted twice ends as one that is not."""
    whole = run(folder / "whole")
    with pytest.raises(Crash):
        run(folder / "parts", progress=crash_after(STEPS // 3))
    with pytest.raises(Crash):
        run(folder / "parts", resume=True, progress=crash_after(2 * STEPS // 3))
    resumed = run(folder / "parts", resume=True)
    assert resumed.validations == whole.validations
    assert_same_state(checkpoint(folder / "whole"), checkpoint(folder / "parts"))
