"""Is there all that a film needs?"""

from __future__ import annotations

import importlib.util

__all__ = ["check_film"]


def check_film() -> None:
    """Refuse to begin a film that could not be written. Raises ValueError."""
    for name in ("PIL", "imageio_ffmpeg"):
        if importlib.util.find_spec(name) is None:
            raise ValueError(f"a film needs {name}: pip install 'failgym[render]'")
    import imageio_ffmpeg

    try:
        imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise ValueError(f"a film needs ffmpeg: {error}") from error
