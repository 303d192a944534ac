"""When progress can be saved."""

from __future__ import annotations

from typing import Any

from failgym.sim.shared.accounts import work_of
from failgym.sim.shared.jit import kernel

__all__ = [
    "may_checkpoint",
]


@kernel
def may_checkpoint(run: Any, now: int) -> bool:
    """Is nothing saved or restored just now, and was something gained since the last checkpoint?"""
    if now < run.restored or now < run.pause_until:
        return False
    return work_of(run, now) > run.checkpoint_work
