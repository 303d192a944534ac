"""EASY backfilling: a later attempt may overtake if it does not delay the head of the queue.

D. A. Lifka: The ANL/IBM SP scheduling system. JSSPP 1995. As simulated by Kumar et al. (DSN 2020,
section VI-B).
"""

# Kernels lose their types to the decorator.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.jit import called
from failgym.sim.records import NEVER
from failgym.sim.scheduled.attempts import start
from failgym.sim.scheduled.dags import inputs_reachable
from failgym.sim.scheduled.machines import NOWHERE, first_fit
from failgym.sim.scheduled.running import refresh

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["backfill_pass"]


@called
def _reservation(w: World, x: View, width: int) -> tuple[int, int]:
    """When the head of the queue can start by the estimates, and the slots then left over.

    (NEVER, 0) if the attempts that run cannot free enough.
    """
    refresh(w, x)
    slots = x.ep.free
    for at in range(x.history.lives[0]):
        entry = x.history.live[at]
        slots += entry.slots
        if slots >= width:
            return entry.expected, slots - width
    return NEVER, 0


@called
def backfill_pass(w: World, x: View) -> None:
    """Start what can be started: heads while they fit, then others that do not delay the head.

    An attempt behind the blocked head starts if it fits now and either ends by the head's
    reservation, as far as estimates go, or needs no more than the slots that are left over then.
    """
    head_width, reserved, shadow, extra = 0, False, 0, 0
    i = x.queues[0, 0]
    while i >= 0 and x.ep.free > 0:
        run = x.runs[i]
        this, i = i, run.queue_next
        width, late = run.width, False
        if head_width > 0:
            if width > x.ep.free:
                continue
            if not reserved:
                shadow, extra = _reservation(w, x, head_width)
                reserved = True
            late = x.ep.now + run.estimate > shadow
            if late and width > extra:
                continue
        if w.parameters[0].stages and not inputs_reachable(w, x, run.local):
            continue
        machine = first_fit(w, x, width)
        if machine == NOWHERE:
            if head_width == 0:
                head_width = width
            continue
        start(w, x, this, machine)
        if late:
            extra -= width
