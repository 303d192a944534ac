"""How kernels are compiled: `entry` for those that Python calls, `kernel` for those that kernels call.

No reference counts, no exceptions and no allocation inside: a step is arithmetic on arrays that exist.
"""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["entry", "kernel"]

entry: Any = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
"""Compiled with a way in from Python; releases the lock."""
kernel: Any = njit(
    cache=True,
    error_model="numpy",
    _nrt=False,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)
"""Compiled to be called by other kernels only; the plain function is its ``py_func``."""
