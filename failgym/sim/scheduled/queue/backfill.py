"""EASY backfilling: a later attempt may overtake if it does not delay the head of the queue.

Of several machines one is reserved for the head, or for a gang slots of all.

D. A. Lifka: The ANL/IBM SP scheduling system. JSSPP 1995. A. W. Mu'alem, D. G. Feitelson:
Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
backfilling. IEEE TPDS 12 (6), 2001. As simulated by Kumar et al. (DSN 2020, section VI-B).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failgym.sim.scheduled.attempts import start
from failgym.sim.scheduled.cluster.machines import (
    GANG,
    NOWHERE,
    count_room,
    first_fit,
    slots_on,
    withhold,
)
from failgym.sim.scheduled.queue.running import refresh
from failgym.sim.scheduled.workflow.dags import inputs_reachable
from failgym.sim.shared.jit import called
from failgym.vocabulary import NEVER

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = ["backfill_pass"]


# --- What the head is promised --------------------------------------------------------------------


@called
def _on_all(x: View, width: int) -> tuple[int, int, int]:
    """The reservation of `_reservation` where the slots of all machines are one pool."""
    live, slots, shadow, at = x.live, x.ep.free, NEVER, 0
    while at < x.history.lives[0] and live[at].expected <= shadow:
        slots += live[at].slots
        if slots >= width:
            shadow = live[at].expected
        at += 1
    return (NOWHERE, NEVER, 0) if shadow == NEVER else (GANG, shadow, slots - width)


@called
def _on_one(x: View, width: int) -> tuple[int, int, int]:
    """The reservation of `_reservation` where one of several machines has to have the slots."""
    x.ep.searches += 1
    live, promised, shadow, at = x.live, NOWHERE, NEVER, 0
    while at < x.history.lives[0] and live[at].expected <= shadow:
        placed = x.runs[live[at].run].placements
        while placed >= 0:
            m = x.placements[placed].machine
            if count_room(x, placed) >= width and (promised == NOWHERE or m < promised):
                promised, shadow = m, live[at].expected
            placed = x.placements[placed].next
        at += 1
    return promised, shadow, 0 if promised == NOWHERE else x.machines[promised].room - width


@called
def _reservation(w: World, x: View, width: int) -> tuple[int, int, int]:
    """Where and when the head of the queue can start by the estimates, and what that leaves over.

    All attempts that are expected to end at that time count as gone.

    Returns:
        The machine, or (`machines.GANG`) all together; the time; the slots left free there then. If
        no estimated end makes room: `machines.NOWHERE`, NEVER, 0.
    """
    refresh(w, x)
    if width > w.parameters[0].largest or len(w.machines) == 1:
        return _on_all(x, width)
    return _on_one(x, width)


# --- Who starts -----------------------------------------------------------------------------------


@called
def _kept(x: View, promised: int, extra: int) -> int:
    """Free slots, of those promised, that are not for attempts that will still run then."""
    free = x.ep.free if promised == GANG else x.machines[promised].free
    return max(free - extra, 0)


@called
def _try_start(w: World, x: View, i: int, promised: int, kept: int) -> int:
    """Start a queued run if there is room for it beside the slots that are kept for the head.

    Returns:
        How many of the promised machine's slots it has taken; -1 if there is no room.
    """
    if promised >= 0:
        withhold(x, promised, kept)
    taken = -1
    machine = first_fit(w, x, x.runs[i].width)
    if machine != NOWHERE:
        start(w, x, i, machine)
        taken = 0 if promised == NOWHERE else slots_on(x, i, promised)
    if promised >= 0:
        withhold(x, promised, -kept)
    return taken


@called
def backfill_pass(w: World, x: View) -> None:
    """Start what can be started: heads while they fit, then others that do not delay the head.

    An attempt behind the blocked head starts if it fits now and ends by the head's reservation, as
    far as estimates go, or else fits beside the slots that are kept for the head.
    """
    head_width, reserved, promised, shadow, extra = 0, False, NOWHERE, 0, 0
    i = x.queues[0, 0]
    while i >= 0 and x.ep.free > 0:
        run = x.runs[i]
        this, i = i, run.queue_next
        beside, kept = NOWHERE, 0
        if head_width > 0:
            if run.width > x.ep.free:
                continue
            if not reserved:
                promised, shadow, extra = _reservation(w, x, head_width)
                reserved = True
            if x.ep.now + run.estimate > shadow:
                beside, kept = promised, _kept(x, promised, extra)
                if run.width > x.ep.free - kept:
                    continue
        if w.parameters[0].stages and not inputs_reachable(w, x, run.local):
            continue
        width = run.width
        taken = _try_start(w, x, this, beside, kept)
        if taken < 0 and head_width == 0:
            head_width = width
        elif taken > 0 and beside != NOWHERE:
            extra -= taken
