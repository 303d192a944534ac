"""`kernel`: how every kernel of the engine is compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["kernel"]

kernel: Any = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
