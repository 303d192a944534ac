"""What EASY backfilling promises the head of the queue (rule 9 of the package)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failgym.sim.reference.scheduled.attempts import Attempt
from failgym.sim.reference.scheduled.cluster import NEVER, Cluster, Machine, Part

__all__ = ["Reservation", "reserve", "room"]


@dataclass
class Reservation:
    """When and where the head is expected to start."""

    time: int
    machines: Sequence[Machine]
    """Those that it is promised slots of: one, all if it is a gang, none if it has to wait for
    something else than ends."""
    extra: int
    """Slots of those machines that will be free then and that the head does not need, less what
    attempts that run on have taken since."""

    def place_beside(self, cluster: Cluster, width: int) -> list[Part] | None:
        """Slots for an attempt that will still run then; None if there are none to be had now."""
        if len(self.machines) > 1:
            return cluster.place(width) if width <= self.extra else None
        [machine] = self.machines
        kept = max(machine.free - self.extra, 0)
        machine.free -= kept
        parts = cluster.place(width)
        machine.free += kept
        return parts

    def take(self, parts: Sequence[Part]) -> None:
        """An attempt that will still run then starts on these slots."""
        self.extra -= sum(part.slots for part in parts if part.machine in self.machines)


def reserve(cluster: Cluster, width: int, ends: Sequence[tuple[int, Attempt]]) -> Reservation:
    """What the head can be promised: it starts when all that end at some time have ended.

    Args:
        cluster: which has no room for it now.
        width: of the head.
        ends: when each attempt that occupies slots is expected to end.
    """
    for time in sorted({end for end, _ in ends}):
        over = [attempt for end, attempt in ends if end <= time]
        for place in cluster.places(width):
            slots = room(place, over)
            if slots >= width:
                return Reservation(time, place, slots - width)
    return Reservation(NEVER, [], 0)


def room(place: Sequence[Machine], gone: Sequence[Attempt]) -> int:
    """Free slots of some machines, if these attempts were gone."""
    occupied = (run.slots_on(machine) for run in gone for machine in place)
    return sum(machine.free for machine in place) + sum(occupied)
