"""Checks of what a caller asks for, made before any work is done."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_count"]


def check_count(name: str, value: Any, least: int) -> None:
    """Raise ValueError, naming the argument, unless it is a whole number and not less than that."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name}: expected a whole number, at least {least}, got {value!r}")
