"""Recounts from a log what EASY backfilling promised on several machines, and if it was kept.

From rule 9 of `failgym.sim.reference.scheduled` alone, for jobs that never outrun their estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from failgym.vocabulary import Event, LogEntry
from tests.sim.easy import Job

__all__ = ["assert_kept"]


class Promise(NamedTuple):
    """What the head of the queue is promised."""

    time: int
    machines: Sequence[int]
    """One, or all for a gang."""
    extra: int


class Recount:
    """Who waits, and who holds which slots until when, by the estimates."""

    def __init__(self, jobs: Sequence[Job], slots: Sequence[int]) -> None:
        self.jobs, self.slots = jobs, slots
        self.now = 0
        self.queue: list[int] = []
        self.held: dict[int, tuple[int, dict[int, int]]] = {}
        """Job -> (estimated end, machine -> slots)."""
        self.promised: dict[int, int] = {}
        """Job -> when it was first promised to start."""

    def free(self, machine: int, time: int | None = None) -> int:
        """Slots that nobody holds now, or is expected to hold just after some time."""
        held = [parts for end, parts in self.held.values() if time is None or end > time]
        return self.slots[machine] - sum(parts.get(machine, 0) for parts in held)

    def promise(self) -> Promise:
        """What the head is promised now."""
        width, every = self.jobs[self.queue[0]].width, range(len(self.slots))
        places = [[m] for m in every] if width <= max(self.slots) else [list(every)]
        for time in sorted({end for end, _ in self.held.values()}):
            for place in places:
                room = sum(self.free(machine, time) for machine in place)
                if room >= width:
                    return Promise(time, place, room - width)
        raise AssertionError(f"the head {self.queue[0]} is promised nothing")

    def open_to(self, job: int) -> list[int]:
        """Slots of each machine that a job behind the head can have now: none if that delays it."""
        free = [self.free(machine) for machine in range(len(self.slots))]
        promise = self.promise()
        if self.now + self.jobs[job].estimate <= promise.time:
            return free
        if len(promise.machines) > 1:
            return free if self.jobs[job].width <= promise.extra else [0] * len(free)
        [machine] = promise.machines
        free[machine] = min(free[machine], promise.extra)
        return free

    def fits(self, job: int, free: Sequence[int]) -> bool:
        """Is there room for it?"""
        width = self.jobs[job].width
        return (max(free) if width <= max(self.slots) else sum(free)) >= width

    def start(self, job: int, machines: Sequence[int]) -> None:
        """It starts on machines that had room, in time if it was promised one."""
        overtakes = job != self.queue[0]
        free = self.open_to(job) if overtakes else [self.free(m) for m in range(len(self.slots))]
        assert self.fits(job, free), f"{self.now}: no room for {job}"
        assert self.now <= self.promised.get(job, self.now), f"{self.now}: {job} was delayed"
        left, parts = self.jobs[job].width, dict[int, int]()
        for machine in machines:
            parts[machine] = min(free[machine], left)
            left -= parts[machine]
        assert left == 0, f"{self.now}: {job} cannot be on {machines} alone"
        self.queue.remove(job)
        self.held[job] = (self.now + self.jobs[job].estimate, parts)

    def check_wait(self) -> None:
        """After a pass: the promise stands, and nobody waits who could start."""
        if not self.queue:
            return
        head, *others = self.queue
        free = [self.free(machine) for machine in range(len(self.slots))]
        assert not self.fits(head, free), f"{self.now}: the head {head} could start"
        time = self.promise().time
        assert time <= self.promised.setdefault(head, time), f"{self.now}: {head} is put off"
        for job in others:
            assert not self.fits(job, self.open_to(job)), f"{self.now}: {job} could start"


def assert_kept(jobs: Sequence[Job], slots: Sequence[int], log: Iterable[LogEntry]) -> int:
    """Every head starts by its first promise, nobody waits who need not; how many heads waited.

    Args:
        jobs: in order of their tasks, all longer than nothing.
        slots: of each machine.
        log: of an episode in which all of them are played.
    """
    count = Recount(jobs, slots)
    for time, entries in groupby(log, key=lambda entry: entry.time):
        count.now = time
        _replay(count, list(entries))
        count.check_wait()
    assert not count.queue
    assert not count.held
    return len(count.promised)


def _replay(count: Recount, entries: Sequence[LogEntry]) -> None:
    """What happened in one instant."""
    for at, entry in enumerate(entries):
        if entry.kind == Event.QUEUED:
            count.queue.append(entry.task)
        elif entry.kind == Event.END:
            del count.held[entry.task]
        elif entry.kind == Event.START:
            count.start(entry.task, list(_machines(entries[at + 1 :], entry.task)))


def _machines(entries: Iterable[LogEntry], task: int) -> Iterable[int]:
    """Where a task was placed, as the entries after its start say."""
    for entry in entries:
        if entry.kind != Event.PLACED or entry.task != task:
            return
        yield entry.detail
