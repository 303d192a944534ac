"""Recounts an episode from nothing but its event log, its trace and its rules, by brute force.

Nothing here is shared with a simulator. Every rule that the log breaks raises AssertionError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from failgym.sim.scheduled.rules import ScheduledRules
from failgym.traces import Trace
from failgym.vocabulary import Action, Event, LogEntry, SimOutcome
from tests.sim.scheduled.random_clusters import cluster_machines

Key = tuple[int, int]
"""Task and number of an attempt."""
RECOMPUTATION = 2
"""Detail of the START of a recomputation."""
FOREVER = 2**62
MACHINE_FAILS = (
    Event.MACHINE_DOWN,
    Event.END,
    Event.WRITE_LOST,
    Event.SETTLED,  # a task that was given up is over with its last attempt
)
"""Entries between which something may still be on a machine that has just failed."""


def outages_of(trace: Trace, rules: ScheduledRules) -> list[list[tuple[int, int]]]:
    """When each machine of the cluster is down, one interval after another."""
    down, up = trace.column("outages", "down"), trace.column("outages", "up", missing=FOREVER)
    rows = trace.column("outages", "machine")
    found: list[list[tuple[int, int]]] = []
    for machine in cluster_machines(trace):
        each = sorted(
            (int(down[i]), max(int(up[i]), int(down[i]) + 1))
            for i in np.flatnonzero(rows == machine)
        )
        merged: list[tuple[int, int]] = []
        for begin, end in each:
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        found.append(_replaced(merged, rules) if rules.replace else merged)
    return found


def _replaced(outages: Sequence[tuple[int, int]], rules: ScheduledRules) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for begin, _ in outages:
        if not kept or begin > kept[-1][1]:
            kept.append((begin, begin + max(rules.detection_delay, 1)))
    return kept


def parents_of(trace: Trace) -> list[set[int]]:
    """The tasks whose outputs each task reads."""
    stage = trace.column("tasks", "stage", missing=-1)
    index = trace.column("tasks", "index")
    parents: list[set[int]] = [set() for _ in range(trace.rows("tasks"))]
    edges = [trace.column("stage_edges", name) for name in ("parent", "child", "wide")]
    for above, below, wide in zip(*edges, strict=True):
        sources, readers = (
            sorted((int(index[t]), int(t)) for t in np.flatnonzero(stage == s))
            for s in (above, below)
        )
        for place, (_, reader) in enumerate(readers):
            for position, (_, source) in enumerate(sources):
                # Reader and source as shares of their stages: [i, i + 1) / m meets [j, j + 1) / n.
                n, m = len(sources), len(readers)
                if wide or (position * m < (place + 1) * n and place * n < (position + 1) * m):
                    parents[reader].add(source)
    return parents


@dataclass
class Held:
    """Slots that an attempt, or the writing of its output, occupies."""

    since: int
    slots: dict[int, int]
    first: int
    recomputes: bool = False
    ended: int = -1


@dataclass
class Recount:
    """What the log says, event by event."""

    trace: Trace
    rules: ScheduledRules
    tasks: set[int]
    standing: set[int]
    running: dict[Key, Held] = field(default_factory=dict[Key, Held])
    writing: dict[Key, Held] = field(default_factory=dict[Key, Held])
    ended: dict[Key, Held] = field(default_factory=dict[Key, Held])
    evicted: dict[Key, Held] = field(default_factory=dict[Key, Held])
    """for an attempt that has not started yet"""
    queued: set[Key] = field(default_factory=set[Key])
    down: set[int] = field(default_factory=set[int])
    memory: dict[int, int] = field(default_factory=dict[int, int])
    """task -> machine that holds its output"""
    saved: set[int] = field(default_factory=set[int])
    settled: dict[int, int] = field(default_factory=dict[int, int])
    actions: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    """by task and action"""
    busy: int = 0
    time: int = 0

    def __post_init__(self) -> None:
        rows = cluster_machines(self.trace)
        slots = self.trace.column("machines", "slots", missing=1)
        self.slots = [int(slots[row]) for row in rows]
        self.width = [int(w) for w in self.trace.column("tasks", "width")]
        priority = np.clip(self.trace.column("jobs", "priority", missing=0), 0, 31)
        self.priority = [int(p) for p in priority[self.trace.column("tasks", "job")]]
        self.parents = parents_of(self.trace)
        self.outages = outages_of(self.trace, self.rules)

    # --- the log --------------------------------------------------------------------------------

    def read(self, log: Sequence[LogEntry], begin: int) -> None:
        """Take in a whole log of an episode that begins at ``begin``."""
        self.time = begin
        self.down = {
            m for m, each in enumerate(self.outages) if any(a < begin < b for a, b in each)
        }
        self._check_outages(log, begin)
        for entry, machines in _with_machines(log):
            assert entry.time >= self.time, "the clock runs backwards"
            self.time = entry.time
            self._take(entry, machines)
            self._check_capacity(entry)
        assert not self.evicted, "evicted in vain"
        for held in [*self.running.values(), *self.writing.values()]:
            assert not self.down & held.slots.keys(), "an attempt on a machine that is down"
        self.busy += sum(
            self.width[task] * (self.time - held.since)
            for (task, _), held in [*self.running.items(), *self.writing.items()]
        )

    def _take(self, entry: LogEntry, machines: list[int]) -> None:
        kind, key = Event(entry.kind), (entry.task, entry.number)
        if kind is Event.START:
            self._starts(entry, machines)
        elif kind is Event.END:
            self._ends(key, SimOutcome(entry.detail))
        elif kind is Event.QUEUED:
            assert entry.task not in self.settled or self._succeeded(entry.task)
            assert key not in self.running, "an attempt waits while it runs"
            self.queued.add(key)
        elif kind is Event.SETTLED:
            assert entry.task not in self.settled, "settled twice"
            assert entry.task in self.tasks | self.standing
            assert not any(task == entry.task for task, _ in self.running)
            self.settled[entry.task] = entry.detail
        elif kind is Event.DECISION:
            self._decides(key, entry.detail)
        elif kind in (Event.DURABLE, Event.WRITE_LOST):
            self._written(key, kept=kind is Event.DURABLE)
        elif kind is Event.MACHINE_DOWN:
            assert entry.number not in self.down
            self.down.add(entry.number)
            if self.rules.outputs == "lost":
                gone = [task for task, m in self.memory.items() if m == entry.number]
                for task in set(gone) - self.saved:
                    del self.memory[task]
        elif kind is Event.MACHINE_UP:
            assert entry.number in self.down
            self.down.remove(entry.number)
        elif kind is Event.TRANSFER_END:
            assert key in self.running
            assert self.rules.transfer_bandwidth > 0
        elif kind is Event.RESTORED:
            assert key in self.running

    def _succeeded(self, task: int) -> bool:
        return self.settled.get(task) in (SimOutcome.FINISH, SimOutcome.CENSORED)

    def _starts(self, entry: LogEntry, machines: list[int]) -> None:
        task, key = entry.task, (entry.task, entry.number)
        recomputes = entry.detail == RECOMPUTATION
        assert key in self.queued, "started without having waited"
        self.queued.remove(key)
        assert key not in self.running, "runs twice"
        assert recomputes == (task in self.settled), "a settled task runs only to be recomputed"
        assert not self.down & set(machines), "started on a machine that is down"
        assert machines == sorted(set(machines))
        if self.evicted:
            self._check_evicted(task, machines)
        if task not in self.standing:
            self._check_inputs(task)
        self.running[key] = Held(self.time, self._hold(task, machines), machines[0], recomputes)

    def _hold(self, task: int, machines: list[int]) -> dict[int, int]:
        """All or nothing: one machine with room, or everything free in order until it is enough."""
        width, free = self.width[task], self._free()
        if width <= max(self.slots):
            assert len(machines) == 1, "a gang that one machine could hold"
            assert free[machines[0]] >= width, "more than the machine's slots"
            return {machines[0]: width}
        open_machines = [m for m, room in enumerate(free) if room > 0]
        assert machines == open_machines[: len(machines)]
        taken: dict[int, int] = {}
        for machine in machines:
            taken[machine] = min(free[machine], width - sum(taken.values()))
        assert sum(taken.values()) == width, "part of a gang"
        assert all(taken.values())
        return taken

    def _check_evicted(self, task: int, machines: list[int]) -> None:
        """Lower priorities made room for the task, and each of them had to."""
        width, free = self.width[task], self._free()
        gang = width > max(self.slots)
        place = range(len(free)) if gang else machines
        room = sum(free[m] for m in place)
        for (victim, _), held in self.evicted.items():
            assert self.time == held.ended, "evicted in vain"
            assert self.priority[victim] < self.priority[task], "evicted by a lower priority"
            assert room - sum(held.slots.get(m, 0) for m in place) < width, "evicted for nothing"
            for machine, slots in held.slots.items():
                free[machine] -= slots
        assert (sum(free) if gang else max(free)) < width, "evicted though there was room"
        self.evicted.clear()

    def _check_inputs(self, task: int) -> None:
        for parent in self.parents[task] & (self.tasks | self.standing):
            assert parent in self.memory or parent in self.saved, "started without its inputs"
            if parent not in self.saved:
                assert self.memory[parent] not in self.down, "its input is out of reach"

    def _ends(self, key: Key, outcome: SimOutcome) -> None:
        held = self.running.pop(key)
        self.ended[key] = held
        self.busy += self.width[key[0]] * (self.time - held.since)
        if outcome is SimOutcome.LOST:
            assert self.down, "lost though all machines are up"
        if outcome is SimOutcome.EVICT:
            assert self.rules.preemption
            held.ended = self.time
            self.evicted[key] = held
        if outcome is SimOutcome.FINISH:
            assert held.recomputes or key[0] not in self.settled, "succeeded twice"
            self.memory[key[0]] = held.first

    def _decides(self, key: Key, action: int) -> None:
        self.actions[key[0], action] += 1
        if action == Action.CHECKPOINT and key not in self.running:
            before = self.ended[key]
            self.writing[key] = Held(self.time, before.slots, before.first)

    def _written(self, key: Key, *, kept: bool) -> None:
        if key not in self.writing:
            assert kept
            assert key in self.running
            return
        held = self.writing.pop(key)
        self.busy += self.width[key[0]] * (self.time - held.since)
        if kept:
            self.saved.add(key[0])
        else:
            assert self.down & held.slots.keys(), "a write was lost on machines that are up"

    # --- capacity -------------------------------------------------------------------------------

    def _free(self) -> list[int]:
        free = [0 if m in self.down else slots for m, slots in enumerate(self.slots)]
        for held in [*self.running.values(), *self.writing.values()]:
            for machine, slots in held.slots.items():
                free[machine] -= slots
        return free

    def _check_capacity(self, entry: LogEntry) -> None:
        """Capacity = busy + idle + down; only what dies with a machine may still be on it."""
        if Event(entry.kind) in MACHINE_FAILS:
            return
        free = self._free()
        assert min(free) >= 0, "more than the machine's slots, or an attempt on one that is down"
        busy = sum(self.width[task] for task, _ in [*self.running, *self.writing])
        down = sum(self.slots[m] for m in self.down)
        assert busy + sum(free) + down == sum(self.slots)

    def _check_outages(self, log: Sequence[LogEntry], begin: int) -> None:
        """The log has the outages of the trace, as long as the episode lasts, and no others."""
        told = [
            (entry.time, Event(entry.kind), entry.number)
            for entry in log
            if entry.kind in (Event.MACHINE_DOWN, Event.MACHINE_UP)
        ]
        end = max((entry.time for entry in log), default=begin)
        expected = sorted(
            (time, kind, m)
            for m, each in enumerate(self.outages)
            for down, up in each
            for time, kind in ((down, Event.MACHINE_DOWN), (up, Event.MACHINE_UP))
            if begin <= time <= end and (down >= begin or begin < up)
        )
        sure = [x for x in expected if x[0] < end]
        assert told[: len(sure)] == sure
        assert set(told) <= set(expected)


def _with_machines(log: Sequence[LogEntry]) -> Iterator[tuple[LogEntry, list[int]]]:
    """Each entry but PLACED, and, behind a START, the machines of its PLACED entries."""
    i = 0
    while i < len(log):
        entry, i = log[i], i + 1
        machines: list[int] = []
        while i < len(log) and log[i].kind == Event.PLACED:
            placed, i = log[i], i + 1
            assert entry.kind == Event.START
            assert (placed.time, placed.task, placed.number) == (
                entry.time,
                entry.task,
                entry.number,
            )
            machines.append(placed.detail)
        assert bool(machines) == (entry.kind == Event.START)
        yield entry, machines
