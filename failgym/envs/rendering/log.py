"""From the event log of the engine to a `Timeline`.

The log (`failgym.vocabulary.LOG`) says when attempts start and end and what was decided. What
follows for the accounts is worked out here, with the engine's own rule of where work goes, and
compared with the engine's accounts in the tests.
"""

from __future__ import annotations

from collections.abc import Callable

from failgym.envs.rendering.entries import Asked
from failgym.envs.rendering.lanes import Lanes
from failgym.envs.rendering.phases import phases
from failgym.envs.rendering.timeline import Attempt, Kind, Mark, Outage, Pause, Timeline
from failgym.sim.shared.accounts import GHOST, LOST, REDUNDANT, UNKNOWN, fate_of_work
from failgym.vocabulary import Action, Decision, Event, LogEntry

__all__ = ["LogReader"]

_GHOST, _RECOMPUTATION = 1, 2
"""Details of a START."""
_STARTED_BY = {Action.CLONE: Kind.CLONE, Action.RETRY: Kind.RETRY}


class LogReader:
    """Writes a timeline as the log goes on.

    Args:
        timeline: what is written; its tasks are there already.
        restore_cost: time that resuming from a checkpoint takes [ms].
    """

    def __init__(self, timeline: Timeline, restore_cost: int) -> None:
        self.timeline = timeline
        self.asked: Asked | None = None
        """The open decision, which the next entry of a decision answers."""
        self.ended: list[Attempt] = []
        """Attempts that have ended since the list was emptied."""
        self.restore_cost = restore_cost
        self._kinds: dict[tuple[int, int], Kind] = {}
        self._started_by: tuple[int, int, Kind] | None = None
        self._last: dict[tuple[int, int], Attempt] = {}
        self._lanes = Lanes()
        self._down: dict[int, Outage] = {}
        self._handlers: dict[int, Callable[[LogEntry], None]] = {
            Event.QUEUED: self._queued,
            Event.START: self._start,
            Event.PLACED: self._placed,
            Event.TRANSFER_END: self._transferred,
            Event.END: self._end,
            Event.DURABLE: self._durable,
            Event.WRITE_LOST: self._written,
            Event.DECISION: self._decision,
            Event.GRACE: self._killed,
            Event.USER_KILL: self._killed,
            Event.SETTLED: self._settled,
            Event.MACHINE_DOWN: self._goes_down,
            Event.MACHINE_UP: self._comes_up,
        }

    def read(self, entry: LogEntry) -> None:
        """Go on with the next entry of the log."""
        handle = self._handlers.get(entry.kind)
        if handle is not None:
            handle(entry)

    def is_down(self, machine: int, since: int) -> None:
        """Say that a machine is down."""
        outage = Outage(machine, since)
        self._down[machine] = outage
        self.timeline.outages.append(outage)

    # --- Attempts ---------------------------------------------------------------------------------

    def _queued(self, e: LogEntry) -> None:
        self._name(e)
        self.timeline.waiting[e.task, e.number] = e.time

    def _name(self, e: LogEntry) -> Kind:
        """Why an attempt is started: by a decision, if it is new and comes just after it."""
        by, self._started_by = self._started_by, None
        key = (e.task, e.number)
        if key not in self._kinds:
            here = by is not None and by[:2] == (e.time, e.task)
            self._kinds[key] = by[2] if by is not None and here else Kind.ATTEMPT
        return self._kinds[key]

    def _start(self, e: LogEntry) -> None:
        task, key = self.timeline.tasks[e.task], (e.task, e.number)
        again = e.detail == _RECOMPUTATION
        kind = Kind.RECOMPUTATION if again else self._name(e)
        ghost = e.detail == _GHOST
        attempt = Attempt(e.task, e.number, kind, ghost, e.time, task.width, task.own)
        attempt.queued = self.timeline.waiting.pop(key, None)
        attempt.transferred = e.time
        if not again and task.durable > 0.0:
            attempt.resumed, attempt.restore = task.durable, self.restore_cost
            attempt.parent, attempt.parent_work = task.best, task.best_work
        self._last[key] = self.timeline.live[key] = task.live[e.number] = attempt
        task.attempts.append(attempt)
        self.timeline.attempts.append(attempt)
        attempt.lane = self._lanes.take(("task", e.task))

    def _placed(self, e: LogEntry) -> None:
        attempt = self._last[e.task, e.number]
        attempt.machines.append(e.detail)
        attempt.lanes.append(self._lanes.take(("machine", e.detail)))

    def _transferred(self, e: LogEntry) -> None:
        self._last[e.task, e.number].transferred = e.time

    def _end(self, e: LogEntry) -> None:
        task = self.timeline.tasks[e.task]
        attempt = task.live.pop(e.number, None)
        if attempt is None:  # a row of the record that never started
            return
        attempt.end, attempt.outcome = e.time, e.detail
        if attempt.pauses and attempt.pauses[-1].end is None:
            attempt.pauses[-1].end = e.time
        attempt.account = _account(attempt, e.detail, task.settled is not None)
        if attempt.account == "useful":
            task.finisher = attempt
        self.charge(attempt, 1)
        self.ended.append(attempt)
        self._vacate(attempt)

    def _vacate(self, attempt: Attempt) -> None:
        self.timeline.live.pop((attempt.task, attempt.number), None)
        self._lanes.give(("task", attempt.task), attempt.lane)
        for machine, lane in zip(attempt.machines, attempt.lanes, strict=True):
            self._lanes.give(("machine", machine), lane)

    # --- Checkpoints ------------------------------------------------------------------------------

    def _durable(self, e: LogEntry) -> None:
        attempt, task = self._last[e.task, e.number], self.timeline.tasks[e.task]
        if attempt.end is not None:
            self._written(e)
            return
        pause = attempt.pauses[-1]
        pause.end, pause.durable = e.time, True
        fraction = 1.0
        if attempt.length > 0:
            fraction = min(1.0, attempt.resumed + pause.work / attempt.length)
        if fraction > task.durable:
            task.durable, task.best, task.best_work = fraction, attempt, pause.work
            attempt.saved = pause.work

    def _written(self, e: LogEntry) -> None:
        """The write of an output is over: it is durable, or lost with its machine."""
        attempt = self._last[e.task, e.number]
        if attempt.write is not None:
            attempt.write.end = e.time
            attempt.write.durable = e.kind == Event.DURABLE
            self._add(attempt, "checkpoint", e.time - attempt.write.start)
            self._vacate(attempt)

    # --- Decisions and tasks ----------------------------------------------------------------------

    def _decision(self, e: LogEntry) -> None:
        asked, action = self.asked, Action(e.detail)
        assert asked is not None, "an answer without a decision"
        self.timeline.decisions += 1
        mark = Mark(e.time, e.task, e.number, asked.kind, action, asked.machine)
        self.timeline.marks.append(mark)
        attempt, task = self._last.get((e.task, e.number)), self.timeline.tasks[e.task]
        dispatches = asked.kind is Decision.DISPATCH
        if attempt is not None and not dispatches:
            attempt.length = asked.length
        if action is Action.CHECKPOINT and attempt is not None:
            self._save(attempt, e.time)
        elif action in _STARTED_BY and not dispatches:
            self._started_by = (e.time, e.task, _STARTED_BY[action])
        elif action is Action.KILL and task.armed is None:
            task.armed = e.time

    def _save(self, attempt: Attempt, now: int) -> None:
        """A checkpoint begins, or the write of an output, for which the slots are kept."""
        if attempt.end is None:
            attempt.pauses.append(Pause(now, attempt.work(now)))
            return
        attempt.write = Pause(now, attempt.work(now))
        self.timeline.live[attempt.task, attempt.number] = attempt
        self._lanes.keep(("task", attempt.task), attempt.lane)
        for machine, lane in zip(attempt.machines, attempt.lanes, strict=True):
            self._lanes.keep(("machine", machine), lane)

    def _killed(self, e: LogEntry) -> None:
        mark = Mark(e.time, e.task, -1, None, Action.KILL, -1)
        self.timeline.marks.append(mark)

    def _settled(self, e: LogEntry) -> None:
        task = self.timeline.tasks[e.task]
        task.settled, task.outcome = e.time, e.detail
        self.timeline.settled += task.own
        link = task.finisher
        while link is not None and link.parent is not None:
            link.parent.useful, link = link.parent_work, link.parent
        for attempt in task.attempts:
            if attempt.end is not None and attempt is not task.finisher and attempt.saved:
                self._settle_saved(attempt)
        for key in [key for key in self.timeline.waiting if key[0] == e.task]:
            del self.timeline.waiting[key]

    def _settle_saved(self, attempt: Attempt) -> None:
        """Saved work is useful as far as the success resumed from it, else goes with the rest."""
        attempt.settled = True
        self._add(attempt, "saved", -attempt.saved)
        self._add(attempt, "useful", attempt.useful)
        rest = "saved" if attempt.account == "in_flight" else attempt.account
        self._add(attempt, rest, attempt.saved - attempt.useful)

    def charge(self, attempt: Attempt, sign: int) -> None:
        """Put the machine-time of an ended attempt on its accounts, or (-1) take it off."""
        for phase in phases(attempt, self.timeline.now):
            account = "saved" if phase.account == "in_flight" else phase.account
            self._add(attempt, account, sign * (phase.end - phase.start))

    def _add(self, attempt: Attempt, account: str, time: int) -> None:
        task, amount = self.timeline.tasks[attempt.task], time * attempt.width
        task.accounts[account] += amount
        self.timeline.accounts[account] += amount
        if task.own:
            self.timeline.own_accounts[account] += amount

    # --- Machines ---------------------------------------------------------------------------------

    def _goes_down(self, e: LogEntry) -> None:
        self.is_down(e.number, e.time)

    def _comes_up(self, e: LogEntry) -> None:
        outage = self._down.pop(e.number, None)
        if outage is not None:
            outage.up = e.time


_FATES = {LOST: "lost", REDUNDANT: "redundant", GHOST: "ghost", UNKNOWN: "in_flight"}


def _account(attempt: Attempt, outcome: int, settled: bool) -> str:
    """Where the unsaved work of an attempt goes that ends; in flight if nobody knows its fate."""
    if attempt.kind is Kind.RECOMPUTATION:
        return "lost"
    return _FATES.get(fate_of_work(outcome, settled, attempt.ghost), "useful")
