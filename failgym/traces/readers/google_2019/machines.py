"""Google's machine events of 2019: capacities, switches, and outages from removal to return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces.readers.counts import Counts
from failgym.traces.readers.google_2019.columns import (
    AFTER_THE_TRACE,
)
from failgym.traces.readers.google_2019.table import Table
from failgym.vocabulary import Cause, Outcome

__all__ = ["Machines", "read_machines"]

Ints = npt.NDArray[np.int64]

UNKNOWN, ADD, REMOVE, UPDATE = range(4)

REMOVAL_SLACK = 1000
"""An eviction this close to its machine's removal is laid to the machine [ms]; our choice."""


@dataclass
class _Machine:
    """A machine as its events tell it; times in ms."""

    switch: str | None = None
    cpu: float = float("nan")
    memory: float = float("nan")
    outages: list[tuple[int, int | None]] = field(default_factory=list[tuple[int, int | None]])
    known: bool = False

    @property
    def down(self) -> bool:
        """Whether it is removed."""
        return bool(self.outages) and self.outages[-1][1] is None


@dataclass
class Machines:
    """The machines of the machine events, by id; none where there are no such events."""

    by_id: dict[int, _Machine] = field(default_factory=dict[int, _Machine])

    def causes(self, attempts: Mapping[str, Ints], cause: Ints) -> Ints:
        """The causes (-1: none) of attempts, evictions by the removal of a machine told apart.

        `attempts` holds the columns outcome, machine (id) and end [ms].
        """
        cause = cause.copy()
        removed = [(m, down) for m, machine in self.by_id.items() for down, _ in machine.outages]
        evicted = np.flatnonzero(attempts["outcome"] == Outcome.EVICT)
        if not removed or not len(evicted):
            return cause
        machine, down = np.array(sorted(removed), dtype=np.int64).T
        evicted = evicted[np.argsort(attempts["machine"][evicted], kind="stable")]
        on = attempts["machine"][evicted]
        for m in np.intersect1d(machine, on):
            rows = evicted[np.searchsorted(on, m) : np.searchsorted(on, m, side="right")]
            at = down[np.searchsorted(machine, m) : np.searchsorted(machine, m, side="right")]
            near = np.searchsorted(at, attempts["end"][rows] - REMOVAL_SLACK)
            close = np.append(at, np.iinfo(np.int64).max)[near] <= (
                attempts["end"][rows] + REMOVAL_SLACK
            )
            cause[rows[close]] = Cause.MACHINE
        return cause

    def tables(self, ids: Ints) -> dict[str, dict[str, Any]]:
        """The machines (rows = `ids`) and outages tables."""
        known = [self.by_id.get(m, _Machine()) for m in ids.tolist()]
        outages = [
            (row, down, up) for row, machine in enumerate(known) for down, up in machine.outages
        ]
        return {
            "machines": {
                "original_id": ids.astype(np.str_),
                "cpu": np.array([machine.cpu for machine in known], dtype=np.float64),
                "memory": np.array([machine.memory for machine in known], dtype=np.float64),
                "domain": [machine.switch for machine in known],
                "speed": np.ones(len(ids)),
            },
            "outages": {
                "machine": np.array([row for row, _, _ in outages], dtype=np.int64),
                "down": np.array([down for _, down, _ in outages], dtype=np.int64),
                "up": [up for _, _, up in outages],
            },
        }


def read_machines(events: Table, end: int | None, count: Counts) -> tuple[Machines, int]:
    """The machines as known at the time `end` [us], and the time of the last event [us].

    `end` None: all events count. What happened to a machine at one time is taken in the order that
    makes sense: a machine that is up is removed before it is added.
    """
    late = events.ints("time") == AFTER_THE_TRACE
    count.drop("machine event after the end of the trace", int(late.sum()))
    if end is not None:
        beyond = ~late & (events.ints("time") > end)
        count.drop("machine event after the last instance event", int(beyond.sum()))
        late |= beyond
    unknown = ~late & (events.ints("type") == UNKNOWN)
    count.drop("machine event of unknown type", int(unknown.sum()))
    events.keep(~late & ~unknown)
    machines = Machines()
    time, words = events.ints("time"), events.words("switch_id")
    order = np.lexsort((time, events.ints("machine_id")))
    columns = [events.values[name][order].tolist() for name in ("machine_id", "time", "type")]
    columns += [events.floats(f"capacity.{name}")[order].tolist() for name in ("cpus", "memory")]
    switch = words[events.ints("switch_id")[order]].tolist()
    rows = list(zip(*columns, switch, strict=True))
    begin = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or rows[stop][:2] != rows[begin][:2]:
            machine = machines.by_id.setdefault(rows[begin][0], _Machine())
            _follow(machine, rows[begin:stop], count.note, count.drop)
            begin = stop
    return machines, int(time.max(initial=0))


def _follow(
    machine: _Machine,
    rows: list[Any],
    note: Callable[[str], None],
    drop: Callable[[str], None],
) -> None:
    """Take in the events of a machine at one time."""
    if len(rows) > 1:
        first = REMOVE if machine.known and not machine.down else ADD
        rows = sorted(rows, key=lambda row: row[2] != first)
    for _, microseconds, kind, cpu, memory, switch in rows:
        time = microseconds // 1000
        if kind == REMOVE and machine.down:
            drop("REMOVE of a machine that is down")
            continue
        if kind == REMOVE:
            machine.outages.append((time, None))
        elif kind == ADD and machine.down:
            machine.outages[-1] = (machine.outages[-1][0], time)
        elif kind == ADD and machine.known:
            note("ADD of a machine that is up")
        elif kind == ADD and time > 0:
            note("machine that joins during the trace")
        machine.known = True
        if np.isnan(machine.cpu):  # the capacity at first sight
            machine.cpu, machine.memory = cpu, memory
        machine.switch = switch if machine.switch is None else machine.switch
