"""Small versions of every registered environment, and random legal play."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import failgym

IDS = [f"failgym/{name}" for name in failgym.ENVIRONMENTS]
SMALL: dict[str, Any] = {"jobs": 600, "slice_tasks": 4}
"""Fields that make every environment small enough for a test."""


def make(env_id: str, **fields: Any) -> gym.Env[Any, Any]:
    """A small environment."""
    return gym.make(env_id, **{**SMALL, **fields})


def legal(mask: Any, rng: np.random.Generator) -> Any:
    """A legal action, CONTINUE or not being equally likely."""
    mask = np.atleast_2d(mask)
    weight = rng.random(mask.shape) * mask
    weight[:, 0] *= 2.0
    return weight.argmax(axis=1)


def play(env: gym.Env[Any, Any], seed: int, steps: int) -> list[tuple[Any, ...]]:
    """A trajectory under a random legal policy: (observation, reward, terminated, mask, task)."""
    rng = np.random.default_rng(seed)
    obs, info = env.reset(seed=seed)
    seen = [(obs.tobytes(), 0.0, False, info["action_mask"].tobytes(), info["task"])]
    for _ in range(steps):
        obs, reward, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        seen.append(
            (obs.tobytes(), float(reward), ended, info["action_mask"].tobytes(), info["task"])
        )
        if ended:
            obs, info = env.reset()
            seen.append((obs.tobytes(), 0.0, False, info["action_mask"].tobytes(), info["task"]))
    return seen
