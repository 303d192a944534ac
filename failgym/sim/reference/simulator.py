"""`ReferenceSimulator`: the reference behind the interface of the compiled engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.context import Context
from failgym.sim.fields import FIELDS
from failgym.sim.reference.decisions import Question
from failgym.sim.reference.observe import Observer
from failgym.sim.reference.record import read_records
from failgym.sim.reference.tasks import Task
from failgym.sim.reference.terms import Accounts, Action, Decision, LogEntry, TaskOutcome
from failgym.sim.reference.world import Questions, World
from failgym.sim.rules import Rules, Weights
from failgym.traces import Trace

__all__ = ["ReferenceSimulator"]


class _Costs(NamedTuple):
    """Final costs so far, unweighted: machine-ms, and ms."""

    wasted: int = 0
    overhead: int = 0
    completion: int = 0
    forfeited_work: int = 0
    forfeited_time: int = 0


class ReferenceSimulator:
    """Plays tasks of a trace in the pinned world, decision by decision, slowly and obviously.

    >>> from failgym.sim.rules import Rules
    >>> from failgym.traces import Meta, Trace
    >>> trace = Trace.of(
    ...     Meta("example"),
    ...     jobs={"original_id": ["a"], "submit": [0], "width": [1], "outcome": [0]},
    ...     tasks={"job": [0], "index": [0], "width": [1]},
    ...     attempts={
    ...         "task": [0, 0], "start": [0, 400], "end": [100, 500],
    ...         "outcome": [1, 0], "cause": [0, None],
    ...     },
    ... )
    >>> from failgym.sim.forecast import Forecast
    >>> silent = Forecast.none(trace.content_hash, jobs=1, tasks=1, attempts=2, window=300_000)
    >>> context = Context(np.zeros((8, 24, 3)), np.zeros((1, 8), np.float32), silent)
    >>> sim = ReferenceSimulator(trace, Rules(retry=True, max_extra=1), context)
    >>> sim.start([0])
    >>> sim.decision  # the attempt from 0 to 100 failed
    Decision(kind=1, task=0, attempt=0, time=100)
    >>> sim.step(Action.RETRY)  # 100 ms lost, and 200 ms until the retry finishes
    -300.0
    >>> sim.accounts().useful
    100

    Args:
        trace: what happened.
        rules: what may be decided, and at which cost.
        context: what the observation knows besides the record.
        weights: what is charged for.
        seed: key of the lengths that the trace does not give.

    Raises:
        ValueError: if an attempt started and its end is unknown.
    """

    def __init__(
        self,
        trace: Trace,
        rules: Rules,
        context: Context,
        weights: Weights | None = None,
        seed: int = 0,
    ) -> None:
        self.rules = rules
        self.weights = Weights() if weights is None else weights
        self.on_event: Callable[[], None] = lambda: None
        """Called after every event and every action; for tests."""
        self._context = context
        self._records = read_records(trace, rules, context.forecast, seed)
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
        self._world = World(records, self.rules, self._context.forecast)
        self._world.after_event = lambda: self.on_event()
        self._order = order
        self._question: Question | None = None
        self._charged = _Costs()
        self.illegal = 0
        self._play = self._episode()
        self._ask_next(None)

    def _episode(self) -> Questions:
        """Everything that happens, with the questions in between."""
        if self._order == "time":
            yield from self._world.play(self._world.tasks)
        else:
            for task in self._world.tasks:
                yield from self._world.play([task])

    def _ask_next(self, answer: Action | None) -> None:
        try:
            self._question = next(self._play) if answer is None else self._play.send(answer)
        except StopIteration:
            self._question = None

    def step(self, action: int) -> float:
        """Answer the decision, run to the next one or to the end, and return the reward.

        An illegal action counts as CONTINUE and in `illegal`. Raises ValueError after the end and
        for an action that is none.
        """
        if self._question is None:
            raise ValueError("the episode has ended: there is nothing to decide")
        answer = Action(action)
        if not self.mask[answer]:
            self.illegal += 1
            answer = Action.CONTINUE
        self._ask_next(answer)
        costs = self._costs()
        self._terms = self._weighted(self._charged, costs)
        self._charged = costs
        wasted, overhead, completion, forfeited = self._terms
        return wasted + overhead + completion + forfeited

    @property
    def decision(self) -> Decision | None:
        """What is asked; None after the end."""
        asked = self._question
        if asked is None:
            return None
        return Decision(int(asked.kind), asked.task.record.task, asked.run.number, self._world.now)

    @property
    def mask(self) -> tuple[bool, ...]:
        """Which actions are legal; none after the end."""
        asked = self._question
        if asked is None:
            return (False,) * len(Action)
        return tuple(action is Action.CONTINUE or action in asked.legal for action in Action)

    def observation(self) -> npt.NDArray[np.float32]:
        """The fields of `FIELDS` for the decision, float32; zeros after the end."""
        if self._question is None:
            return np.zeros(len(FIELDS), dtype=np.float32)
        return self._observer.observe(self._question, self._world, self.mask)

    @property
    def terms(self) -> tuple[float, float, float, float]:
        """Wasted, overhead, completion and forfeited in the last reward, weighted, at most 0."""
        return self._terms

    _terms: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

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
        )

    def busy(self) -> int:
        """Machine-time of all attempts, counted from their starts and ends [machine-ms]."""
        return sum(task.busy(self._world.now) for task in self._world.tasks)

    def outcomes(self) -> list[TaskOutcome]:
        """What became of each task, in order of submission."""
        return [_outcome(task) for task in self._world.tasks]

    def _costs(self) -> _Costs:
        """Costs up to now; a task that is not yet played has none."""
        accounts, world = self.accounts(), self._world
        return _Costs(
            wasted=accounts.lost + accounts.redundant + accounts.ghost,
            overhead=accounts.checkpoint + accounts.restore,
            completion=sum(self._completion(task) for task in world.tasks),
            forfeited_work=world.forfeited_work,
            forfeited_time=world.forfeited_time,
        )

    def _completion(self, task: Task) -> int:
        """Completion time charged so far: in order of tasks only what has begun is charged."""
        asked = self._question
        begun = self._order == "time" or task.settled is not None
        if not begun and (asked is None or asked.task is not task):
            return 0
        return task.completion(self._world.now)

    def _weighted(self, before: _Costs, after: _Costs) -> tuple[float, float, float, float]:
        """The change of the costs as reward terms."""
        w = self.weights
        change = _Costs(*(new - old for new, old in zip(after, before, strict=True)))
        forfeited = change.forfeited_work / w.work_scale + change.forfeited_time / w.time_scale
        return (
            0.0 - w.wasted * change.wasted / w.work_scale,
            0.0 - w.overhead * change.overhead / w.work_scale,
            0.0 - w.completion * change.completion / w.time_scale,
            0.0 - w.forfeited * forfeited,
        )


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
        transfer=0,
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
