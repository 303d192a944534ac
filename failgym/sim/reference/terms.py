"""The vocabulary of the reference: codes, and the rows that it hands out."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = [
    "Accounts",
    "Action",
    "Decision",
    "DecisionKind",
    "EventKind",
    "LogEntry",
    "SimOutcome",
    "TaskOutcome",
]


class Action(IntEnum):
    """What the agent may answer; one alphabet for every decision."""

    CONTINUE = 0
    CLONE = 1
    CHECKPOINT = 2
    KILL = 3
    RETRY = 4


class DecisionKind(IntEnum):
    """What is asked."""

    WINDOW = 0
    FAILED = 1
    OUTPUT = 2
    DISPATCH = 3


class EventKind(IntEnum):
    """Kinds of events in the order in which they win ties; from 20 on, for the log only."""

    END = 0
    DURABLE = 1
    RESTORED = 2
    TRANSFER_END = 3
    MACHINE_DOWN = 4
    MACHINE_UP = 5
    DETECTED = 6
    GRACE = 7
    USER_KILL = 8
    START = 9
    WINDOW = 10
    DISPATCH = 11
    DECISION = 20
    SETTLED = 21
    QUEUED = 22
    PLACED = 23
    WRITE_LOST = 24


class SimOutcome(IntEnum):
    """How an attempt or a task ended: `Outcome`, and CANCELLED."""

    FINISH = 0
    FAIL = 1
    KILL = 2
    EVICT = 3
    LOST = 4
    CENSORED = 5
    CANCELLED = 6


class Decision(NamedTuple):
    """What is asked, of which attempt, when."""

    kind: int
    task: int
    """Trace row of the task."""
    attempt: int
    """Number of the attempt within its task."""
    time: int


class LogEntry(NamedTuple):
    """One thing that happened."""

    time: int
    kind: int
    task: int
    """Trace row of the task."""
    number: int
    """Number of the attempt, -1 for what concerns the whole task."""
    detail: int
    """START: 1 for a ghost; END, SETTLED: the outcome; DECISION: the action taken; else 0."""


class Accounts(NamedTuple):
    """Machine-time by what became of it [machine-ms]."""

    useful: int = 0
    in_flight: int = 0
    lost: int = 0
    redundant: int = 0
    ghost: int = 0
    checkpoint: int = 0
    restore: int = 0
    transfer: int = 0


class TaskOutcome(NamedTuple):
    """What became of one task; machine-times in machine-ms, times in ms."""

    task: int
    """Trace row of the task."""
    submit: int
    recorded_end: int
    recorded_outcome: int
    end: int
    """When the task settled; -1 until then."""
    outcome: int
    """`SimOutcome`; -1 until the task settles."""
    useful: int
    lost: int
    redundant: int
    ghost: int
    checkpoint: int
    restore: int
    transfer: int
    attempts: int
    """Attempts started, by anybody."""
    extra: int
    """Extra attempts asked for by the agent, counted against ``max_extra``."""
    clones: int
    retries: int
    checkpoints: int
    """Checkpoints that became durable, kept or not."""
    armed: bool
    killed: bool
    """A kill of the agent was carried out."""
    departed: bool
    failures: int
    """Intrinsic failures until the task settled."""
    decisions: int
    """Decisions asked; one that is asked again counts once."""
    recorded_work: int
    """Machine-time of the record's first success, 0 if there is none."""
