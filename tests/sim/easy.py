"""EASY backfilling, event by event, written from its published definition: an oracle for tests.

Lifka, JSSPP 1995; Mu'alem & Feitelson, IEEE TPDS 12(6), 2001, section 2. Nothing here is fast, and
nothing here knows failgym.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, NamedTuple

Order = Literal["together", "ends first", "arrivals first", "foreseen ends first"]
"""What the scheduler sees of the events of one instant; the definition leaves it open.

`together`: one pass, after all ends and arrivals. The others run a pass after each event, with ends
before arrivals or after them; ends follow each other in the order of the starts, arrivals in that
of the jobs. `foreseen ends first`: as `ends first`, but who ends at the estimate has left by the
first pass of that instant. The simulator pyss does so: it plans with a profile of estimates.
"""


@dataclass(frozen=True)
class Job:
    """A rigid job; all times in one unit."""

    submit: int
    width: int  # processors
    run: int  # at most the estimate: a job is cut there
    estimate: int


class Reservation(NamedTuple):
    """What the first job of the queue is promised while it does not fit."""

    shadow: int  # the estimated end at which enough processors are free for it
    extra: int  # processors that are free at that time and that it does not need


class Event(NamedTuple):
    """What calls the scheduler; sorted in the order of handling."""

    time: int
    rank: int  # among the kinds of event at that time
    serial: int  # in the order in which events become known
    job: int
    is_end: bool


@dataclass
class Machine:
    """A homogeneous machine and its queue, at one instant."""

    jobs: Sequence[Job]
    processors: int
    now: int = 0
    queue: list[int] = field(default_factory=list[int])  # in order of arrival
    running: list[int] = field(default_factory=list[int])  # in order of start
    starts: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def free(self) -> int:
        """Processors that no job holds."""
        return self.processors - sum(self.jobs[job].width for job in self.running)

    def estimated_end(self, job: int) -> int:
        """When a running job must have ended."""
        return self.starts[job] + self.jobs[job].estimate

    def start(self, job: int) -> None:
        """Take a job from the queue and run it from now on."""
        self.queue.remove(job)
        self.running.append(job)
        self.starts[job] = self.now

    def end(self, job: int) -> None:
        """Free the processors of a job, unless `end_foreseen` did."""
        if job in self.running:
            self.running.remove(job)

    def end_foreseen(self) -> None:
        """Free the processors of every job whose estimate is over."""
        for job in [job for job in self.running if self.estimated_end(job) == self.now]:
            self.end(job)


def easy_starts(jobs: Sequence[Job], processors: int, order: Order = "together") -> list[int]:
    """The start of each job.

    Raises:
        ValueError: a job that never fits the machine, or runs beyond its estimate.
    """
    starts: dict[int, int] = {}
    for machine in easy_passes(jobs, processors, order):
        starts = machine.starts
    return [starts[job] for job in range(len(jobs))]


def easy_passes(
    jobs: Sequence[Job], processors: int, order: Order = "together"
) -> Iterator[Machine]:
    """The machine after each pass of the scheduler: one object, which the next pass changes.

    Raises:
        ValueError: a job that never fits the machine, or runs beyond its estimate.
    """
    _check(jobs, processors)
    machine = Machine(jobs, processors)
    serial = count()
    events = _arrivals(jobs, serial)
    rank_of_ends = 2 if order == "arrivals first" else 0  # arrivals have 1
    while events:
        instant = machine.now = events[0].time
        if order == "foreseen ends first":
            machine.end_foreseen()
        _handle(machine, heapq.heappop(events))
        while order == "together" and events and events[0].time == instant:
            _handle(machine, heapq.heappop(events))
        for job in schedule(machine):
            end = instant + jobs[job].run
            heapq.heappush(events, Event(end, rank_of_ends, next(serial), job, is_end=True))
        yield machine


def schedule(machine: Machine) -> list[int]:
    """One pass of the scheduler: starts what may start now; the started jobs, in that order."""
    jobs, started = machine.jobs, list[int]()
    while machine.queue and jobs[machine.queue[0]].width <= machine.free:
        started.append(machine.queue[0])
        machine.start(machine.queue[0])
    if not machine.queue:
        return started
    shadow, extra = reservation(machine)
    for job in machine.queue[1:]:
        ends_in_time = machine.now + jobs[job].estimate <= shadow
        if jobs[job].width <= machine.free and (ends_in_time or jobs[job].width <= extra):
            extra -= 0 if ends_in_time else jobs[job].width
            started.append(job)
            machine.start(job)
    return started


def reservation(machine: Machine) -> Reservation:
    """The reservation of the first job of the queue, which does not fit now.

    All running jobs that are estimated to end at the shadow time are added to what is free then.
    """
    width = machine.jobs[machine.queue[0]].width
    free, shadow = machine.free, machine.now
    for job in sorted(machine.running, key=machine.estimated_end):
        if free >= width and machine.estimated_end(job) > shadow:
            break  # enough are free, and the next job ends later
        free += machine.jobs[job].width
        shadow = machine.estimated_end(job)
    return Reservation(shadow, free - width)


def _arrivals(jobs: Sequence[Job], serial: Iterator[int]) -> list[Event]:
    by_submit = sorted(range(len(jobs)), key=lambda job: jobs[job].submit)
    return [Event(jobs[job].submit, 1, next(serial), job, is_end=False) for job in by_submit]


def _handle(machine: Machine, event: Event) -> None:
    if event.is_end:
        machine.end(event.job)
    else:
        machine.queue.append(event.job)


def _check(jobs: Sequence[Job], processors: int) -> None:
    for number, job in enumerate(jobs):
        if not 0 < job.width <= processors:
            raise ValueError(f"job {number}: {job.width} processors of {processors}")
        if not 0 <= job.run <= job.estimate:
            raise ValueError(f"job {number}: runs {job.run}, estimated at {job.estimate}")
