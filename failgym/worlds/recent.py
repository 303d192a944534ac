"""The worlds that a process has at hand: the last used ones, as far as they take little room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, cast

from failgym.worlds.world import World

__all__ = ["MOST", "ROOM", "Recent"]

MOST = 16
"""Worlds that are at hand."""
ROOM = 250_000_000
"""Bytes that they take together, unless one alone takes more: two worlds of a record of 400,000
tasks. Another is read from disk again (`failgym.world_cache`)."""


class Recent:
    """Worlds by what decides them, the last used last. Threads may share it.

    Args:
        most: how many there are.
        room: bytes that they take together; the last used stays, however large.
    """

    def __init__(self, most: int = MOST, room: int = ROOM) -> None:
        self._most, self._room = most, room
        self._worlds: OrderedDict[Hashable, tuple[World, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> World | None:
        """The world of a key; None if it is not at hand."""
        with self._lock:
            if key not in self._worlds:
                return None
            self._worlds.move_to_end(key)
            return self._worlds[key][0]

    def keep(self, key: Hashable, world: World) -> World:
        """Have a world at hand, in the place of others if need be; the world itself."""
        with self._lock:
            self._worlds[key] = world, _bytes(getattr(world, "tables", ()))
            self._worlds.move_to_end(key)
            while len(self._worlds) > 1 and not self._fits:
                self._worlds.popitem(last=False)
        return world

    def cache_clear(self) -> None:
        """Have none at hand."""
        with self._lock:
            self._worlds.clear()

    @property
    def _fits(self) -> bool:
        taken = sum(size for _, size in self._worlds.values())
        return len(self._worlds) <= self._most and taken <= self._room


def _bytes(arrays: Any) -> int:
    """What named tuples of arrays take; anything else counts for nothing."""
    if isinstance(arrays, tuple):
        return sum(map(_bytes, cast("tuple[Any, ...]", arrays)))
    return int(getattr(arrays, "nbytes", 0))
