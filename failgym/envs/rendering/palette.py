"""Colours and letters of what pictures show, chosen to be told apart without colour vision.

The hues are those of Okabe and Ito, "Color universal design" (2008).
"""

from __future__ import annotations

from failgym.envs.rendering.timeline import Attempt, Kind, outcome_name

__all__ = [
    "ACCOUNT_COLOURS",
    "FATES",
    "LETTERS",
    "PHASE_COLOURS",
    "SHORT",
    "fate",
    "rgb",
]

FATES = {
    "running": "#56B4E9",
    "FINISH": "#009E73",
    "FAIL": "#D55E00",
    "EVICT": "#E69F00",
    "LOST": "#B07A00",
    "KILL": "#8A3FA0",
    "CANCELLED": "#8C8C8C",
    "CENSORED": "#C4C4C4",
}
"""Colour of an attempt by what became of it."""
PHASE_COLOURS = {"checkpoint": "#10355C", "restore": "#CC79A7", "transfer": "#F0E442"}
"""Colour of the time that an attempt does not work."""
ACCOUNT_COLOURS = {
    "in_flight": "#56B4E9",
    "useful": "#009E73",
    "lost": "#D55E00",
    "redundant": "#8C8C8C",
    "ghost": "#8A3FA0",
    "checkpoint": "#10355C",
    "restore": "#CC79A7",
    "transfer": "#F0E442",
}
"""Colour of an account of machine-time."""
LETTERS = {Kind.ATTEMPT: "", Kind.CLONE: "C", Kind.RETRY: "R", Kind.RECOMPUTATION: "M"}
"""Letter of an attempt by why it was started."""
SHORT = {
    "running": ">",
    "FINISH": "=",
    "FAIL": "x",
    "EVICT": "e",
    "LOST": "o",
    "KILL": "k",
    "CANCELLED": "~",
    "CENSORED": "?",
}
"""Character of an attempt by what became of it."""


def fate(attempt: Attempt) -> str:
    """What became of an attempt: a key of `FATES`."""
    return "running" if attempt.end is None else outcome_name(attempt.outcome)


def rgb(colour: str, paler: float = 0.0) -> tuple[int, int, int]:
    """A colour as red, green and blue, mixed with so much white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    red, green, blue = (round(part + (255 - part) * paler) for part in parts)
    return red, green, blue
