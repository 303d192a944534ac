"""Texts of a picture: each is drawn once, and pasted where it is due."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

__all__ = ["text_width", "write"]


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@lru_cache(maxsize=4096)
def _mask(text: str, size: int) -> Image.Image:
    """A text as a mask. The spaces of the font are too narrow at these sizes: they are doubled."""
    spaced = text.replace(" ", "  ")
    height = int(_font(size).getbbox("Ag", anchor="la")[3])
    width = int(_font(size).getlength(spaced)) + 1
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).text((0, 0), spaced, fill=255, font=_font(size), anchor="la")
    return mask


def text_width(text: str, size: int) -> int:
    """Width of a text [px]."""
    return _mask(text, size).width


def write(
    image: Image.Image, at: tuple[float, float], text: str, size: int, colour: str, side: str = "l"
) -> None:
    """Write a text on a picture.

    Args:
        image: what is written on.
        at: left end ("l"), middle ("m") or right end ("r") of the text, at half its height [px].
        text: what is written.
        size: of the letters [px].
        colour: of the letters.
        side: which of those ``at`` is.
    """
    mask = _mask(text, size)
    x = at[0] - {"l": 0.0, "m": mask.width / 2, "r": mask.width}[side]
    image.paste(colour, (round(x), round(at[1] - mask.height / 2)), mask)
