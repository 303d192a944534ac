"""`Renderer`: what `MitigationEnv.render` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.status import status_of
from failgym.envs.rendering.text import MOST_ROWS, write
from failgym.envs.rendering.view import View, view_of
from failgym.worlds.scenario import Scenario
from failgym.worlds.world import World

__all__ = ["FPS", "MODES", "Frame", "Renderer", "picture_of", "text_of"]

MODES = ["ansi", "human", "rgb_array"]
"""What `render_mode` may be, beside None."""
FPS = 15
"""Decisions that a film shows in a second."""
Frame = npt.NDArray[np.uint8] | str | None


class Renderer:
    """Renders the running episode of an environment.

    It notes the actions, and plays the episode once more, with a log, when it is asked to render.

    Args:
        mode: one of `MODES`.
        world: of the environment.
        scenario: of the environment.

    Raises:
        ValueError: for another mode.
    """

    def __init__(self, mode: str, world: World, scenario: Scenario) -> None:
        if mode not in MODES:
            raise ValueError(f"render_mode: expected {', '.join(MODES)} or None, got {mode!r}")
        self.mode, self._world, self._scenario = mode, world, scenario
        self._slice = -1
        self._actions: list[int] = []
        self._recorder: Recorder | None = None
        self._played = -1
        self._window: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """All but what `render` can make again."""
        return {**self.__dict__, "_recorder": None, "_played": -1, "_window": None}

    def begin(self, chosen: int) -> None:
        """An episode begins on a slice."""
        self._slice, self._played = chosen, -1
        self._actions.clear()

    def answered(self, action: int) -> None:
        """The open decision has been answered."""
        self._actions.append(action)

    def render(self) -> Frame:
        """Show the episode up to now: an array, a text, or a window.

        Raises:
            RuntimeError: before the first reset.
            DependencyNotInstalled: if a library is missing.
        """
        if self._slice < 0:
            raise RuntimeError("render: expected a running episode; call reset first")
        recorder = self._caught_up()
        if self.mode == "ansi":
            return text_of(recorder, self._title)
        try:
            picture = picture_of(recorder, self._title)
            if self.mode == "rgb_array":
                return picture
            self._show(picture)
        except ModuleNotFoundError as error:
            raise DependencyNotInstalled(
                f"render_mode {self.mode!r} needs {error.name}: pip install 'failgym[render]'"
            ) from error
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _caught_up(self) -> Recorder:
        """The recorder, at the same decision as the environment."""
        if self._recorder is None:
            self._recorder = Recorder(self._world, self._scenario, self._scenario.order)
        if self._played < 0:
            self._recorder.begin(self._slice)
            self._played = 0
        self._recorder.play(self._actions[self._played :])
        self._played = len(self._actions)
        return self._recorder

    @property
    def _title(self) -> str:
        return f"{self._scenario.name or 'failgym'}, slice {self._slice}"

    def _show(self, picture: npt.NDArray[np.uint8]) -> None:
        from failgym.envs.rendering.window import Window

        if self._window is None:
            self._window = Window(FPS)
        self._window.show(picture)


def picture_of(recorder: Recorder, title: str) -> npt.NDArray[np.uint8]:
    """The picture of a run up to now, uint8 [height, width, 3].

    Raises:
        ModuleNotFoundError: without Pillow.
    """
    from failgym.envs.rendering.picture import draw, most_rows

    return draw(_view(recorder, most_rows()), status_of(recorder, title))


def text_of(recorder: Recorder, title: str) -> str:
    """The same as text, with the colours of terminals."""
    return write(_view(recorder, MOST_ROWS), status_of(recorder, title))


def _view(recorder: Recorder, most_rows: int) -> View:
    scene, timeline = recorder.scene, recorder.timeline
    one_by_one, machines = scene.one_by_one, scene.machines
    return view_of(timeline, relative=one_by_one, machines=machines, most_rows=most_rows)
