"""Limits of a policy's process and all that it starts, and its environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from failgym.evaluation.arguments import check_count
from failgym.workers.environment import library_folder, one_thread, settings

__all__ = [
    "MEMORY_LIMIT",
    "PROCESS_LIMIT",
    "TIME_LIMIT",
    "USUAL",
    "Confinement",
    "check_time_limit",
]

MEMORY_LIMIT = 4096
"""[MiB]"""
PROCESS_LIMIT = 256
TIME_LIMIT = 600.0
"""For all answers of a policy in a cell [s]."""
_LEAST_MEMORY, _MOST_MEMORY = 16, 1 << 24
"""Range of ``--memory-limit`` [MiB]."""
_MOST_PROCESSES = 1 << 20


def check_time_limit(seconds: float) -> None:
    """Raises ValueError for what is no time [s]."""
    if not 0.0 < seconds < 1e9:
        raise ValueError(f"--time-limit: expected more than 0 s, got {seconds:g}")


@dataclass(frozen=True)
class Confinement:
    """Limits of a policy's process and all that it starts, and what it is told of its surroundings.

    Raises:
        ValueError: by the name of the option, for a limit that means nothing.
    """

    memory: int = MEMORY_LIMIT
    """of all processes together [MiB]"""
    processes: int = PROCESS_LIMIT
    """at once, with their threads and those of the command that starts the policy"""
    hosted: bool = False
    """does a command of the host's start it? Then it inherits neither environment nor folder"""
    private: tuple[Path, ...] = ()
    """what a policy that the host's command starts must not be able to read"""

    def __post_init__(self) -> None:
        check_count("--memory-limit", self.memory, _LEAST_MEMORY, _MOST_MEMORY)
        check_count("--process-limit", self.processes, 1, _MOST_PROCESSES)

    def environment(self, folder: str) -> dict[str, str]:
        """The environment of the process.

        Args:
            folder: of its own, to begin in.
        """
        if not self.hosted:
            return one_thread()
        path = os.environ.get("PATH", os.defpath)
        places = {"PATH": path, "HOME": folder, "PYTHONPATH": library_folder()}
        return {**places, "LANG": "C.UTF-8", **settings()}


USUAL = Confinement()
"""Default confinement, of policies of one's own."""
