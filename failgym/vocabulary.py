"""The words that traces, engines, references and pictures share; no behaviour.

Times are whole milliseconds from the origin of a trace. Machine-time is milliseconds x slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

__all__ = [
    "ACTIONS",
    "CANCELLED",
    "DAY",
    "HOUR",
    "LOG",
    "MINUTE",
    "NEVER",
    "SECOND",
    "TERMS",
    "Accounts",
    "Action",
    "Cause",
    "Decision",
    "Ending",
    "Event",
    "LogEntry",
    "OpenDecision",
    "Outcome",
    "ScheduledOutcome",
    "SimOutcome",
    "TaskOutcome",
]

# --- Times ----------------------------------------------------------------------------------------

SECOND = 1_000
"""One second [ms]."""
MINUTE = 60 * SECOND
"""One minute [ms]."""
HOUR = 60 * MINUTE
"""One hour [ms]."""
DAY = 24 * HOUR
"""One day [ms]."""
NEVER = 2**62
"""A time that does not come [ms]."""


TERMS = ("wasted", "overhead", "completion", "forfeited", "others")
"""The terms of a cost, and of a reward: machine-time that led to nothing; that of checkpoints; the
time until tasks settle; the tasks that do not finish; and all of that for tasks that the episode
does not ask about, where it is charged for them."""


# --- How attempts end -----------------------------------------------------------------------------


class Outcome(IntEnum):
    """How an attempt, or a job, ended (traces store it as int8)."""

    FINISH = 0
    FAIL = 1
    KILL = 2
    EVICT = 3
    LOST = 4
    CENSORED = 5


class SimOutcome(IntEnum):
    """How a simulated attempt or task ended: `Outcome`, and what only a simulation does."""

    FINISH = Outcome.FINISH
    FAIL = Outcome.FAIL
    KILL = Outcome.KILL
    EVICT = Outcome.EVICT
    LOST = Outcome.LOST
    CENSORED = Outcome.CENSORED
    CANCELLED = 6
    """the first success of the task cancelled the attempt"""


CANCELLED = int(SimOutcome.CANCELLED)


class Cause(IntEnum):
    """Why an attempt ended without finishing (stored as int8; null for FINISH and CENSORED)."""

    INTRINSIC = 0
    MACHINE = 1
    PREEMPTION = 2
    SHARED = 3
    REQUEUE = 4
    DEPENDENCY = 5
    WALLTIME = 6
    USER = 7


class Ending(IntEnum):
    """What ends a recorded attempt, as a simulation replays it."""

    FINISH = 0
    """its work is done"""
    INTRINSIC = 1
    """it fails at a point of its progress"""
    EXTERNAL = 2
    """something outside ends it at a time after its start"""
    USER = 3
    """the user's final kill of the task ends it"""
    CENSORED = 4
    """the data end before it does"""


# --- Decisions ------------------------------------------------------------------------------------


class Action(IntEnum):
    """The action alphabet of every environment."""

    CONTINUE = 0
    CLONE = 1
    CHECKPOINT = 2
    KILL = 3
    RETRY = 4


ACTIONS = len(Action)
"""Size of the one action alphabet."""


class Decision(IntEnum):
    """Kinds of decision."""

    WINDOW = 0
    FAILED = 1
    OUTPUT = 2
    DISPATCH = 3


class OpenDecision(NamedTuple):
    """A decision that waits for an action."""

    kind: Decision
    task: int
    """trace row of the task"""
    attempt: int
    """number of the attempt within its task"""
    time: int
    """[ms]"""


# --- The event log --------------------------------------------------------------------------------


class Event(IntEnum):
    """Kinds of event, in the order in which they win ties; those from 20 on are in the log only."""

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


class LogEntry(NamedTuple):
    """An entry of the event log."""

    time: int
    kind: int
    """an `Event`"""
    task: int
    """trace row of the task, -1 for what concerns a machine"""
    number: int
    """of the attempt, -1 for what concerns the whole task; of a machine, its index"""
    detail: int
    """START: 1 for a ghost, 2 for a recomputation; END, SETTLED: the outcome; DECISION: the action
    taken; PLACED: the machine; else 0"""


LOG = np.dtype(
    [("time", "i8"), ("kind", "i1"), ("task", "i8"), ("number", "i4"), ("detail", "i4")], align=True
)
"""A `LogEntry` in the arrays of the engine."""


# --- What has become of machine-time, and of tasks ------------------------------------------------


class Accounts(NamedTuple):
    """Machine-time by what became of it [machine-ms]."""

    useful: int = 0
    in_flight: int = 0
    """not classified yet"""
    lost: int = 0
    redundant: int = 0
    ghost: int = 0
    checkpoint: int = 0
    restore: int = 0
    transfer: int = 0


@dataclass(frozen=True, order=True, slots=True)
class TaskOutcome:
    """What became of a task, beside what the record says; times in ms, work in machine-ms."""

    task: int
    """trace row of the task"""
    submit: int
    """of a task that stands at the beginning, the beginning"""
    recorded_end: int
    recorded_outcome: int
    end: int
    """-1 while it is not settled"""
    outcome: int
    """`SimOutcome`; -1 while it is not settled"""
    useful: int
    lost: int
    redundant: int
    ghost: int
    checkpoint: int
    restore: int
    transfer: int
    attempts: int
    """attempts started by anybody, recomputations included"""
    extra: int
    """attempts that the agent asked for, clones included"""
    clones: int
    retries: int
    checkpoints: int
    """checkpoints, of outputs too, that became durable, kept or not"""
    armed: bool
    killed: bool
    """a kill of the agent was carried out"""
    departed: bool
    failures: int
    """intrinsic failures until the task settled"""
    decisions: int
    """decisions asked; one that is asked again counts once"""
    recorded_work: int
    """machine-time of the attempt that finishes the task in the record, 0 if none does"""


@dataclass(frozen=True, order=True, slots=True)
class ScheduledOutcome(TaskOutcome):
    """What became of a task of the scheduled world."""

    start: int
    """first start; -1 if it never ran"""
    waited: int
    """time that its attempts have waited in the queue"""
    evictions: int
    outages: int
    """attempts killed by machines"""
    loss: int
    """time from dispatch to death of those, whatever the width"""
    recomputations: int
    """recomputations of its output that started"""
    saved: int
    """1 if its output is on stable storage"""
