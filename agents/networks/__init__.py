"""Networks of stable-baselines3 and sb3-contrib, described by their sizes."""

from __future__ import annotations
