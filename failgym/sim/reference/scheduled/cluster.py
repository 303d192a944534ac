"""Machines: slots, speeds, outages, and where an attempt can go (rules 4 to 6 of the package)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from failgym.sim.reference.record import TaskRecord, round_half_up
from failgym.sim.scheduled.rules import ScheduledRules, check_speed
from failgym.traces import Trace

__all__ = ["NEVER", "Cluster", "Machine", "Outage", "Part"]

NEVER = 2**62
"""A time that does not come [ms]."""


@dataclass(frozen=True)
class Outage:
    """A machine is down from ``down`` until just before ``up``."""

    down: int
    up: int


@dataclass(frozen=True)
class Part:
    """The slots of one machine that an attempt occupies."""

    machine: Machine
    slots: int


@dataclass(eq=False)
class Machine:
    """One machine of the cluster."""

    index: int
    """Position in the cluster."""
    row: int
    """Row of the trace's table."""
    slots: int
    speed: float
    outages: list[Outage]
    free: int = 0
    up: bool = True


class Cluster:
    """The machines of a trace; free slots are those of one episode.

    Raises:
        ValueError: if there are no machines, one has no slots, its outages overlap, compute times
            are missing, or a task is too wide.
    """

    def __init__(self, trace: Trace, rules: ScheduledRules, records: Sequence[TaskRecord]) -> None:
        self._costs = _costs(trace)
        rows = range(trace.rows("machines"))
        used = {machine for _, machine in self._costs}
        rows = [row for row in rows if not used or row in used]
        if not rows:
            raise ValueError("scheduled world: expected machines")
        self.machines = [_machine(trace, rules, index, row) for index, row in enumerate(rows)]
        self.most_slots = max(machine.slots for machine in self.machines)
        self._check_costs(records)
        self._check_widths(records, rules)
        self.reset(0)

    def _check_costs(self, records: Sequence[TaskRecord]) -> None:
        for record in records if self._costs else ():
            for machine in self.machines:
                if (record.task, machine.row) not in self._costs:
                    raise ValueError(
                        f"costs: expected a time of task {record.task} on machine {machine.row}"
                    )

    def _check_widths(self, records: Sequence[TaskRecord], rules: ScheduledRules) -> None:
        slots = sum(machine.slots for machine in self.machines)
        for record in records:
            subject = f"task {record.task}: width {record.width} exceeds"
            if record.width > slots:
                raise ValueError(f"{subject} the cluster's {slots} slots")
            if rules.scheduler == "rank_hybd" and record.width > self.most_slots:
                raise ValueError(f"{subject} the largest machine's {self.most_slots} slots")

    def reset(self, now: int) -> None:
        """All slots free, but for machines that are down; an outage from now on is to come."""
        for machine in self.machines:
            machine.up = not any(outage.down < now < outage.up for outage in machine.outages)
            machine.free = machine.slots if machine.up else 0

    # --- where an attempt can go ----------------------------------------------------------------

    @property
    def free(self) -> int:
        """Free slots of machines that are up."""
        return sum(machine.free for machine in self.machines)

    def place(self, width: int) -> list[Part] | None:
        """Rule 5: the slots for an attempt, None if it cannot start now."""
        if width <= self.most_slots:
            fitting = self.with_room(width)
            return [Part(fitting[0], width)] if fitting else None
        if self.free < width:
            return None
        parts: list[Part] = []
        for machine in self.machines:
            slots = min(machine.free, width - sum(part.slots for part in parts))
            if slots > 0:
                parts.append(Part(machine, slots))
        return parts

    def places(self, width: int) -> list[list[Machine]]:
        """Rule 5: the machines that an attempt needs room on: each alone, all for a gang."""
        if width <= self.most_slots:
            return [[machine] for machine in self.machines]
        return [self.machines]

    def with_room(self, width: int) -> list[Machine]:
        """The machines that could take it whole."""
        return [machine for machine in self.machines if machine.up and machine.free >= width]

    def take(self, parts: Sequence[Part]) -> None:
        """Occupy slots."""
        for part in parts:
            part.machine.free -= part.slots

    def release(self, parts: Sequence[Part]) -> None:
        """Free slots; those of a machine that is down are gone until it is up."""
        for part in parts:
            if part.machine.up:
                part.machine.free += part.slots

    def bring_down(self, machine: Machine) -> None:
        """Its slots are gone."""
        machine.up, machine.free = False, 0

    def bring_up(self, machine: Machine) -> None:
        """All its slots are free."""
        machine.up, machine.free = True, machine.slots

    # --- how long it takes there ----------------------------------------------------------------

    def compute(self, record: TaskRecord, machine: Machine) -> int:
        """Time that the task's first row, if it has one, would take there undisturbed [ms]."""
        cost = self.cost(record, [machine])
        if cost is None:
            return at_speed(record.rows[0].length, machine.speed) if record.rows else 0
        return cost

    def cost(self, record: TaskRecord, machines: Sequence[Machine]) -> int | None:
        """The longest given compute time of the task on the machines; None if none are given."""
        if not self._costs:
            return None
        return max(self._costs[record.task, machine.row] for machine in machines)


def at_speed(time: int, speed: float) -> int:
    """The time that it takes at this speed [ms]."""
    return time if speed == 1.0 else round_half_up(time / speed)


def _costs(trace: Trace) -> dict[tuple[int, int], int]:
    """(task, machine row) -> compute time [ms]."""
    costs: dict[tuple[int, int], int] = {}
    columns = (trace.column("costs", name).tolist() for name in ("task", "machine", "time"))
    for task, machine, time in zip(*columns, strict=True):
        if (task, machine) in costs:
            raise ValueError(f"costs: expected one time of task {task} on machine {machine}")
        costs[task, machine] = time
    return costs


def _machine(trace: Trace, rules: ScheduledRules, index: int, row: int) -> Machine:
    slots = int(trace.column("machines", "slots", missing=1)[row])
    if slots < 1:
        raise ValueError(f"machine {row}: expected at least 1 slot, got {slots}")
    outages = _merged(row, _outages(trace, row))
    if rules.replace:
        outages = _replaced(outages, max(rules.detection_delay, 1))
    speed = float(trace.column("machines", "speed")[row])
    check_speed(row, speed)
    return Machine(index, row, slots, speed, outages)


def _outages(trace: Trace, row: int) -> list[Outage]:
    """The outages of a machine, by beginning; of those that begin together, the longest."""
    names = ("machine", "down", "up")
    columns = [trace.column("outages", name, missing=-1) for name in names]
    longest: dict[int, int] = {}
    for i in range(trace.rows("outages")):
        machine, down, up = (int(column[i]) for column in columns)
        if machine == row:
            up = NEVER if up == -1 else max(up, down + 1)
            longest[down] = max(longest.get(down, 0), up)
    return [Outage(down, longest[down]) for down in sorted(longest)]


def _merged(row: int, outages: Sequence[Outage]) -> list[Outage]:
    """Outages that touch are one; they must not overlap."""
    merged: list[Outage] = []
    for outage in outages:
        if merged and outage.down < merged[-1].up:
            raise ValueError(f"machine {row}: outages overlap at {outage.down} ms")
        if merged and outage.down == merged[-1].up:
            merged[-1] = Outage(merged[-1].down, outage.up)
        else:
            merged.append(outage)
    return merged


def _replaced(outages: Sequence[Outage], delay: int) -> list[Outage]:
    """Rule 6: the machine is back after the delay; what begins until then does not happen."""
    kept: list[Outage] = []
    for outage in outages:
        if not kept or outage.down > kept[-1].up:
            kept.append(Outage(outage.down, outage.down + delay))
    return kept
