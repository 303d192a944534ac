"""rl_zoo3: its trainer, from its command line's arguments; the buffer of what it trained."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clients.installed import client
from tests.clients.transitions import IDS, small_fields, stream

manager = client("rl_zoo3.exp_manager")
train = client("rl_zoo3.train")

pytestmark = pytest.mark.filterwarnings("default")

CLIENT = "rl-zoo3"
STEPS, COUNT, SEED = 64, 3, 6


def settings(folder: Path, env_id: str) -> str:
    """A file of hyper-parameters."""
    path = folder / "ppo.yml"
    path.write_text(
        f"{env_id}:\n  policy: MlpPolicy\n  n_envs: {COUNT}\n  n_steps: {STEPS}\n"
        f"  batch_size: {STEPS}\n  n_epochs: 1\n  n_timesteps: {STEPS * COUNT}\n"
        "  policy_kwargs: dict(net_arch=[8])\n"
    )
    return str(path)


@pytest.mark.parametrize("env_id", IDS)
def test_trained_by_its_manager(env_id: str, tmp_path: Path, compare: Any) -> None:
    experiment = manager.ExperimentManager(
        argparse.Namespace(),
        "ppo",
        env_id,
        str(tmp_path),
        env_kwargs=small_fields(env_id),
        config=settings(tmp_path, env_id),
        eval_freq=-1,
        log_interval=1,
        seed=SEED,
        verbose=0,
    )
    model: Any = experiment.setup_experiment()[0]
    experiment.learn(model)
    experiment.save_trained_model(model)
    assert list(tmp_path.glob("ppo/*/*.zip"))
    kept, shape = model.rollout_buffer, (COUNT, STEPS)
    for i in range(COUNT):
        actions = kept.actions.reshape(*shape)[i].astype(np.int64)
        expected = stream(env_id, actions, seed=SEED + i)
        stored = {
            "obs": kept.observations.reshape(*shape, -1)[i],
            "action": actions,
            "reward": kept.rewards.T[i],
        }
        compare(stored, expected)
        starts = kept.episode_starts.T[i] == 1.0
        assert np.array_equal(starts, np.concatenate([[True], expected.terminated[:-1]]))


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["train", "--algo", "ppo", "--env", IDS[0], "--gym-packages", "failgym"]
    arguments += ["--env-kwargs", "jobs:200", "slice_tasks:3", "--eval-freq", "-1"]
    arguments += ["-conf", settings(tmp_path, IDS[0]), "-f", str(tmp_path), "--verbose", "0"]
    monkeypatch.setattr("sys.argv", arguments)
    train.train()
    assert list(tmp_path.glob("ppo/*/*.zip"))
