"""Pictures of episodes, and files that show them."""

from __future__ import annotations

from failgym.envs.rendering.recorder import Recorder
from failgym.envs.rendering.renderer import FPS, MODES, Renderer
from failgym.envs.rendering.timeline import Timeline

__all__ = ["FPS", "MODES", "Recorder", "Renderer", "Timeline"]
