"""`ScheduledSimulator`: one episode of a scheduled world, to look into decision by decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.scheduled.batch import ScheduledBatch
from failgym.sim.scheduled.compile import (
    EpisodeTasks,
    check_tasks,
    compile_scheduled,
    with_members,
)
from failgym.sim.scheduled.records import RunState
from failgym.sim.scheduled.rules import NodePredictions, ScheduledRules
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.outcomes import accounts_of
from failgym.sim.shared.rules import Weights
from failgym.traces import Trace
from failgym.vocabulary import Accounts, Action, Decision, LogEntry, OpenDecision, ScheduledOutcome

__all__ = ["Query", "ScheduledSimulator"]


class Query(NamedTuple):
    """A question to the predictor of machine failures."""

    event: int
    """number of the scheduler's pass"""
    job: int
    """trace row of the task"""
    machine: int
    """index of the machine in the cluster"""
    asked: bool
    """was the machine offered?"""
    answered: bool
    """is it predicted to fail before the task would end there?"""
    fails: bool
    """does it?"""


class ScheduledSimulator:
    """One episode of a scheduled world, decision by decision, with its event log and accounts.

    The kernels behind it are those of the environments;
    `failgym.sim.reference.scheduled.ReferenceScheduledSimulator` has the same interface and plain
    Python inside.

    Raises:
        ValueError: as `compile_scheduled` does.
    """

    def __init__(
        self,
        trace: Trace,
        rules: ScheduledRules,
        context: Context,
        weights: Weights | None = None,
        seed: int = 0,
        *,
        nodes: NodePredictions | None = None,
        continuation: Continuation | None = None,
    ) -> None:
        self.rules = rules
        self._compiled = compile_scheduled(
            trace, rules, context, weights, seed, nodes, continuation
        )
        self.log: list[LogEntry] = []
        self.queries: list[Query] = []

    def start(
        self,
        tasks: Sequence[int],
        own: Sequence[int] | None = None,
        standing: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Begin an episode and run to the first decision.

        Args:
            tasks: trace rows of the tasks that arrive; those without an attempt to run are left
                out.
            own: those of them that are asked and charged; all by default.
            standing: (trace row, remaining run time [ms]) of tasks there from the beginning.

        Raises:
            ValueError: if one is unknown or there twice, or stands for less than no time.
        """
        count = len(self._compiled.tasks)
        rows = np.asarray(tasks, dtype=np.int64)
        check_tasks(rows, count)
        rows = rows[self._compiled.tasks["rows"][rows] > 0]
        mine = np.isin(rows, rows if own is None else np.asarray(own, dtype=np.int64))
        stood = np.asarray(standing, dtype=np.int64).reshape(-1, 2)
        check_tasks(stood[:, 0], count)
        stood = stood[self._compiled.tasks["rows"][stood[:, 0]] > 0]
        world = with_members(self._compiled, [EpisodeTasks(rows, mine, stood)])
        self.batch = ScheduledBatch(world, self.rules, 1, log=True)
        self.log, self.queries = [], []
        self.batch.reset(np.zeros(1, dtype=np.int64))
        self._drain()

    def _drain(self) -> None:
        """Move the entries of the logs to the lists."""
        count = int(self.batch.state.episodes["queries"][0])
        queries = self.batch.array("queries", 0)[:count].tolist()
        self.queries += [Query(*row) for row in queries]
        self.log += [LogEntry(*entry) for entry in self.batch.drained_log(0).tolist()]

    @property
    def decision(self) -> OpenDecision | None:
        """The open decision, None at the end."""
        episode = self.batch.state.episodes[0]
        if episode["done"]:
            return None
        kind = Decision(int(episode["decision"]))
        number = int(self.batch.runs(0)[episode["run"]]["number"])
        return OpenDecision(kind, int(self.batch.output.task[0]), number, int(episode["now"]))

    @property
    def offered(self) -> int:
        """Index of the machine that a DISPATCH decision offers, else -1."""
        decision = self.decision
        if decision is None or decision.kind != Decision.DISPATCH:
            return -1
        return int(self.batch.state.episodes["offered"][0])

    @property
    def mask(self) -> tuple[bool, ...]:
        """Legality of the five actions."""
        return tuple(bool(legal) for legal in self.batch.output.mask[0])

    @property
    def illegal(self) -> int:
        """Illegal actions so far."""
        return int(self.batch.state.episodes["illegal"][0])

    @property
    def terms(self) -> npt.NDArray[np.float64]:
        """The reward of the last step by term: wasted, overhead, completion, forfeited."""
        return self.batch.output.terms[0].copy()

    def observe(self) -> npt.NDArray[np.float32]:
        """The observation of the open decision, [len(FIELDS)]."""
        return self.batch.output.obs[0].copy()

    observation = observe

    def step(self, action: int) -> float:
        """Answer the open decision and run to the next one or to the end; return the reward.

        Raises:
            ValueError: if no decision is open, or for an action out of range.
        """
        if self.batch.state.episodes["done"][0]:
            raise ValueError("step: expected an open decision, the episode is over")
        out = self.batch.step(np.array([Action(action)], dtype=np.int64))
        self._drain()
        return float(out.reward[0])

    @property
    def _tasks(self) -> Any:
        """The states of the tasks of the episode."""
        return self.batch.states(0)

    def _under_way(self) -> tuple[int, int]:
        """Machine-time of the attempts that run up to now, and of writes of outputs."""
        runs, now = self.batch.runs(0), int(self.batch.state.episodes["now"][0])
        running = runs[runs["state"] == RunState.RUNNING]
        writing = runs[runs["state"] == RunState.WRITING]
        return (
            int(((now - running["start"]) * running["width"]).sum()),
            int(((now - writing["writes_from"]) * writing["width"]).sum()),
        )

    def accounts(self) -> Accounts:
        """Machine-time of all tasks of the episode by account, now."""
        return accounts_of(self._tasks, sum(self._under_way()))

    def busy(self) -> int:
        """Machine-time of all attempts up to now: elapsed time x width, counted from the slots."""
        state = self.batch.state
        return int(state.episodes["slot_time"][0]) + sum(self._under_way())

    def unit_costs(self) -> dict[int, float]:
        """Weighted cost up to now of each unit that is charged, by its trace row.

        The unit is a task or, where completion is that of jobs, the own tasks of a job together.
        """
        costs, own = self.batch.unit_costs()[0][0], self._tasks[self._tasks["own"]]
        by_task = self.rules.completion == "tasks"
        rows = own["task"] if by_task else self._compiled.tasks["job"][own["task"]]
        units = np.flatnonzero(self._tasks["own"]) if by_task else own["job"]
        return {int(row): float(costs[unit]) for row, unit in zip(rows, units, strict=True)}

    def outcomes(self) -> list[ScheduledOutcome]:
        """What became of each task: standing ones, then the others in order of submission."""
        columns = [column.tolist() for column in self.batch.outcomes(0).values()]
        return [ScheduledOutcome(*row) for row in zip(*columns, strict=True)]
