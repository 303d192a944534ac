"""When the windows of an attempt are, at which decisions are made."""

from __future__ import annotations

import math
from typing import Any

from failgym.sim.shared.jit import kernel

__all__ = [
    "next_window",
    "rounded",
    "window_until",
]

_EVERY, _GEOMETRIC = 0, 1


@kernel
def rounded(x: float) -> int:
    """Round half up to whole milliseconds."""
    return math.floor(x + 0.5)


@kernel
def next_window(w: Any, k: int) -> int:
    """Index of the decision window after window k of an attempt."""
    p = w.parameters[0]
    if p.spacing == _EVERY:
        return k + p.every
    if p.spacing == _GEOMETRIC:
        return max(k + 1, math.ceil(p.factor * k))
    return k + 1


@kernel
def window_until(w: Any, run: Any, time: int) -> int:
    """Index of the last decision window of an attempt until a time, or, if later, of the next."""
    p = w.parameters[0]
    k, last = next_window(w, run.window), (time - run.start) // p.window
    if p.spacing == _GEOMETRIC:
        following = k
        while following <= last:
            k, following = following, next_window(w, following)
        return k
    step = p.every if p.spacing == _EVERY else 1
    return k + max(last - k, 0) // step * step
