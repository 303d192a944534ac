"""Checks of what a caller asks for, made before any work is done."""

from __future__ import annotations

import reprlib
from typing import cast

import numpy as np

__all__ = ["MOST_SEED", "MOST_THREADS", "check_count", "check_threads", "shown"]

MOST_THREADS = 1_024
"""Of more a process may be refused, and none is faster."""
MOST_SEED = 2**32 - 1
"""The largest that numpy's older generators take, which stable-baselines3 seeds."""


def check_count(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number in these bounds, Python's or numpy's, as Python's.

    Raises ValueError, naming the argument, for anything else.
    """
    number = _whole(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}: expected a whole number, {bounds}, got {shown(value)}")
    return number


def _whole(value: object) -> int | None:
    """A whole number, Python's or numpy's; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return None
    return int(cast(int, value))


def check_threads(threads: object) -> int:
    """A number of threads, 0 for as many as there are processors. Raises ValueError."""
    return check_count("threads", threads, 0, MOST_THREADS)


def shown(value: object) -> str:
    """A value in an error, shortened."""
    try:
        return reprlib.repr(value)
    except ValueError:  # a number of thousands of digits
        return f"one of type {type(value).__name__}, too long to show"
