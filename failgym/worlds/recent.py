"""What a process has at hand, worlds say: what was used last, as far as it takes little room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar, cast

__all__ = ["Recent", "bytes_of"]

_Thing = TypeVar("_Thing")


class Recent(Generic[_Thing]):
    """Things by what decides them, the last used last. Threads may share it.

    Args:
        size: bytes that a thing takes.
        most: how many there are.
        room: bytes that they take together; the last used stays, however large.
    """

    def __init__(self, size: Callable[[_Thing], int], most: int, room: int) -> None:
        self._size, self._most, self._room = size, most, room
        self._things: OrderedDict[Hashable, tuple[_Thing, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> _Thing | None:
        """The thing of a key; None if it is not at hand."""
        with self._lock:
            if key not in self._things:
                return None
            self._things.move_to_end(key)
            return self._things[key][0]

    def keep(self, key: Hashable, thing: _Thing) -> _Thing:
        """Have a thing at hand, in the place of others if need be; the thing itself."""
        with self._lock:
            self._things[key] = thing, self._size(thing)
            self._things.move_to_end(key)
            while len(self._things) > 1 and not self._fits:
                self._things.popitem(last=False)
        return thing

    def cache_clear(self) -> None:
        """Have none at hand."""
        with self._lock:
            self._things.clear()

    @property
    def _fits(self) -> bool:
        taken = sum(size for _, size in self._things.values())
        return len(self._things) <= self._most and taken <= self._room


def bytes_of(arrays: Any) -> int:
    """What named tuples of arrays take; anything else counts for nothing."""
    if isinstance(arrays, tuple):
        return sum(map(bytes_of, cast("tuple[Any, ...]", arrays)))
    return int(getattr(arrays, "nbytes", 0))
