"""The signs of decisions: drawn large once, with smooth edges, and pasted where they are due."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PIL import Image, ImageDraw

from failgym.envs.rendering.timeline import Mark
from failgym.vocabulary import Action, Decision

__all__ = ["SIGNS", "SIZE", "sign", "sign_of"]

SIZE = 9
"""Width and height of a sign [px]."""
_FINE = 8
"""A sign is drawn so many times larger."""
_SIDE = SIZE * _FINE
Box = tuple[float, float]


def _polygon(*points: Box) -> Callable[[ImageDraw.ImageDraw, str], None]:
    """A polygon, of points in shares of the sign."""
    corners = [(x * _SIDE, y * _SIDE) for x, y in points]
    return lambda draw, colour: draw.polygon(corners, fill=colour, outline="white", width=6)


def _cross(draw: ImageDraw.ImageDraw, colour: str) -> None:
    low, high = 0.14 * _SIDE, 0.86 * _SIDE
    for width, ink in ((26, "white"), (16, colour)):
        draw.line([(low, low), (high, high)], fill=ink, width=width)
        draw.line([(low, high), (high, low)], fill=ink, width=width)


def _ring(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.ellipse([4, 4, _SIDE - 4, _SIDE - 4], fill="white")
    draw.ellipse([8, 8, _SIDE - 8, _SIDE - 8], outline=colour, width=16)


def _dot(draw: ImageDraw.ImageDraw, colour: str) -> None:
    middle, radius = _SIDE / 2, 1.6 * _FINE
    draw.ellipse([middle - radius, middle - radius, middle + radius, middle + radius], fill=colour)


SIGNS: dict[str, tuple[str, Callable[[ImageDraw.ImageDraw, str], None]]] = {
    "continue": ("#6B6B6B", _dot),
    "clone": ("#111111", _polygon((0.5, 0.05), (0.95, 0.9), (0.05, 0.9))),
    "checkpoint": ("#10355C", _polygon((0.5, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.5))),
    "kill": ("#8A3FA0", _cross),
    "retry": ("#111111", _ring),
    "pass": ("#C0392B", _polygon((0.1, 0.05), (0.95, 0.5), (0.1, 0.95))),
}
"""Colour and shape of a sign by name."""


def sign_of(mark: Mark) -> str:
    """The name of the sign of a mark."""
    if mark.decision is Decision.DISPATCH:
        return "pass" if mark.action is Action.RETRY else "continue"
    return mark.action.name.lower()


@lru_cache(maxsize=len(SIGNS))
def sign(name: str) -> Image.Image:
    """A sign on a transparent ground, `SIZE` by `SIZE` pixels."""
    colour, shape = SIGNS[name]
    large = Image.new("RGBA", (_SIDE, _SIDE))
    shape(ImageDraw.Draw(large), colour)
    return large.resize((SIZE, SIZE), Image.Resampling.LANCZOS)
