"""What becomes of the work of an attempt: the fates of machine-time, alike in every world."""

from __future__ import annotations

from typing import Any

from failgym.sim.shared.jit import kernel
from failgym.vocabulary import CANCELLED, Outcome

__all__ = [
    "GHOST",
    "LOST",
    "REDUNDANT",
    "UNKNOWN",
    "USEFUL",
    "fate",
    "fate_of_work",
    "work_of",
]

LOST, REDUNDANT, GHOST, UNKNOWN, USEFUL = range(5)
"""Where the work of an attempt goes when it ends; UNKNOWN where the data end."""
_FINISH, _CENSORED = int(Outcome.FINISH), int(Outcome.CENSORED)


def fate_of_work(outcome: int, settled: bool, ghost: bool) -> int:
    """Where the unsaved work of an attempt goes that ends: `LOST` to `USEFUL`.

    Args:
        settled: had its task settled before?
        ghost: was the attempt one beyond the record?
    """
    if settled or outcome == CANCELLED:
        return REDUNDANT
    if outcome == _CENSORED:
        return UNKNOWN
    if outcome == _FINISH:
        return USEFUL
    return GHOST if ghost else LOST


fate = kernel(fate_of_work)
"""The same for kernels."""


@kernel
def work_of(run: Any, now: int) -> int:
    """Own work of an attempt up to a time [ms]: elapsed less restore and checkpoints."""
    until = now if run.alive else run.ended
    if until <= run.restored:
        return 0
    pause = 0
    if run.pause_from >= 0:
        pause = min(until, run.pause_until) - run.pause_from
    return until - run.restored - run.paused - pause
