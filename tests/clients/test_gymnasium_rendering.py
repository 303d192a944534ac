"""Gymnasium's wrappers that show or film an environment: they change nothing of what it returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import AutoresetMode

from tests.clients.installed import client
from tests.clients.transitions import batched, legal_actions, make, recorded, rows, stream, sync

client("PIL")
# Wrappers warn of a folder that is there, and that SAME_STEP has no last picture.
pytestmark = pytest.mark.filterwarnings("default")

ENV, STEPS, SEED = "failgym/Cloning-v0", 12, 3


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window without a screen."""
    client("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def drawn(count: int, mode: AutoresetMode) -> Any:
    """Legal actions [S, E]."""
    envs, choose, actions = sync(ENV, count, mode), legal_actions(SEED), []
    obs, _ = envs.reset(seed=SEED)
    for _ in range(STEPS):
        actions.append(choose(obs))
        obs = envs.step(actions[-1])[0]
    return np.stack(actions)


def played(env: gym.Env[Any, Any], actions: Any) -> dict[str, Any]:
    """What the environment returns beside observations that may be pictures."""
    env.reset(seed=SEED)
    found: list[tuple[Any, ...]] = []
    for action in actions:
        found.append((action, *env.step(int(action))[1:4]))
        if found[-1][2]:
            env.reset()
    names = ("action", "reward", "terminated", "truncated")
    return dict(zip(names, map(np.array, zip(*found, strict=True)), strict=True))


def filmed(env: Any, folder: Path) -> Any:
    client("moviepy")
    return wrappers.RecordVideo(env, str(folder), episode_trigger=lambda number: number == 0)


@pytest.mark.parametrize(
    "name", ["AddRenderObservation", "AddWhiteNoise", "ObstructView", "RecordVideo"]
)
def test_pictures_change_nothing(name: str, tmp_path: Path, compare: Any) -> None:
    wrap = {
        "AddRenderObservation": lambda env: wrappers.AddRenderObservation(env, render_only=True),
        "AddWhiteNoise": lambda env: wrappers.AddWhiteNoise(env, probability_of_noise_per_pixel=0.5),
        "ObstructView": lambda env: wrappers.ObstructView(env, obstructed_pixels_ratio=0.5),
        "RecordVideo": lambda env: filmed(env, tmp_path),
    }
    actions = drawn(1, AutoresetMode.SAME_STEP)[:, 0]
    env: Any = wrap[name](make(ENV, render_mode="rgb_array"))
    compare(played(env, actions), stream(ENV, actions, seed=SEED))
    assert env.render().shape == (576, 1024, 3)
    env.close()
    assert name != "RecordVideo" or list(tmp_path.glob("*.mp4"))


def test_pictures_are_collected() -> None:
    env: Any = wrappers.RenderCollection(make(ENV, render_mode="rgb_array"))
    env.reset(seed=SEED)
    env.step(0)
    first, second = env.render()
    assert not np.shares_memory(first, second)
    assert (first != second).any()


@pytest.mark.usefixtures("window")
def test_pictures_in_a_window(compare: Any) -> None:
    actions = drawn(1, AutoresetMode.SAME_STEP)[:, 0]
    env = wrappers.HumanRendering(make(ENV, render_mode="rgb_array"))
    compare(played(env, actions), stream(ENV, actions, seed=SEED))
    env.close()


@pytest.mark.usefixtures("window")
def test_many_episodes_in_a_window(compare: Any) -> None:
    mode = AutoresetMode.NEXT_STEP
    actions = drawn(2, mode)
    envs = wrappers.vector.HumanRendering(batched(ENV, 2, mode, render_mode="rgb_array"))
    compare(vars(recorded(envs, actions, SEED)), rows(ENV, actions, seed=SEED, mode=mode))
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_many_episodes_on_film(mode: AutoresetMode, tmp_path: Path, compare: Any) -> None:
    client("moviepy")
    actions = drawn(2, mode)
    envs = wrappers.vector.RecordVideo(
        batched(ENV, 2, mode, render_mode="rgb_array"), str(tmp_path), lambda number: number == 0
    )
    compare(vars(recorded(envs, actions, SEED)), rows(ENV, actions, seed=SEED, mode=mode))
    envs.close()
    assert list(tmp_path.glob("*.mp4"))
