"""Running order statistics: the k-th smallest of the values so far, k growing with their number.

The k smallest are a heap with the largest on top, at the beginning of a stretch of an array; the
others a heap with the smallest on top (kept negated, so that both are the same), at its end.
"""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

from failgym.sim.jit import called

__all__ = ["insert"]


@called
def _push(values: Any, top: int, step: int, n: int, value: int) -> None:
    """Add to a heap of n values whose k-th lies at ``top + step * k``."""
    k = n
    while k > 0:
        parent = (k - 1) >> 1
        if values[top + step * parent] >= value:
            break
        values[top + step * k] = values[top + step * parent]
        k = parent
    values[top + step * k] = value


@called
def _pop(values: Any, top: int, step: int, n: int) -> int:
    """Take the largest of a heap of n values."""
    largest, last = values[top], values[top + step * (n - 1)]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= n - 1:
            break
        if child + 1 < n - 1 and values[top + step * (child + 1)] > values[top + step * child]:
            child += 1
        if values[top + step * child] <= last:
            break
        values[top + step * k] = values[top + step * child]
        k = child
    values[top + step * k] = last
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
    high, above = n - low, end - 1
    if low > 0 and value > values[begin]:
        _push(values, above, -1, high, -value)
        high += 1
    else:
        _push(values, begin, 1, low, value)
        low += 1
    if low < wanted:
        value = -_pop(values, above, -1, high)
        _push(values, begin, 1, low, value)
        low += 1
    elif low > wanted:
        value = _pop(values, begin, 1, low)
        _push(values, above, -1, high, -value)
        low -= 1
    return low
