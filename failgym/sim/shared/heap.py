"""A binary heap over whatever holds its entries, compiled for each kind of holder.

A holder says what lies at a place and what comes first:

- ``get(holder, at)``: the entry at a place, a number or a tuple;
- ``put(holder, at, entry)``: write it there, and whatever keeps track of its place;
- ``before(holder, a, b)``: does entry a come before entry b?

How many entries there are is the caller's to count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from failgym.sim.shared.jit import called

__all__ = ["Heap", "make_heap"]


class Heap(NamedTuple):
    """What can be done with a heap: kernels, to be given names where they are used."""

    rise: Any
    """``rise(holder, at, entry)``: an entry takes a place, or one above it"""
    sink: Any
    """``sink(holder, at, n, entry)``: an entry takes a place, or one of n below it"""
    sort: Any
    """``sort(holder, n)``: put n entries in order, those that come first last"""


def make_heap(get: Callable[..., Any], put: Callable[..., Any], before: Callable[..., Any]) -> Heap:
    """The heap of a kind of holder."""

    @called
    def rise(holder: Any, at: int, entry: Any) -> None:
        while at > 0:
            above = get(holder, (at - 1) >> 1)
            if not before(holder, entry, above):
                break
            put(holder, at, above)
            at = (at - 1) >> 1
        put(holder, at, entry)

    @called
    def sink(holder: Any, at: int, n: int, entry: Any) -> None:
        while True:
            child = 2 * at + 1
            if child >= n:
                break
            below = get(holder, child)
            if child + 1 < n:
                right = get(holder, child + 1)
                if before(holder, right, below):
                    child, below = child + 1, right
            if not before(holder, below, entry):
                break
            put(holder, at, below)
            at = child
        put(holder, at, entry)

    @called
    def sort(holder: Any, n: int) -> None:
        for at in range(n // 2 - 1, -1, -1):
            sink(holder, at, n, get(holder, at))
        for last in range(n - 1, 0, -1):
            first, entry = get(holder, 0), get(holder, last)
            put(holder, last, first)
            sink(holder, 0, last, entry)

    return Heap(rise, sink, sort)
