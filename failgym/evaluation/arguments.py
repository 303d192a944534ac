"""Checks of what a caller asks for, made before any work is done."""

from __future__ import annotations

import reprlib
from typing import cast

import numpy as np

__all__ = ["MOST_SEED", "MOST_THREADS", "check_count", "check_threads"]

MOST_THREADS = 1_024
"""Of more a process may be refused, and none is faster."""
MOST_SEED = 2**32 - 1
"""The largest that numpy's older generators take, which stable-baselines3 seeds."""


def check_count(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise ValueError, naming the argument, unless it is a whole number and in these bounds."""
    shown = reprlib.repr(value)
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    number = int(cast(int, value)) if whole else least - 1
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}: expected a whole number, {bounds}, got {shown}")


def check_threads(threads: object) -> None:
    """Raise ValueError unless it is a number of threads, 0 for as many as there are processors."""
    check_count("threads", threads, 0, MOST_THREADS)
