"""Environment variables of processes that work for this one."""

from __future__ import annotations

import os
from pathlib import Path

import failgym

__all__ = ["library_folder", "one_thread", "settings"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def one_thread() -> dict[str, str]:
    """An environment in which libraries compute on one thread, and find this failgym."""
    path = os.pathsep.join(filter(None, (library_folder(), os.environ.get("PYTHONPATH"))))
    return {**os.environ, **settings(), "PYTHONPATH": path}


def library_folder() -> str:
    """The folder that this failgym is imported from."""
    return str(Path(failgym.__file__).parents[1])


def settings() -> dict[str, str]:
    """Nothing is imported from the current folder (PYTHONSAFEPATH): a submission may lie there."""
    return {**dict.fromkeys(_THREADS, "1"), "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1"}
