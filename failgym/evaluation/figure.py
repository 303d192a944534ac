"""`Figure`: a number that may not be defined, and then says why."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Figure"]


class Figure(NamedTuple):
    """A number, or NaN and the reason."""

    value: float
    reason: str | None = None
    """why it is not defined, in a few words; None if it is"""
