"""Places side by side for what overlaps in time: each takes the lowest that is free."""

from __future__ import annotations

from collections import defaultdict

__all__ = ["Lanes"]

Row = tuple[str, int]
"""A row of a picture: ("task", trace row) or ("machine", index)."""


class Lanes:
    """The lanes of rows that are taken just now."""

    def __init__(self) -> None:
        self._taken: defaultdict[Row, set[int]] = defaultdict(set)

    def take(self, row: Row) -> int:
        """The lowest free lane of a row, which is taken from now on."""
        taken, lane = self._taken[row], 0
        while lane in taken:
            lane += 1
        taken.add(lane)
        return lane

    def keep(self, row: Row, lane: int) -> None:
        """Take a lane again that was given back just now."""
        self._taken[row].add(lane)

    def give(self, row: Row, lane: int) -> None:
        """Give a lane back."""
        self._taken[row].discard(lane)
