"""Machines: who runs where, which one has room, how one goes down and comes back.

A tree over the machines holds the most free slots of any up machine below each node, so that the
first one with enough room is found in as many steps as the tree is high.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failgym.sim.shared.jit import called

if TYPE_CHECKING:
    from failgym.sim.scheduled.records import View, World

__all__ = [
    "GANG",
    "NOWHERE",
    "begin_machines",
    "bring_down",
    "bring_up",
    "count_room",
    "first_fit",
    "first_free",
    "release",
    "slots_on",
    "take",
    "withhold",
]

NOWHERE, GANG = -1, -2
"""In place of a machine: none has room; several together have."""


@called
def _update(x: View, m: int) -> None:
    """Tell the tree what machine ``m`` has free."""
    tree = x.tree
    node = (len(tree) >> 1) + m
    free = 0 if x.machines[m].down else x.machines[m].free
    tree[node] = free
    while node > 1:
        node >>= 1
        most = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == most:
            break
        tree[node] = most


@called
def first_free(tree: Any, width: int) -> int:
    """The first up machine with ``width`` slots free, or -1."""
    if tree[1] < width:
        return NOWHERE
    node, leaves = 1, len(tree) >> 1
    while node < leaves:
        node <<= 1
        if tree[node] < width:
            node += 1
    return node - leaves


@called
def first_fit(w: World, x: View, width: int) -> int:
    """Where an attempt of this width goes: a machine, or `GANG`, or `NOWHERE`."""
    if width <= w.parameters[0].largest:
        return first_free(x.tree, width)
    return GANG if x.ep.free >= width else NOWHERE


@called
def slots_on(x: View, i: int, m: int) -> int:
    """Slots of a machine, or (`GANG`) of any, that a run occupies."""
    if m == GANG:
        return x.runs[i].width
    at = x.runs[i].placements
    while at >= 0:
        if x.placements[at].machine == m:
            return x.placements[at].slots
        at = x.placements[at].next
    return 0


@called
def count_room(x: View, at: int) -> int:
    """Count the slots of a placement as room of its machine; that room, in this search."""
    placement = x.placements[at]
    machine = x.machines[placement.machine]
    if machine.search != x.ep.searches:
        machine.search, machine.room = x.ep.searches, machine.free
    machine.room += placement.slots
    return machine.room


@called
def withhold(x: View, m: int, slots: int) -> None:
    """Let free slots of an up machine be none; a negative number gives them back."""
    x.machines[m].free -= slots
    x.ep.free -= slots
    _update(x, m)


@called
def _put_on(x: View, i: int, m: int, slots: int, before: int) -> int:
    """Let a run have slots of a machine; the new placement follows ``before`` (-1: the first)."""
    at = x.ep.free_placement
    if at >= 0:
        x.ep.free_placement = x.placements[at].next
    else:
        at = x.ep.placements
        x.ep.placements += 1
    placement = x.placements[at]
    machine = x.machines[m]
    placement.run, placement.machine, placement.slots = i, m, slots
    placement.next, placement.on_before, placement.on_next = -1, -1, machine.placements
    if machine.placements >= 0:
        x.placements[machine.placements].on_before = at
    machine.placements = at
    if before >= 0:
        x.placements[before].next = at
    else:
        x.runs[i].placements = at
        x.runs[i].machine = m
    machine.free -= slots
    x.ep.free -= slots
    _update(x, m)
    return at


@called
def _take_several(w: World, x: View, i: int, width: int) -> None:
    """Let a gang have all free slots of the first machines until it has enough."""
    left, last = width, -1
    while left > 0:
        m = first_free(x.tree, 1)
        slots = min(x.machines[m].free, left)
        last = _put_on(x, i, m, slots, last)
        left -= slots


@called
def take(w: World, x: View, i: int, machine: int) -> None:
    """Let a run have its slots, on a machine or (`GANG`) on several."""
    if machine == GANG:
        _take_several(w, x, i, x.runs[i].width)
    else:
        _put_on(x, i, machine, x.runs[i].width, -1)


@called
def release(w: World, x: View, i: int) -> None:
    """Free the slots of a run."""
    at = x.runs[i].placements
    while at >= 0:
        placement = x.placements[at]
        m = placement.machine
        machine = x.machines[m]
        if placement.on_before >= 0:
            x.placements[placement.on_before].on_next = placement.on_next
        else:
            machine.placements = placement.on_next
        if placement.on_next >= 0:
            x.placements[placement.on_next].on_before = placement.on_before
        machine.free += placement.slots
        if not machine.down:
            x.ep.free += placement.slots
            _update(x, m)
        following = placement.next
        placement.next = x.ep.free_placement
        x.ep.free_placement = at
        at = following
    x.runs[i].placements = -1


@called
def bring_down(w: World, x: View, m: int) -> None:
    """A machine fails: what is free there is gone until it is up."""
    x.machines[m].down = True
    x.ep.down += 1
    x.ep.free -= x.machines[m].free
    _update(x, m)


@called
def bring_up(w: World, x: View, m: int) -> None:
    """A machine is back."""
    x.machines[m].down = False
    x.ep.down -= 1
    x.ep.free += x.machines[m].free
    _update(x, m)


@called
def _down_at(w: World, m: int, now: int) -> int:
    """The outage of a machine that a time lies strictly within, as row of World.outages, or -1."""
    machine = w.machines[m]
    low, high = machine.outage_at, machine.outage_at + machine.outages
    while low < high:
        middle = (low + high) >> 1
        if w.outages[middle].down < now:
            low = middle + 1
        else:
            high = middle
    if low > machine.outage_at and w.outages[low - 1].up > now:
        return int(low - 1)
    return -1


@called
def begin_machines(w: World, x: View) -> None:
    """All machines at the beginning of an episode: empty, and down if an outage covers now."""
    ep, tree = x.ep, x.tree
    leaves = len(tree) >> 1
    ep.free, ep.down = 0, 0
    ep.placements, ep.free_placement = 0, -1
    for m in range(len(w.machines)):
        machine = x.machines[m]
        machine.free, machine.placements, machine.due = w.machines[m].slots, -1, -1
        machine.room, machine.search = 0, 0
        machine.down = _down_at(w, m, ep.now) >= 0
        ep.down += 1 if machine.down else 0
        tree[leaves + m] = 0 if machine.down else machine.free
        ep.free += tree[leaves + m]
    for node in range(leaves - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
