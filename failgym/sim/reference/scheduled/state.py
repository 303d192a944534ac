"""The state of an episode: clock, log, queue, slots and storage, and what changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from failgym.sim.reference.record import Row, TaskRecord
from failgym.sim.reference.scheduled.attempts import Attempt, ClusterTask, Status
from failgym.sim.reference.scheduled.calendar import Calendar, Questions
from failgym.sim.reference.scheduled.cluster import Cluster
from failgym.sim.reference.scheduled.dags import Dags
from failgym.sim.reference.scheduled.estimates import Estimator
from failgym.sim.reference.scheduled.lineage import Lineage
from failgym.sim.reference.scheduled.records import Job, finishing
from failgym.sim.reference.scheduled.storage import Storage
from failgym.sim.reference.tasks import Saved
from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules
from failgym.sim.shared.forecast import Forecast
from failgym.vocabulary import Event, LogEntry, SimOutcome

__all__ = ["Setting", "State"]


@dataclass(frozen=True)
class Setting:
    """What is the same in every episode."""

    rules: ScheduledRules
    forecast: Forecast
    nodes: NodePredictions | None
    jobs: Sequence[Job]
    records: Sequence[TaskRecord]
    """Every task of the trace, by its row."""
    cluster: Cluster
    dags: Dags
    ranks: Sequence[float]
    """Upward rank of every task of the trace; [] if the scheduler needs none."""
    widest: int
    """Width of the widest task of the trace."""


class State:
    """Everything that changes during an episode; the rules are added in subclasses."""

    def __init__(self, setting: Setting, tasks: Sequence[ClusterTask]) -> None:
        self.rules = setting.rules
        self.forecast = setting.forecast
        self.nodes = setting.nodes
        self.jobs = setting.jobs
        self.records = setting.records
        self.ranks = setting.ranks
        self.cluster = setting.cluster
        self.tasks = tasks
        """Standing tasks first, then by submission."""
        self.began = self.now = 0
        self.log: list[LogEntry] = []
        self.interruptions: list[int] = []
        """When the system ended attempts."""
        self.queue: list[Attempt] = []
        """Attempts that wait for slots, in the order in which they joined."""
        self.calendar = Calendar()
        self.storage = Storage(setting.rules.storage_streams)
        by_row: Mapping[int, ClusterTask] = {task.record.task: task for task in tasks}
        self.lineage = Lineage(setting.rules, setting.dags, by_row)
        submits = [record.submit for record in setting.records]
        self.estimator = Estimator(setting.rules, setting.jobs, submits, setting.widest)
        self.after_event: Callable[[], None] = lambda: None
        """Called after every event and every action."""
        self._pass_due = False

    def write(self, kind: Event, task: ClusterTask, number: int = -1, detail: int = 0) -> None:
        """Add an entry to the log."""
        self.log.append(LogEntry(self.now, int(kind), task.record.task, number, int(detail)))

    def attempts(self, *status: Status) -> list[Attempt]:
        """All attempts in one of these states, by task and number."""
        found = [attempt for task in self.tasks for attempt in task.having(*status)]
        return sorted(found, key=lambda attempt: attempt.key)

    def running(self) -> list[Attempt]:
        """Attempts that run."""
        return self.attempts(Status.RUNNING)

    def writers(self) -> list[Attempt]:
        """Attempts that have ended and occupy their slots to write their output."""
        return [attempt for attempt in self.attempts(Status.GONE) if attempt.is_writing]

    # --- the queue ------------------------------------------------------------------------------

    def request_pass(self) -> None:
        """Rule 7: a pass of the scheduler is due now, once."""
        if not self._pass_due:
            self._pass_due = True
            self.calendar.ask(self.now, Event.DISPATCH, (0, 0), self._pass)

    def _pass(self) -> Questions:
        self._pass_due = False
        yield from self.run_pass()

    def admit(self, attempt: Attempt) -> None:
        """Rule 17: an attempt that wants to run joins the queue, or waits for its inputs."""
        if attempt.task.standing or self.lineage.are_available(attempt.task):
            self._join(attempt)
        else:
            attempt.status = Status.BLOCKED
            self.demand(attempt.task)

    def _join(self, attempt: Attempt) -> None:
        attempt.status, attempt.joined = Status.QUEUED, self.now
        attempt.estimate = self.estimator.estimate(attempt, self.now)
        self.queue.append(attempt)
        self.write(Event.QUEUED, attempt.task, attempt.number)
        self.request_pass()

    def leave(self, attempt: Attempt) -> None:
        """An attempt leaves the queue, for whatever reason."""
        self.queue.remove(attempt)
        attempt.task.waited += self.now - attempt.joined

    def drop(self, task: ClusterTask) -> None:
        """What has not started never will."""
        for attempt in task.having(Status.QUEUED):
            self.leave(attempt)
            self.request_pass()
        for attempt in task.having(Status.QUEUED, Status.BLOCKED, Status.UNNOTICED):
            attempt.status = Status.GONE

    # --- lost and found inputs ------------------------------------------------------------------

    def demand(self, task: ClusterTask) -> None:
        """Rule 18: what it needs and is lost is made again, and what that needs, and so on."""
        for parent, _ in self.lineage.parents(task):
            winner = parent.winner
            if self.lineage.is_missed(parent) and winner is not None:
                self.admit(parent.wants(_again(winner.row), winner.number, recomputes=True))

    def unblock(self) -> None:
        """Rule 17: an output has appeared; attempts that lack nothing more join the queue."""
        for attempt in self.attempts(Status.BLOCKED):
            if self.lineage.are_available(attempt.task):
                self._join(attempt)

    def block(self) -> None:
        """Rule 18: outputs were lost; attempts in the queue that lack them leave it."""
        for attempt in self.attempts(Status.QUEUED):
            if not attempt.task.standing and not self.lineage.are_available(attempt.task):
                self.leave(attempt)
                attempt.status = Status.BLOCKED

    # --- the end of an attempt ------------------------------------------------------------------

    def stop(self, attempt: Attempt, outcome: SimOutcome) -> None:
        """The attempt is over, whatever ended it, and its slots are free."""
        self.end(attempt, outcome)
        self.release(attempt)

    def end(self, attempt: Attempt, outcome: SimOutcome) -> None:
        """The attempt is over; a checkpoint that it was writing is lost."""
        attempt.task.close(attempt, outcome, self.now)
        attempt.task.failed |= outcome is SimOutcome.FAIL
        attempt.status = Status.GONE
        self.write(Event.END, attempt.task, attempt.number, outcome)
        if _by_system(attempt, outcome):
            self.interruptions.append(self.now)
        self.estimator.note_end(attempt)
        self.end_write(attempt)
        self.request_pass()

    def release(self, attempt: Attempt) -> None:
        """Its slots are free."""
        self.cluster.release(attempt.parts)
        self.request_pass()

    # --- storage --------------------------------------------------------------------------------

    def begin_write(self, attempt: Attempt, cost: int) -> None:
        """Rule 13: a write begins; all others become slower."""
        self.storage.begin(attempt, cost, self.now)
        self._date_write()

    def end_write(self, attempt: Attempt) -> None:
        """Rule 13: its write, if any, is durable or lost; all others become faster."""
        self.storage.remove(attempt, self.now)
        self._date_write()

    def _date_write(self) -> None:
        """Put the next end of a write on the calendar; every change dates it anew."""
        due = self.storage.next_end()
        if due is not None:
            time, attempt = due
            self.calendar.add(
                time,
                Event.DURABLE,
                attempt.key,
                lambda: self._durable(attempt),
                lambda: self.storage.next_end() == due,
            )

    def _durable(self, attempt: Attempt) -> None:
        """Rules 13 and 14: a checkpoint or an output is safe."""
        task = attempt.task
        task.checkpoints += 1
        self.write(Event.DURABLE, task, attempt.number)
        if attempt.is_writing:
            task.written(attempt, self.now)
            self.lineage.save(attempt)
            self.release(attempt)
        else:
            self._keep_checkpoint(attempt)
            self.date_end(attempt)
        self.end_write(attempt)

    def _keep_checkpoint(self, attempt: Attempt) -> None:
        """Rule 13: it is kept if it is the task's largest."""
        task, work = attempt.task, attempt.resume(self.now).work
        attempt.durable = work
        held = self.held(attempt, work)
        if held > task.durable:
            attempt.saved = work
            task.durable, task.durable_work = held, attempt.resumed_work + work
            task.most_durable = max(task.most_durable, task.durable_work)
            task.best = Saved(attempt, work)

    def held(self, attempt: Attempt, work: int) -> float:
        """Rule 7: the fraction of the task's work that a checkpoint holds."""
        length = attempt.length
        return min(1.0, attempt.resumed + work / length) if length > 0 else 1.0

    def run_pass(self) -> Questions:
        """Let the scheduler start attempts that wait."""
        raise NotImplementedError

    def date_end(self, attempt: Attempt) -> None:
        """Put the attempt's own end on the calendar."""
        raise NotImplementedError


def _by_system(attempt: Attempt, outcome: SimOutcome) -> bool:
    """Does the system end it: the simulated cluster, or what the record says of another one?"""
    if outcome in (SimOutcome.EVICT, SimOutcome.LOST):
        return True
    return outcome is SimOutcome.FAIL and attempt.was_struck()


def _again(row: Row) -> Row:
    """The row that finished a task, as its recomputation: it cannot fail."""
    return finishing(row, row.start, row.length)
