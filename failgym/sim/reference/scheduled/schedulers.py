"""The queue, and what each scheduler starts in a pass over it (rules 7 to 10 of the package)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from failgym.sim.reference.decisions import Question
from failgym.sim.reference.record import TaskRecord
from failgym.sim.reference.scheduled.attempts import Attempt
from failgym.sim.reference.scheduled.calendar import Questions
from failgym.sim.reference.scheduled.cluster import Cluster, Machine, Part
from failgym.sim.reference.scheduled.estimates import Estimator
from failgym.sim.reference.scheduled.lineage import Lineage
from failgym.sim.reference.scheduled.records import Job
from failgym.sim.reference.scheduled.reservations import Reservation, reserve, room
from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules
from failgym.vocabulary import Action

__all__ = ["Offer", "Query", "Scheduler", "Surroundings", "is_predicted"]


class Query(NamedTuple):
    """Will a machine fail while it runs a task? Asked of the predictor, or passed over."""

    event: int
    """Number of the pass; passes over an empty queue are not numbered."""
    job: int
    """Trace row of the task."""
    machine: int
    asked: bool
    """The machine was offered."""
    answered: bool
    """It is predicted to fail."""
    fails: bool
    """An outage of it begins while the task would run there."""


@dataclass
class Offer(Question):
    """A DISPATCH decision."""

    machine: Machine
    time: int
    """Time that the transfer and the task would take there [ms]."""
    next_time: int | None
    """The same on the machine that is offered next; None if this is the last one."""


class Surroundings(Protocol):
    """What a scheduler sees of the world, and does to it."""

    rules: ScheduledRules
    cluster: Cluster
    lineage: Lineage
    estimator: Estimator
    jobs: Sequence[Job]
    records: Sequence[TaskRecord]
    ranks: Sequence[float]
    nodes: NodePredictions | None
    queue: list[Attempt]
    now: int

    def running(self) -> list[Attempt]:
        """Attempts that run."""
        ...

    def writers(self) -> list[Attempt]:
        """Attempts that have ended and write their output."""
        ...

    def start(self, attempt: Attempt, parts: Sequence[Part]) -> None:
        """Take an attempt from the queue and start it."""
        ...

    def evict(self, attempt: Attempt) -> None:
        """Stop an attempt and put it at the tail of the queue."""
        ...

    def ask_dispatch(
        self, attempt: Attempt, machine: Machine, times: Sequence[int], *, refused: int
    ) -> Generator[Question, Action, bool]:
        """Offer a machine, given the time there and on those after it; tell if it was taken."""
        ...

    def close_decision(self, attempt: Attempt) -> None:
        """The offers to an attempt are over."""
        ...


class Scheduler:
    """Starts attempts that wait."""

    def __init__(self, world: Surroundings) -> None:
        self._world = world
        self._passes = 0
        self.queries: list[Query] = []
        self._held: list[Attempt] = []
        """Attempts for which every machine was refused, in the order of the last pass."""

    def run(self) -> Questions:
        """One pass over the queue."""
        if not self._world.queue:
            return
        scheduler = self._world.rules.scheduler
        if scheduler == "rank_hybd":
            yield from self._by_rank()
        elif scheduler == "easy_backfill":
            self._start_heads()
            self._backfill()
        else:
            self._start_heads()
        self._passes += 1

    # --- fifo and priority ----------------------------------------------------------------------

    def _in_order(self) -> list[Attempt]:
        """The attempts that could start if they had slots, the head first (rules 7 and 8)."""
        world = self._world
        waiting = [a for a in world.queue if world.lineage.are_reachable(a.task)]
        if world.rules.scheduler == "priority":
            waiting.sort(key=lambda attempt: -self._priority(attempt))
        return waiting

    def _priority(self, attempt: Attempt) -> int:
        return self._world.jobs[attempt.task.record.job].priority

    def _start_heads(self) -> None:
        """Start the head of the queue as long as it fits."""
        while waiting := self._in_order():
            if not self._start_head(waiting[0]):
                return

    def _start_head(self, head: Attempt) -> bool:
        width = head.task.record.width
        parts = self._world.cluster.place(width)
        if parts is None and self._world.rules.preemption:
            for victim in self._victims(head):
                self._world.evict(victim)
            parts = self._world.cluster.place(width)
        if parts is None:
            return False
        self._world.start(head, parts)
        return True

    def _victims(self, head: Attempt) -> list[Attempt]:
        """Rule 8: who is evicted to make room; nobody if that cannot be done."""
        cluster, width = self._world.cluster, head.task.record.width
        lower = [run for run in self._world.running() if self._priority(run) < self._priority(head)]
        lower.sort(key=lambda run: (self._priority(run), -run.start, -run.key[0], -run.key[1]))
        for count in range(1, len(lower) + 1):
            for place in cluster.places(width):
                if room(place, lower[:count]) >= width:
                    return _needed(place, lower[:count], width)
        return []

    # --- easy_backfill --------------------------------------------------------------------------

    def _backfill(self) -> None:
        """Rule 9: start others, as far as that does not delay the head by their estimates."""
        waiting = self._in_order()
        if not waiting:
            return
        world, width = self._world, waiting[0].task.record.width
        reservation = reserve(world.cluster, width, self._expected_ends())
        for attempt in waiting[1:]:
            self._backfill_one(attempt, reservation)

    def _backfill_one(self, attempt: Attempt, reservation: Reservation) -> None:
        world, width = self._world, attempt.task.record.width
        if world.now + attempt.estimate <= reservation.time:
            parts = world.cluster.place(width)
        else:
            parts = reservation.place_beside(world.cluster, width)
            reservation.take(parts or ())
        if parts is not None:
            world.start(attempt, parts)

    def _expected_ends(self) -> list[tuple[int, Attempt]]:
        """When each attempt that occupies slots is expected to free them."""
        world = self._world
        runs = (*world.running(), *world.writers())
        return [(world.estimator.estimated_end(run, world.now), run) for run in runs]

    # --- rank_hybd ------------------------------------------------------------------------------

    def _by_rank(self) -> Questions:
        """Rule 10: each attempt in turn goes to the machine on which it would finish first."""
        self._held = []
        for attempt in self._ranked():
            candidates = self._candidates(attempt)
            if candidates and self._is_asked(attempt):
                yield from self._offer(attempt, candidates)
            elif candidates:
                self._start_on(attempt, candidates[0])

    def place_held(self) -> bool:
        """Rule 10: when nothing else can happen the first attempt held is placed, unasked."""
        for attempt in self._held:
            candidates = self._candidates(attempt)
            if attempt in self._world.queue and candidates:
                self._start_on(attempt, candidates[0])
                return True
        return False

    def _ranked(self) -> list[Attempt]:
        """Within one job the highest rank first, between jobs the lowest (Yu and Shi 2008)."""
        queue, ranks = self._world.queue, self._world.ranks
        if self._world.rules.rank_by == "arrival":
            return list(queue)
        jobs = {attempt.task.record.job for attempt in queue}
        sign = -1 if len(jobs) == 1 else 1
        return sorted(queue, key=lambda attempt: (sign * ranks[attempt.key[0]], *attempt.key))

    def _is_asked(self, attempt: Attempt) -> bool:
        return self._world.rules.place and attempt.task.is_asked and not attempt.recomputes

    def _candidates(self, attempt: Attempt) -> list[Machine]:
        """Machines with room, by the earliest finish."""
        world, task = self._world, attempt.task
        if not world.lineage.are_reachable(task):
            return []
        machines = world.cluster.with_room(task.record.width)
        return sorted(machines, key=lambda machine: (self._time(attempt, machine), machine.index))

    def _time(self, attempt: Attempt, machine: Machine) -> int:
        """Transfer and compute time of a task on a machine [ms]."""
        world, task = self._world, attempt.task
        transfer = max(world.lineage.transfers(task, machine).values(), default=0)
        return transfer + world.cluster.compute(world.records[task.record.task], machine)

    def _start_on(self, attempt: Attempt, machine: Machine) -> None:
        self._world.start(attempt, [Part(machine, attempt.task.record.width)])

    def _offer(self, attempt: Attempt, candidates: Sequence[Machine]) -> Questions:
        """Rule 10: offer the machines one by one until one is taken; else hold the attempt."""
        times = [self._time(attempt, machine) for machine in candidates]
        asked, taken = 0, False
        for machine in candidates:
            left = times[asked:]
            taken = yield from self._world.ask_dispatch(attempt, machine, left, refused=asked)
            asked += 1
            if taken:
                break
        self._world.close_decision(attempt)
        for rank, machine in enumerate(candidates):
            self._record_query(attempt, machine, asked=rank < asked)
        if taken:
            self._start_on(attempt, candidates[asked - 1])
        else:
            self._held.append(attempt)

    def _record_query(self, attempt: Attempt, machine: Machine, *, asked: bool) -> None:
        now, time = self._world.now, self._time(attempt, machine)
        answered = is_predicted(self._world.nodes, machine, now, time)
        fails = any(now < outage.down <= now + time for outage in machine.outages)
        task = attempt.task.record.task
        self.queries.append(Query(self._passes, task, machine.index, asked, answered, fails))


def _needed(place: Sequence[Machine], victims: Sequence[Attempt], width: int) -> list[Attempt]:
    """Rule 8: from the last backwards, whoever need not go stays."""
    needed = list(victims)
    for run in reversed(victims):
        others = [other for other in needed if other is not run]
        needed = others if room(place, others) >= width else needed
    return needed


def is_predicted(nodes: NodePredictions | None, machine: Machine, now: int, time: int) -> bool:
    """Is the machine predicted to fail within that time from now?"""
    if nodes is None:
        return False
    first, beyond = (int(x) for x in nodes.offset[machine.index : machine.index + 2])
    return any(now < int(moment) <= now + time for moment in nodes.time[first:beyond])
