"""Running order statistics: the k-th smallest of the values so far, k growing with their number.

The k smallest are a heap with the largest on top, at the beginning of a stretch of an array; the
others a heap with the smallest on top (kept negated, so that both are the same), at its end. What
holds a heap is (values, place of its top, step from one to the next).
"""

from __future__ import annotations

from typing import Any

from failgym.sim.shared.heap import make_heap
from failgym.sim.shared.jit import called

__all__ = ["insert"]


@called
def _get(holder: Any, at: int) -> int:
    values, top, step = holder
    return values[top + step * at]


@called
def _put(holder: Any, at: int, value: int) -> None:
    values, top, step = holder
    values[top + step * at] = value


@called
def _larger(holder: Any, a: int, b: int) -> bool:
    return a > b


_HEAP = make_heap(_get, _put, _larger)
_rise, _sink = _HEAP.rise, _HEAP.sink


@called
def _pop(holder: Any, n: int) -> int:
    """Take the largest of a heap of n values."""
    largest = _get(holder, 0)
    _sink(holder, 0, n - 1, _get(holder, n - 1))
    return largest


@called
def insert(values: Any, begin: int, end: int, low: int, n: int, value: int, wanted: int) -> int:
    """Add a value; afterwards ``values[begin]`` is the wanted-th smallest.

    Args:
        values: int64; ``values[begin:end]`` is the room for all values that may come.
        low: values in the lower heap so far.
        n: values so far.
        wanted: rank wanted of the n + 1 values, at least 1; as large as ``low`` or larger by one.

    Returns:
        The values now in the lower heap: ``wanted``.
    """
    high, upper, lower = n - low, (values, end - 1, -1), (values, begin, 1)
    if low > 0 and value > values[begin]:
        _rise(upper, high, -value)
        high += 1
    else:
        _rise(lower, low, value)
        low += 1
    if low < wanted:
        value = -_pop(upper, high)
        _rise(lower, low, value)
        low += 1
    elif low > wanted:
        value = _pop(lower, low)
        _rise(upper, high, -value)
        low -= 1
    return low
