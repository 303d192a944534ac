"""The state of a task and of its attempts in the scheduled world."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from failgym.sim.reference.record import Row, TaskRecord
from failgym.sim.reference.scheduled.cluster import NEVER, Machine, Part
from failgym.sim.reference.tasks import Pause, Run, Task
from failgym.vocabulary import Ending, SimOutcome

__all__ = ["Attempt", "ClusterTask", "Status", "Write"]


class Status(Enum):
    """Where an attempt is."""

    BLOCKED = "blocked"
    """It wants to run, but its inputs are missing."""
    QUEUED = "queued"
    RUNNING = "running"
    UNNOTICED = "unnoticed"
    """Its machine died, and the cluster has not noticed yet: it will want to run again."""
    GONE = "gone"
    """It ended, or was dropped before it started."""


@dataclass
class Write:
    """The write of an output."""

    start: int
    end: int | None = None
    """When it was durable or lost; None until then."""


@dataclass(eq=False, kw_only=True)
class Attempt(Run):
    """An attempt from the moment at which it wants to run."""

    task: ClusterTask
    recomputes: bool = False
    """It makes a lost output again."""
    status: Status = Status.BLOCKED
    joined: int = 0
    """When it last joined the queue."""
    estimate: int = 0
    """What its run time was taken to be when it joined the queue [ms]."""
    parts: list[Part] = field(default_factory=list[Part])
    """The slots that it occupies, or occupied."""
    reads: dict[Machine, int] = field(default_factory=dict[Machine, int])
    """Machines from which inputs are transferred, and when each of these transfers is over."""
    killer: Machine | None = None
    """UNNOTICED: the machine whose death ended the attempt before it."""
    hit_walltime: bool = False
    """It was killed because its requested walltime was over."""
    write: Write | None = None
    """The write of its output, under way or over."""

    def truth(self, now: int, restore_cost: int) -> int:
        """Rule 9: how long it will run, as one who knows the record expects it now [ms]."""
        del now, restore_cost
        return self.row.duration

    def was_struck(self) -> bool:
        """Did it end from outside as its row did?"""
        return self.row.ending is Ending.EXTERNAL and self.outcome == self.row.outcome

    def elapsed(self, now: int) -> int:
        """Time that it has run; 0 before it starts [ms]."""
        return 0 if self.start < 0 else super().elapsed(now)

    @property
    def key(self) -> tuple[int, int]:
        """Its place among others: trace row of the task, number."""
        return self.task.record.task, self.number

    @property
    def machine(self) -> Machine:
        """The first machine that it runs on: where its output will be."""
        return self.parts[0].machine

    def slots_on(self, machine: Machine) -> int:
        """Slots of a machine that it occupies, or occupied."""
        return sum(part.slots for part in self.parts if part.machine is machine)

    @property
    def is_writing(self) -> bool:
        """Has it ended and occupies its slots to write its output?"""
        return self.write is not None and self.write.end is None

    @property
    def is_paused(self) -> bool:
        """Is a checkpoint of it being written?"""
        return self.status is Status.RUNNING and bool(self.pauses) and self.pauses[-1].end == NEVER

    def pause(self, now: int) -> None:
        """A checkpoint begins; nobody knows yet when it will be durable."""
        self.pauses.append(Pause(now, NEVER, self.work(now)))

    def resume(self, now: int) -> Pause:
        """The checkpoint is durable: work goes on."""
        self.pauses[-1] = self.pauses[-1]._replace(end=now)
        return self.pauses[-1]

    def written(self, now: int) -> int:
        """Time that it occupied its slots to write its output [ms]."""
        if self.write is None:
            return 0
        return (now if self.write.end is None else self.write.end) - self.write.start


@dataclass(eq=False)
class ClusterTask(Task):
    """One task while it is played in the scheduled world."""

    own: bool = True
    """It is asked and charged."""
    standing: bool = False
    """It stood in the cluster when the episode began."""
    most_durable: int = 0
    """Most work that a kept checkpoint of the task has held [ms]."""
    attempts: list[Attempt] = field(default_factory=list["Attempt"])
    """All that ever wanted to run, in order of their creation."""
    first: int = -1
    """First start; -1 before it."""
    winner: Attempt | None = None
    """The attempt that finished the task first."""

    waited: int = 0
    evictions: int = 0
    outages: int = 0
    loss: int = 0
    """Time from dispatch to death of attempts that machines killed, whatever their width [ms]."""
    recomputations: int = 0
    failed: bool = False
    """An attempt of it ended in FAIL."""

    @staticmethod
    def of(record: TaskRecord, *, own: bool, standing: bool = False) -> ClusterTask:
        """A task that has not arrived yet; it has departed from its record from the start."""
        task = ClusterTask(record, list(record.rows), own=own, standing=standing)
        task.departed = True
        return task

    @property
    def live(self) -> list[Attempt]:
        """Attempts that run, in order of their numbers, then of their creation."""
        return sorted(self.having(Status.RUNNING), key=lambda attempt: attempt.number)

    def having(self, *status: Status) -> list[Attempt]:
        """Attempts that are in one of these states."""
        return [attempt for attempt in self.attempts if attempt.status in status]

    @property
    def is_alive(self) -> bool:
        """Does anything of it run, wait, or wait to be noticed?"""
        return any(attempt.status is not Status.GONE for attempt in self.attempts)

    @property
    def first_start(self) -> int:
        """First start in the simulation; only asked of tasks that have one."""
        return self.first

    @property
    def recomputation(self) -> Attempt | None:
        """The attempt that makes its lost output again, if there is one."""
        alive = [a for a in self.attempts if a.recomputes and a.status is not Status.GONE]
        return alive[0] if alive else None

    @property
    def is_asked(self) -> bool:
        """Is anything ever asked about it?"""
        return self.own and not self.record.censored

    @property
    def value(self) -> int:
        """V1: what it is worth where its work is worth itself; 0: no task has a value."""
        return 0

    @property
    def is_forfeited(self) -> bool:
        """Has it settled without a success?"""
        return self.settled is not None and not self.succeeded

    def may_be_asked(self) -> bool:
        """Is anything still asked about attempts of it?"""
        return self.own and super().may_be_asked()

    def run_time(self) -> int | None:
        """Run time of the attempt that finished the task [ms]."""
        if self.winner is None or not self.succeeded:
            return None
        assert self.winner.end is not None
        return self.winner.end - self.winner.start

    def close(self, run: Run, outcome: SimOutcome, now: int) -> None:
        """A recomputation is lost with everything that it took."""
        if not (isinstance(run, Attempt) and run.recomputes):
            super().close(run, outcome, now)
            return
        run.end, run.outcome, run.account = now, outcome, "lost"
        self.last_ended = run
        self.lost += self.record.width * run.elapsed(now)

    def written(self, attempt: Attempt, now: int) -> None:
        """The write of an output is over, durable or lost."""
        assert attempt.write is not None
        attempt.write.end = now
        self.checkpoint += self.record.width * attempt.written(now)

    def busy(self, now: int) -> int:
        """Machine-time that its attempts have occupied, writes of outputs included."""
        written = sum(attempt.written(now) for attempt in self.attempts)
        return super().busy(now) + self.record.width * written

    def in_flight_now(self, now: int) -> int:
        """Machine-time not yet classified, writes of outputs under way included."""
        writing = sum(attempt.written(now) for attempt in self.attempts if attempt.is_writing)
        return super().in_flight_now(now) + self.record.width * writing

    def wants(
        self,
        row: Row,
        number: int,
        *,
        ghost: bool = False,
        by_agent: bool = False,
        recomputes: bool = False,
    ) -> Attempt:
        """An attempt that wants to run from now on."""
        attempt = Attempt(row, number, ghost, -1, by_agent, task=self, recomputes=recomputes)
        self.attempts.append(attempt)
        return attempt
