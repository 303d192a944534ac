"""Films: pictures of a run, encoded as they come."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.envs.rendering.picture import HEIGHT, WIDTH

__all__ = ["Film", "film"]

QUALITY = 7
"""Of the encoder, 0 to 10: flat colours and small letters need more than its usual 5."""


class Film:
    """A film that is being written."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.frames = 0

    def add(self, picture: npt.NDArray[np.uint8]) -> None:
        """Add a picture, uint8 [HEIGHT, WIDTH, 3]."""
        self._encoder.send(np.ascontiguousarray(picture))
        self.frames += 1


@contextmanager
def film(path: Path, fps: int) -> Generator[Film]:
    """Write a film (H.264 in MP4) to a file, of so many pictures a second.

    Raises:
        ModuleNotFoundError: without imageio-ffmpeg.
        OSError: if the encoder fails.
    """
    import imageio_ffmpeg

    library: Any = imageio_ffmpeg
    mp4 = ["-f", "mp4"]  # whatever the name is
    encoder = library.write_frames(
        str(path), (WIDTH, HEIGHT), fps=fps, quality=QUALITY, output_params=mp4
    )
    encoder.send(None)
    try:
        yield Film(encoder)
    finally:
        encoder.close()
