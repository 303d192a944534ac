"""Google's machine events: capacities, and outages from removal to return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2011.lookup import at_or_before
from failgym.traces.readers.google_2011.parts import Column, Part, read_part, time_column
from failgym.traces.readers.sources import Advance
from failgym.vocabulary import Cause, Outcome

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ADD, REMOVE, UPDATE = range(3)
_TYPES = "a known event type (0 ADD, 1 REMOVE, 2 UPDATE)"

COLUMNS = (
    time_column("time"),
    Column("machine ID", "integer", required=True),
    Column("event type", "integer", required=True),
    Column("platform ID", "text", used=False),
    Column("CPUs", "number"),
    Column("memory", "number"),
)

REMOVAL_SLACK = 1000
"""An eviction this close to its machine's removal is laid to the machine [ms]; our choice."""


@dataclass
class _Machine:
    """A machine as its events tell it; times in ms."""

    cpu: float = float("nan")
    memory: float = float("nan")
    last: int = 0  # time of the latest event
    outages: list[list[int]] = field(default_factory=list[list[int]])  # [down, up or -1]

    def follow(self, kind: int, time: int, cpu: float, memory: float) -> str | None:
        """Take in an event, or say why not."""
        down = bool(self.outages) and self.outages[-1][1] < 0
        if time < self.last:
            return "machine event earlier than the machine's previous one"
        if kind == REMOVE and down:
            return "REMOVE of a machine that is down"
        self.last = time
        if np.isnan(self.cpu):  # the capacity at first sight
            self.cpu, self.memory = cpu, memory
        if kind == REMOVE:
            self.outages.append([time, -1])
        elif kind == ADD and down:
            self.outages[-1][1] = time
        return None


@dataclass
class Machines:
    """The machines of the machine events, by id; none where there are no such events."""

    by_id: dict[int, _Machine] = field(default_factory=dict[int, _Machine])

    def at(self, machine: int) -> _Machine:
        """The machine of that id, made if it is not known."""
        return self.by_id.setdefault(machine, _Machine())

    @property
    def ids(self) -> Ints:
        """Their ids, ascending."""
        return np.array(sorted(self.by_id), dtype=np.int64)

    def causes(self, attempts: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """The attempts' causes (ATTEMPT records, times in ms), evictions by removals told apart."""
        cause = attempts["cause"].copy()
        removed = [(m, down) for m, machine in self.by_id.items() for down, _ in machine.outages]
        evicted = np.flatnonzero((attempts["outcome"] == Outcome.EVICT) & (attempts["start"] >= 0))
        if not removed or not len(evicted):
            return cause
        machine, down = np.array(sorted(removed), dtype=np.int64).T.copy()
        on, end = attempts["machine"][evicted], attempts["end"][evicted]
        before = at_or_before(machine, down, down, on, end, end)
        near = np.zeros(len(evicted), dtype=np.bool_)
        for row in (before, before + 1):
            row = np.clip(row, 0, len(machine) - 1)
            near |= (machine[row] == on) & (np.abs(end - down[row]) <= REMOVAL_SLACK)
        cause[evicted[near]] = Cause.MACHINE
        return cause

    def tables(self, ids: Ints) -> dict[str, dict[str, Any]]:
        """The machines (rows = `ids`) and outages tables."""
        known = [self.by_id.get(m, _Machine()) for m in ids.tolist()]
        outages = sorted(
            (down, row, up) for row, machine in enumerate(known) for down, up in machine.outages
        )
        down, row, up = np.array(outages, dtype=np.int64).reshape(-1, 3).T
        return {
            "machines": {
                "original_id": ids.astype(np.str_),
                "cpu": np.array([machine.cpu for machine in known], dtype=np.float64),
                "memory": np.array([machine.memory for machine in known], dtype=np.float64),
                "speed": np.ones(len(ids)),
            },
            "outages": {"machine": row, "down": down, "up": np.ma.MaskedArray(up, mask=up < 0)},
        }


def read_machines(parts: list[Part], end: int, count: Counts, advance: Advance) -> Machines:
    """The machines, as known at the time `end` [us] of the last task event.

    A machine's capacity is the first that is stated. Raises TraceError.
    """
    machines = Machines()
    for part in parts:
        for block in read_part(part, COLUMNS, advance):
            count.read("machine events", block.rows.num_rows)
            types, times = block.integers("event type"), block.integers("time")
            if (types > UPDATE).any():
                row = int(np.argmax(types > UPDATE))
                block.fail(row, "event type", int(types[row]), _TYPES)
            late = times > end
            count.drop("machine event after the last task event", int(late.sum()))
            columns = (types, block.integers("machine ID"), times // 1000)
            resources = (block.numbers("CPUs"), block.numbers("memory"))
            for kind, machine, time, cpu, memory in zip(
                *(values[~late].tolist() for values in (*columns, *resources)), strict=True
            ):
                if reason := machines.at(machine).follow(kind, time, cpu, memory):
                    count.drop(reason)
    return machines
