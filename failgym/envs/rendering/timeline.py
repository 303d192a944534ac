"""`Timeline`: what has happened in an episode, attempt by attempt, as pictures and files show it.

Times are in ms from the origin of the trace, machine-time is in machine-ms. Nothing here knows what
is still to come: a timeline holds what the event log of the engine has told up to `Timeline.now`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from failgym.vocabulary import Action, Decision, SimOutcome

__all__ = [
    "ACCOUNTS",
    "CLASSES",
    "Attempt",
    "Kind",
    "Mark",
    "Outage",
    "Pause",
    "TaskLine",
    "Timeline",
    "outcome_name",
]

CLASSES = ("useful", "lost", "redundant", "ghost", "checkpoint", "restore", "transfer")
"""Where machine-time goes once its fate is known."""
ACCOUNTS = ("in_flight", *CLASSES)
"""Those, and what is not classified yet; their sum is all machine-time up to now."""


def outcome_name(outcome: int) -> str:
    """Name of an outcome of an attempt or a task."""
    return SimOutcome(outcome).name


class Kind(Enum):
    """Why an attempt was started."""

    ATTEMPT = "attempt"
    """by the record or the cluster"""
    CLONE = "clone"
    RETRY = "retry"
    RECOMPUTATION = "recomputation"
    """its output was lost"""


@dataclass(slots=True)
class Pause:
    """A checkpoint, or the write of an output."""

    start: int
    work: int
    """Own work of the attempt when it began [ms]."""
    end: int | None = None
    """None while it is written."""
    durable: bool = False


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt of a task that has started."""

    task: int
    """Trace row."""
    number: int
    kind: Kind
    ghost: bool
    start: int
    width: int
    own: bool
    """Is its task asked about and charged?"""
    queued: int | None = None
    """When it joined the queue; None where there is none."""
    machines: list[int] = field(default_factory=list[int])
    lane: int = 0
    """Place beside the other live attempts of its task."""
    lanes: list[int] = field(default_factory=list[int])
    """Place beside what else runs there, machine by machine."""
    transferred: int = 0
    """When its inputs are there, as far as is known."""
    restore: int = 0
    """Time that its restore takes after that."""
    resumed: float = 0.0
    """Fraction of the task's work that it resumed from."""
    parent: Attempt | None = None
    parent_work: int = 0
    """Work of the parent that it resumed from [ms]."""
    length: int = 0
    """Undisturbed length, of an attempt that a decision was about."""
    pauses: list[Pause] = field(default_factory=list[Pause])
    write: Pause | None = None
    """The write of its output, after its end."""
    end: int | None = None
    outcome: int = -1
    account: str = "in_flight"
    """Where its unsaved work went."""
    saved: int = 0
    """Own work that a kept checkpoint holds [ms]."""
    useful: int = 0
    """Of that, what the success of its task resumed from [ms]."""
    settled: bool = False
    """Is its saved work classified?"""

    @property
    def restored(self) -> int:
        """When its own work begins."""
        return self.transferred + self.restore

    def until(self, now: int) -> int:
        """Its end, or now."""
        return now if self.end is None else self.end

    def work(self, now: int) -> int:
        """Own work up to now [ms]."""
        until = self.until(now)
        if until <= self.restored:
            return 0
        paused = sum((until if p.end is None else p.end) - p.start for p in self.pauses)
        return until - self.restored - paused

    @property
    def vacated(self) -> int | None:
        """When it gave its slots back; None while it holds them."""
        return self.end if self.write is None else self.write.end


class Mark(NamedTuple):
    """A decision and what was answered, or a kill that was carried out."""

    time: int
    task: int
    number: int
    """of the attempt; -1 where all of the task is meant"""
    decision: Decision | None
    """None for a kill that was carried out"""
    action: Action
    machine: int
    """that was offered, else -1"""


@dataclass(slots=True)
class Outage:
    """A machine is down."""

    machine: int
    down: int
    up: int | None = None


@dataclass(slots=True, eq=False)
class TaskLine:
    """What has become of a task."""

    task: int
    submit: int
    width: int
    own: bool
    """Is it asked about and charged?"""
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    live: dict[int, Attempt] = field(default_factory=dict[int, Attempt])
    """by number"""
    durable: float = 0.0
    """Largest durable fraction of its work."""
    best: Attempt | None = None
    """The attempt that holds it."""
    best_work: int = 0
    finisher: Attempt | None = None
    settled: int | None = None
    outcome: int = -1
    armed: int | None = None
    """When it was armed to be killed."""
    accounts: Counter[str] = field(default_factory=Counter[str])
    """Machine-time by class [machine-ms]."""


@dataclass(slots=True)
class Timeline:
    """What has happened."""

    now: int = 0
    serving: int = -1
    """Task of the open decision, -1 at the end."""
    tasks: dict[int, TaskLine] = field(default_factory=dict[int, TaskLine])
    """by trace row, in the order in which they are served"""
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    """in order of start, task by task where they are served so"""
    live: dict[tuple[int, int], Attempt] = field(default_factory=dict[tuple[int, int], Attempt])
    """those that hold slots"""
    marks: list[Mark] = field(default_factory=list[Mark])
    outages: list[Outage] = field(default_factory=list[Outage])
    waiting: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """(task, number) of what waits in the queue, and since when"""
    settled: int = 0
    """Tasks that are settled, of those that are asked about."""
    decisions: int = 0
    accounts: Counter[str] = field(default_factory=Counter[str])
    """Machine-time of all tasks by class [machine-ms]."""
    own_accounts: Counter[str] = field(default_factory=Counter[str])
    """The same of the tasks that are asked about."""

    def in_flight(self, own: bool = False) -> int:
        """Machine-time up to now that is not classified yet [machine-ms].

        Args:
            own: only that of the tasks that are asked about.
        """
        accounts = self.own_accounts if own else self.accounts
        live = (a for a in self.live.values() if not own or self.tasks[a.task].own)
        return accounts["saved"] + sum(_running(a, self.now) for a in live)

    def totals(self, own: bool = False) -> dict[str, int]:
        """Machine-time by account up to now [machine-ms]; arguments as for `in_flight`."""
        accounts = self.own_accounts if own else self.accounts
        return {"in_flight": self.in_flight(own), **{name: accounts[name] for name in CLASSES}}


def _running(attempt: Attempt, now: int) -> int:
    """Machine-time of an attempt that runs, or writes its output, that is not classified yet."""
    if attempt.end is None:
        return (now - attempt.start) * attempt.width
    return 0 if attempt.write is None else (now - attempt.write.start) * attempt.width
