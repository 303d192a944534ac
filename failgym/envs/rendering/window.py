"""The window of `render_mode` "human"."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Window"]


class Window:
    """Shows pictures as they come, at a steady pace, until it is closed.

    Args:
        fps: pictures a second at most.
    """

    def __init__(self, fps: int) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import pygame

        self._pygame: Any = pygame
        self._fps = fps
        self._screen: Any = None
        self._clock = pygame.time.Clock()

    def show(self, picture: npt.NDArray[np.uint8]) -> None:
        """Show a picture, uint8 [height, width, 3], and wait until the next one is due."""
        pygame = self._pygame
        height, width = picture.shape[:2]
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption("failgym")
            self._screen = pygame.display.set_mode((width, height))
        surface = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
        self._screen.blit(surface, (0, 0))
        pygame.event.pump()
        self._clock.tick(self._fps)
        pygame.display.flip()

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
