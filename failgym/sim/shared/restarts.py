"""What is left to be started of a task, and restarts that come to nothing."""

from __future__ import annotations

from typing import Any

from failgym.sim.shared.jit import kernel

__all__ = [
    "EXTERNAL_RESTART",
    "FAILURE_RESTART",
    "rows_left",
    "void_restarts",
]

EXTERNAL_RESTART, FAILURE_RESTART = -1, -2
"""What an owed START carries in place of a run: which kind of end owes it."""


@kernel
def rows_left(w: Any, task: Any) -> bool:
    """Is a recorded row left in the pool?"""
    return task.next < w.tasks[task.task].rows


@kernel
def void_restarts(task: Any) -> None:
    """Forget every restart that is still owed."""
    task.stamp += 1
    task.owed_external = 0
    task.owed_failure = 0
