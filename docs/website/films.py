"""Draw a picture and a film of every environment, played by its best published rule.

    python -m docs.website.films [ID ...]

They are written to ``docs/pictures/``, and need ``failgym[render]``. Look at them before they are
committed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

import failgym
from docs.website.measured import best_rule
from failgym.baselines import REGISTRY
from failgym.envs.rendering.video import film
from failgym.files import replacing

__all__ = ["PICTURES", "draw"]

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
FRAMES = 90
"""Pictures of a film, of as many moments, evenly over the decisions of an episode."""
FRAMES_PER_SECOND = 9
STILL = 0.6
"""The share of the film after which the picture is taken that stands on the page."""
EPISODES = 6
"""Episodes of which the one is shown in which the rule acts most."""
SMALLER: dict[str, dict[str, Any]] = {
    "pinned": {"jobs": 3_000, "slice_tasks": 16},
    "scheduled": {},
}
"""Fields that are changed, by world: a few tasks can be told apart in a picture."""

Frame = npt.NDArray[np.uint8]


def draw(name: str) -> None:
    """Write the picture and the film of an environment.

    Args:
        name: the environment, without ``failgym/``.
    """
    scenario = failgym.envs.resolve(name)
    changed: dict[str, Any] = SMALLER[scenario.world]
    if scenario.slice_tasks > 64:
        changed = changed | {"slice_tasks": 48}
    policy = REGISTRY[best_rule(name)]()
    env: gym.Env[Any, Any] = gym.make(f"failgym/{name}", render_mode="rgb_array", **changed)
    seed = max(range(EPISODES), key=lambda seed: _acted(env, policy, seed))
    decisions = _played(env, policy, seed, frozenset())[0]
    shown = frozenset(np.linspace(1, decisions, FRAMES).astype(int).tolist())
    frames = _played(env, policy, seed, shown)[2]
    env.close()
    _write(name, frames)


def _acted(env: gym.Env[Any, Any], policy: Any, seed: int) -> int:
    return _played(env, policy, seed, frozenset())[1]


def _played(
    env: gym.Env[Any, Any], policy: Any, seed: int, shown: frozenset[int]
) -> tuple[int, int, list[Frame]]:
    """Play an episode; decisions, actions other than CONTINUE, and pictures of some decisions."""
    observation, info = env.reset(seed=seed)
    decisions, acted, ended = 0, 0, False
    frames: list[Frame] = []
    while not ended:
        action, _ = policy.predict(observation, action_masks=info["action_mask"])
        observation, _, ended, _, info = env.step(int(action))
        decisions, acted = decisions + 1, acted + int(action != 0)
        if decisions in shown:
            frames.append(env.render())  # pyright: ignore[reportArgumentType]
    return decisions, acted, frames


def _write(name: str, frames: list[Frame]) -> None:
    from PIL import Image

    PICTURES.mkdir(parents=True, exist_ok=True)
    with replacing(PICTURES / f"{name}.mp4") as partial, film(partial, FRAMES_PER_SECOND) as made:
        for frame in frames:
            made.add(frame)
        for _ in range(FRAMES_PER_SECOND):
            made.add(frames[-1])
    picture = Image.fromarray(frames[int(STILL * (len(frames) - 1))])
    few = picture.quantize(64, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    with replacing(PICTURES / f"{name}.png") as partial:
        few.save(partial, format="PNG", optimize=True)


def main() -> None:
    """Draw the environments that are named; all by default."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    for name in sys.argv[1:] or failgym.ENVIRONMENTS:
        draw(name.removeprefix("failgym/"))
        print(f"{name}: drawn", flush=True)


if __name__ == "__main__":
    main()
