"""What every environment shows, compared with pictures and texts that somebody has looked at.

Where they differ on purpose, write them again, and look at them before they are committed:

    python -m tests.envs.test_render_golden
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.envs.worlds import IDS, legal, make

FOLDER = Path(__file__).parents[1] / "golden" / "rendering"
STEPS = {"failgym/Checkpoint-v1": 60, "failgym/Mitigation-v1": 60}
"""Decisions before it is looked at, where a dozen show little."""
USUAL_STEPS = 12
TASKS = {"failgym/Cloning-v1": 16, "failgym/GracePeriod-v1": 16, "failgym/Mitigation-v1": 48}
"""Of a slice, where the episode of a small environment would be over too soon."""
SEED = 6
"""Of an episode in which something happens."""
BLOCK = 8
"""Pictures are compared by the means of squares of so many pixels: letters may be drawn by another
version of a library."""
LARGEST_DIFFERENCE = 48.0
"""Of a square, of 255: less than the wrong colour on a quarter of it."""
LARGEST_MEAN = 0.5
"""Of all of them."""


def shown(env_id: str, mode: str) -> Any:
    """What an environment shows after some random decisions, or at its end if that is sooner."""
    more = {"slice_tasks": TASKS[env_id]} if env_id in TASKS else {}
    env, rng = make(env_id, render_mode=mode, **more), np.random.default_rng(SEED)
    _, info = env.reset(seed=SEED)
    for _ in range(STEPS.get(env_id, USUAL_STEPS)):
        _, _, ended, _, info = env.step(int(legal(info["action_mask"], rng)[0]))
        if ended:
            break
    return env.render()


def path_of(env_id: str, kind: str) -> Path:
    return FOLDER / f"{env_id.removeprefix('failgym/')}.{kind}"


def looked_at(env_id: str, kind: str) -> Path:
    """The file of what somebody has looked at, which must be there."""
    path = path_of(env_id, kind)
    assert path.is_file(), f"{path.name} is missing: python -m {__name__} draws it; look at it"
    return path


def blocks(picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """The means of squares."""
    height, width, colours = picture.shape
    squares = picture.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, colours)
    return squares.mean(axis=(1, 3))


def alike(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> bool:
    """Would somebody say that two pictures show the same?"""
    apart = np.abs(blocks(one) - blocks(other))
    return bool(apart.max() <= LARGEST_DIFFERENCE and apart.mean() <= LARGEST_MEAN)


@pytest.mark.parametrize("env_id", IDS)
def test_a_picture_is_the_one_that_was_looked_at(env_id: str) -> None:
    image = pytest.importorskip("PIL.Image")
    golden = np.array(image.open(looked_at(env_id, "png")).convert("RGB"))
    assert alike(shown(env_id, "rgb_array"), golden), f"if on purpose: {__doc__}"


@pytest.mark.parametrize("env_id", IDS)
def test_a_text_is_the_one_that_was_looked_at(env_id: str) -> None:
    golden = looked_at(env_id, "txt").read_text("utf-8")
    assert shown(env_id, "ansi") == golden, f"if on purpose: {__doc__}"


def test_what_differs_is_noticed() -> None:
    """One bar in another colour, one mark elsewhere."""
    image = pytest.importorskip("PIL.Image")
    golden = np.array(image.open(path_of(IDS[0], "png")).convert("RGB"))
    assert alike(golden, golden)
    recoloured = golden.copy()
    recoloured[44:54, 200:260] = (213, 94, 0)
    assert not alike(golden, recoloured)
    assert not alike(golden, np.roll(golden, 12, axis=1))


def write() -> None:
    """Write what is shown now."""
    from PIL import Image

    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in IDS:
        path_of(env_id, "txt").write_text(shown(env_id, "ansi"), "utf-8")
        picture = Image.fromarray(shown(env_id, "rgb_array"))
        few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path_of(env_id, "png"), optimize=True)


if __name__ == "__main__":
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    write()
