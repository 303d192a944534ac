"""The state of a task and of its attempts, and everything that can be read off it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from failgym.sim.reference.record import Row, TaskRecord, round_half_up
from failgym.sim.shared.rules import Rules
from failgym.vocabulary import Ending, SimOutcome

__all__ = ["Foretold", "Owed", "Pause", "Run", "Saved", "Task"]


class Foretold(Protocol):
    """What is foretold of one attempt, in place of what the forecast says of its row."""

    def risk(self, position: int) -> np.float32:
        """The risk after so many windows."""
        ...


class Pause(NamedTuple):
    """A checkpoint: the attempt does not work from ``start`` to ``end``."""

    start: int
    end: int
    work: int
    """Own work of the attempt when it began [ms]."""


class Saved(NamedTuple):
    """Work of an attempt that outlives it."""

    run: Run
    amount: int
    """Its own work up to the start of the checkpoint [ms]."""


@dataclass(eq=False)
class Run:
    """An attempt that was started: a row of the record replayed, or one beyond the record."""

    row: Row
    number: int
    ghost: bool
    """Beyond the record."""
    start: int
    by_agent: bool = False
    """A clone or a retry; the record or a restart of the cluster started it otherwise."""
    resumed: float = 0.0
    """What it resumed from: f0, a fraction of the task's work (rule 7), or s (C6) [ms]."""
    resumed_work: int = 0
    """Own work behind that, over the whole chain of checkpoints [ms]."""
    parent: Saved | None = None
    """The checkpoint that it resumed from."""
    transfer: int = 0
    """Time from its start that the transfer of its inputs takes; 0 in the pinned world [ms]."""
    restore: int = 0
    """Time after that that the restore takes [ms]."""
    pauses: list[Pause] = field(default_factory=list[Pause])
    end: int | None = None
    """When it ended; None while it is alive."""
    outcome: SimOutcome | None = None
    durable: int = 0
    """Work done when its latest durable checkpoint began, kept or not; 0 before the first [ms]."""
    saved: int = 0
    """Its own work that a kept checkpoint holds [ms]."""
    foretold: Foretold | None = None
    """A1 to A4: what is foretold by its fate; None: what the forecast says of its row."""
    account: str = ""
    """Where its unsaved work went: useful, redundant, ghost, lost or in_flight."""

    def __post_init__(self) -> None:
        self.length = self.row.length
        """L on the machine that it runs on [ms]."""
        self.duration = self.row.duration
        """d on the machine that it runs on [ms]."""

    def elapsed(self, now: int) -> int:
        """Time that it has occupied its slots [ms]."""
        return (now if self.end is None else self.end) - self.start

    def transferred(self, now: int) -> int:
        """Part of that spent on the transfer of its inputs [ms]."""
        return min(self.transfer, self.elapsed(now))

    def restored(self, now: int) -> int:
        """Part of that spent on its restore [ms]."""
        return min(self.restore, self.elapsed(now) - self.transferred(now))

    def paused(self, now: int) -> int:
        """Part of that spent on checkpoints [ms]."""
        until = self.start + self.elapsed(now)
        return sum(min(pause.end, until) - pause.start for pause in self.pauses)

    def work(self, now: int) -> int:
        """Part of that spent working [ms]."""
        elsewhere = self.transferred(now) + self.restored(now) + self.paused(now)
        return self.elapsed(now) - elsewhere

    def progress(self, now: int) -> int:
        """Work behind it: what it resumed from, and its own; its length plays no part [ms]."""
        return self.resumed_work + self.work(now)

    def work_checkpointed(self) -> int:
        """Work done when its latest checkpoint began, durable or not; 0 before the first [ms]."""
        return self.pauses[-1].work if self.pauses else 0

    def busy_saving(self, now: int) -> bool:
        """Does a transfer, a restore or a checkpoint run?"""
        begins = self.start + self.transfer + self.restore
        return now < max([begins, *(pause.end for pause in self.pauses)])

    def needed(self) -> int:
        """Work until its own end, or, if that is external, until it would FINISH (rule 7) [ms]."""
        progress_keyed = self.row.ending in (Ending.FINISH, Ending.INTRINSIC)
        if self.resumed == 0.0:
            return self.duration if progress_keyed else self.length
        share = self.row.share if self.row.ending is Ending.INTRINSIC else 1.0
        return round_half_up(max(share - self.resumed, 0.0) * self.length)

    def work_done_at(self) -> int:
        """When the needed work is done, if no further checkpoint begins."""
        return self.has_worked_at(self.needed())

    def has_worked_at(self, work: int) -> int:
        """When it has worked so long, if no further checkpoint begins [ms]."""
        pauses = sum(pause.end - pause.start for pause in self.pauses)
        return self.start + self.transfer + self.restore + work + pauses

    def ended_by(self) -> Ending | None:
        """What ended it; None if it is alive, did not end as its row did, or was cut."""
        if self.outcome != self.row.outcome or self.outcome is SimOutcome.CENSORED:
            return None
        return self.row.ending


@dataclass(eq=False)
class Owed:
    """A restart that the cluster owes for an attempt that ended (rules 1, 4, 5)."""

    due: int
    number: int
    """Number of the attempt that it follows."""
    may_be_ghost: bool
    """After an intrinsic failure, not after an external end."""


@dataclass(eq=False)
class Task:
    """One task while it is played."""

    record: TaskRecord
    pool: list[Row]
    """Rows not yet started, in row order: recorded starts to come, or, departed, what is left."""
    runs: list[Run] = field(default_factory=list[Run])
    owed: list[Owed] = field(default_factory=list[Owed])
    last_ended: Run | None = None
    durable: float = 0.0
    """The most that a checkpoint holds: f, a fraction (rule 7), or of W (C7) [ms]."""
    durable_work: int = 0
    """Own work behind it, over the whole chain of checkpoints [ms]."""
    best: Saved | None = None
    """The checkpoint that holds it."""

    departed: bool = False
    given_up: bool = False
    kill_at: int | None = None
    """When the grace period is over, once armed."""
    killed: bool = False
    declined: bool = False
    """C8: the cluster starts nothing more of it."""
    user_killed: bool = False
    """K has passed."""
    settled: int | None = None
    outcome: SimOutcome | None = None

    extra: int = 0
    clones: int = 0
    retries: int = 0
    ghosts: int = 0
    checkpoints: int = 0
    failures: int = 0
    decisions: int = 0
    flagged: float = 0.0
    """Largest risk at closed decisions."""

    useful: int = 0
    lost: int = 0
    redundant: int = 0
    ghost: int = 0
    checkpoint: int = 0
    restore: int = 0
    transfer: int = 0
    in_flight: int = 0
    """Of attempts that have ended: saved work, and the work of CENSORED attempts [machine-ms]."""

    @property
    def live(self) -> Sequence[Run]:
        """Attempts that run, in order of their numbers."""
        return sorted((run for run in self.runs if run.end is None), key=lambda run: run.number)

    @property
    def first_start(self) -> int:
        """Start of the first attempt; only asked of tasks that have one."""
        return self.record.rows[0].start

    @property
    def succeeded(self) -> bool:
        """Has it settled by a FINISH?"""
        return self.outcome is SimOutcome.FINISH

    def may_be_asked(self) -> bool:
        """Is anything still asked about it (rules 9, 10, 11)?"""
        return self.settled is None and not self.record.censored and not self.user_killed

    def may_start(self, rules: Rules) -> bool:
        """May the agent still start an extra attempt?"""
        return self.extra < rules.max_extra and not self.given_up

    def is_due(self, rules: Rules) -> bool:
        """Departed: is a restart owed that could still start something (rule 11)?"""
        ghosts = rules.beyond_record == "ghost"
        return any(bool(self.pool) or (owed.may_be_ghost and ghosts) for owed in self.owed)

    def close(self, run: Run, outcome: SimOutcome, now: int) -> None:
        """An attempt is over: class its machine-time (accounts)."""
        run.end, run.outcome = now, outcome
        run.account = self._account(run, outcome)
        self.last_ended = run
        self.checkpoint += self.record.width * run.paused(now)
        self.restore += self.record.width * run.restored(now)
        self.transfer += self.record.width * run.transferred(now)
        unsaved = run.work(now) - run.saved
        self._charge(run.account, unsaved)
        self._charge("useful" if run.account == "useful" else "in_flight", run.saved)

    def settle(self, outcome: SimOutcome, winner: Run | None, now: int) -> None:
        """Saved work is useful along the success's chain, else goes with its attempt (accounts)."""
        self.settled, self.outcome = now, outcome
        self.owed.clear()
        chain: dict[Run, int] = {}
        link = None if winner is None else winner.parent
        while link is not None:
            chain[link.run] = link.amount
            link = link.run.parent
        for run in self.runs:
            if run.end is not None and run is not winner:
                useful = chain.get(run, 0)
                self._charge("in_flight", -run.saved)
                self._charge("useful", useful)
                self._charge(run.account, run.saved - useful)

    def _account(self, run: Run, outcome: SimOutcome) -> str:
        """Where the attempt's unsaved work goes."""
        if outcome is SimOutcome.CANCELLED or self.succeeded:
            return "redundant"
        if outcome is SimOutcome.CENSORED:
            return "in_flight"
        if outcome is SimOutcome.FINISH:
            return "useful"
        return "ghost" if run.ghost else "lost"

    def _charge(self, account: str, work: int) -> None:
        """Add work [ms] to one of the accounts."""
        setattr(self, account, getattr(self, account) + self.record.width * work)

    def busy(self, now: int) -> int:
        """Machine-time that its attempts have occupied, counted from their starts and ends."""
        return self.record.width * sum(run.elapsed(now) for run in self.runs)

    def in_flight_now(self, now: int) -> int:
        """Machine-time not yet classified: live attempts, saved work, CENSORED attempts."""
        return self.in_flight + self.record.width * sum(run.elapsed(now) for run in self.live)

    def completion(self, now: int) -> int:
        """Time from its submission until it settled, or until now [ms]."""
        end = now if self.settled is None else self.settled
        return max(0, end - self.record.submit)
