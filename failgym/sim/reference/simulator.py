"""`ReferenceSimulator`: the reference behind the interface of the compiled engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from failgym.sim.reference.continued import ContinuedWorld
from failgym.sim.reference.fates import ContinuedRecord, continue_record
from failgym.sim.reference.observe import Observer
from failgym.sim.reference.player import Costs, Player
from failgym.sim.reference.record import TaskRecord, read_records
from failgym.sim.reference.tasks import Task
from failgym.sim.reference.world import Questions, World
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.fields import FIELDS
from failgym.sim.shared.rules import Rules, Weights
from failgym.traces import Trace
from failgym.vocabulary import Accounts, LogEntry, OpenDecision, TaskOutcome

__all__ = ["ReferenceSimulator", "checked_continuation"]


class ReferenceSimulator(Player):
    """Plays tasks of a trace in the pinned world, decision by decision, slowly and obviously.

    >>> from failgym.sim.shared.rules import Rules
    >>> from failgym.traces import Meta, Trace
    >>> from failgym.vocabulary import Action
    >>> trace = Trace.of(
    ...     Meta("example"),
    ...     jobs={"original_id": ["a"], "submit": [0], "width": [1], "outcome": [0]},
    ...     tasks={"job": [0], "index": [0], "width": [1]},
    ...     attempts={
    ...         "task": [0, 0], "start": [0, 400], "end": [100, 500],
    ...         "outcome": [1, 0], "cause": [0, None],
    ...     },
    ... )
    >>> from failgym.sim.shared.forecast import Forecast
    >>> silent = Forecast.none(trace.content_hash, jobs=1, tasks=1, attempts=2, window=300_000)
    >>> context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), np.float32), silent)
    >>> sim = ReferenceSimulator(trace, Rules(retry=True, max_extra=1), context)
    >>> sim.start([0])
    >>> sim.decision  # the attempt from 0 to 100 failed
    OpenDecision(kind=<Decision.FAILED: 1>, task=0, attempt=0, time=100)
    >>> sim.step(Action.RETRY)  # 100 ms lost, and 200 ms until the retry finishes
    -300.0
    >>> sim.accounts().useful
    100

    Args:
        trace: what happened.
        rules: what may be decided, and at which cost.
        context: what the observation knows besides the record.
        weights: what is charged for.
        seed: key of the lengths that the trace does not give, and of what is drawn behind it.
        continuation: how its records go on; read with ``beyond_record="continued"``, which needs
            it.

    Raises:
        ValueError: if an attempt started and its end is unknown, or the continuation is missing or
            of another number of tasks, or a task has a value and no record is continued.
    """

    def __init__(
        self,
        trace: Trace,
        rules: Rules,
        context: Context,
        weights: Weights | None = None,
        seed: int = 0,
        continuation: Continuation | None = None,
    ) -> None:
        super().__init__(weights)
        self.rules = rules
        self.on_event: Callable[[], None] = lambda: None
        """Called after every event and every action; for tests."""
        self._context = context
        self._records = read_records(trace, rules, context.forecast, seed)
        self._continued: list[ContinuedRecord] | None = None
        if self.weights.task_value is not None and rules.beyond_record != "continued":
            raise ValueError("task_value: expected None unless beyond_record is 'continued'")
        if rules.beyond_record == "continued":
            laws = checked_continuation(continuation, len(self._records))
            self._continued = [
                continue_record(record, rules, laws, seed) for record in self._records
            ]
        self._observer = Observer(trace, self._records, rules, context)
        self.start([])

    def start(self, tasks: Sequence[int], order: Literal["task", "time"] = "task") -> None:
        """Begin an episode and run to its first decision.

        Args:
            tasks: trace rows of the tasks to play.
            order: "task" plays them one after the other, in order of submission, each on its own
                clock; "time" plays them side by side.
        """
        records = sorted((self._records[row] for row in tasks), key=lambda r: (r.submit, r.task))
        self._world = self._new_world(records)
        self._world.after_event = lambda: self.on_event()
        self._order = order
        self.begin(self._episode())

    def _new_world(self, records: Sequence[TaskRecord]) -> World:
        forecast = self._context.forecast
        if self._continued is None:
            return World(records, self.rules, forecast)
        continued = [self._continued[record.task] for record in records]
        return ContinuedWorld(continued, self.rules, forecast)

    def _episode(self) -> Questions:
        """Everything that happens, with the questions in between."""
        if self._order == "time":
            yield from self._world.play(self._world.tasks)
        else:
            for task in self._world.tasks:
                yield from self._world.play([task])

    @property
    def decision(self) -> OpenDecision | None:
        """What is asked; None after the end."""
        asked = self._question
        if asked is None:
            return None
        return OpenDecision(asked.kind, asked.task.record.task, asked.run.number, self._world.now)

    def observation(self) -> npt.NDArray[np.float32]:
        """The fields of `FIELDS` for the decision, float32; zeros after the end."""
        if self._question is None:
            return np.zeros(len(FIELDS), dtype=np.float32)
        return self._observer.observe(self._question, self._world.now, self.mask)

    @property
    def log(self) -> list[LogEntry]:
        """What happened so far."""
        return self._world.log

    def accounts(self) -> Accounts:
        """Machine-time of all tasks by what became of it [machine-ms]."""
        tasks, now = self._world.tasks, self._world.now
        return Accounts(
            useful=sum(task.useful for task in tasks),
            in_flight=sum(task.in_flight_now(now) for task in tasks),
            lost=sum(task.lost for task in tasks),
            redundant=sum(task.redundant for task in tasks),
            ghost=sum(task.ghost for task in tasks),
            checkpoint=sum(task.checkpoint for task in tasks),
            restore=sum(task.restore for task in tasks),
            transfer=sum(task.transfer for task in tasks),
        )

    def busy(self) -> int:
        """Machine-time of all attempts, counted from their starts and ends [machine-ms]."""
        return sum(task.busy(self._world.now) for task in self._world.tasks)

    def outcomes(self) -> list[TaskOutcome]:
        """What became of each task, in order of submission."""
        return [_outcome(task) for task in self._world.tasks]

    def costs(self) -> Costs:
        """Costs up to now; a task that is not yet played has none."""
        accounts, world = self.accounts(), self._world
        return Costs(
            wasted=accounts.lost + accounts.redundant + accounts.ghost,
            overhead=accounts.checkpoint + accounts.restore,
            completion=sum(self._completion(task) for task in world.tasks),
            forfeited_work=world.forfeited_work,
            forfeited_time=world.forfeited_time,
            forfeited_value=world.forfeited_value,
        )

    def _completion(self, task: Task) -> int:
        """Completion time charged so far: in order of tasks only what has begun is charged."""
        asked = self._question
        begun = self._order == "time" or task.settled is not None
        if not begun and (asked is None or asked.task is not task):
            return 0
        return task.completion(self._world.now)


def checked_continuation(continuation: Continuation | None, tasks: int) -> Continuation:
    """The continuation, or one clear line why it does not do."""
    if continuation is None:
        raise ValueError("continuation: expected one with beyond_record='continued', got none")
    if len(continuation.cell) != tasks:
        raise ValueError(
            f"continuation: expected as many tasks as the trace has, {tasks},"
            f" got {len(continuation.cell)}"
        )
    return continuation


def _outcome(task: Task) -> TaskOutcome:
    record = task.record
    success = record.success
    return TaskOutcome(
        task=record.task,
        submit=record.submit,
        recorded_end=record.end,
        recorded_outcome=int(record.outcome),
        end=-1 if task.settled is None else task.settled,
        outcome=-1 if task.outcome is None else int(task.outcome),
        useful=task.useful,
        lost=task.lost,
        redundant=task.redundant,
        ghost=task.ghost,
        checkpoint=task.checkpoint,
        restore=task.restore,
        transfer=task.transfer,
        attempts=len(task.runs),
        extra=task.extra,
        clones=task.clones,
        retries=task.retries,
        checkpoints=task.checkpoints,
        armed=task.kill_at is not None,
        killed=task.killed,
        departed=task.departed,
        failures=task.failures,
        decisions=task.decisions,
        recorded_work=0 if success is None else record.width * success.duration,
    )
