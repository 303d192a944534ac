"""The machine that figures of speed come from."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def cores() -> set[int]:
    """The cores that this process may use; nothing where the system does not say."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def pin(to: set[int]) -> None:
    """Run on these cores only, where the system can."""
    if to:
        os.sched_setaffinity(0, to)


def host() -> dict[str, str]:
    """Where the figures come from."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = ("failgym", "gymnasium", "numba", "numpy")
    return {
        "processor": names[0] if names else platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
