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
from tests.clients.transitions import batched, drawn, make, recorded, rows, stream

client("PIL")
# Wrappers warn of a folder that is there, and that SAME_STEP has no last picture.
pytestmark = pytest.mark.filterwarnings("default")

ENV, STEPS, SEED = "failgym/Cloning-v1", 12, 3


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window without a screen."""
    client("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


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


def shown(name: str, env: Any, folder: Path) -> Any:
    """An environment in a wrapper that takes pictures."""
    match name:
        case "AddRenderObservation":
            return wrappers.AddRenderObservation(env, render_only=True)
        case "AddWhiteNoise":
            return wrappers.AddWhiteNoise(env, probability_of_noise_per_pixel=0.5)
        case "ObstructView":
            return wrappers.ObstructView(env, obstructed_pixels_ratio=0.5, obstruction_width=8)
        case _:
            client("moviepy")
            return wrappers.RecordVideo(env, str(folder), episode_trigger=first)


def first(number: int) -> bool:
    """The first episode is filmed."""
    return number == 0


@pytest.mark.parametrize(
    "name", ["AddRenderObservation", "AddWhiteNoise", "ObstructView", "RecordVideo"]
)
def test_pictures_change_nothing(name: str, tmp_path: Path, compare: Any) -> None:
    actions = drawn(ENV, 1, AutoresetMode.SAME_STEP, STEPS, SEED)[:, 0]
    env = shown(name, make(ENV, render_mode="rgb_array"), tmp_path)
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
    actions = drawn(ENV, 1, AutoresetMode.SAME_STEP, STEPS, SEED)[:, 0]
    env = wrappers.HumanRendering(make(ENV, render_mode="rgb_array"))
    compare(played(env, actions), stream(ENV, actions, seed=SEED))
    env.close()


@pytest.mark.usefixtures("window")
def test_many_episodes_in_a_window(compare: Any) -> None:
    client("cv2")
    mode = AutoresetMode.NEXT_STEP
    actions = drawn(ENV, 2, mode, STEPS, SEED)
    envs = wrappers.vector.HumanRendering(batched(ENV, 2, mode, render_mode="rgb_array"))
    compare(vars(recorded(envs, actions, SEED)), rows(ENV, actions, seed=SEED, mode=mode))
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_many_episodes_on_film(mode: AutoresetMode, tmp_path: Path, compare: Any) -> None:
    client("moviepy")
    actions = drawn(ENV, 2, mode, STEPS, SEED)
    envs = wrappers.vector.RecordVideo(
        batched(ENV, 2, mode, render_mode="rgb_array"), str(tmp_path), episode_trigger=first
    )
    compare(vars(recorded(envs, actions, SEED)), rows(ENV, actions, seed=SEED, mode=mode))
    envs.close()
    assert list(tmp_path.glob("*.mp4"))
