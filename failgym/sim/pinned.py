"""Pinned worlds from Python: `Batch`, many episodes at once, and `PinnedSimulator`, one to look into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim import engine
from failgym.sim.compile import compile_world, with_slices
from failgym.sim.context import Context
from failgym.sim.fields import FIELDS
from failgym.sim.observe import observe
from failgym.sim.records import (
    ACTIONS,
    EPISODE,
    EVENT,
    LOG,
    RUN,
    TASK_STATE,
    Action,
    Decision,
    State,
    World,
)
from failgym.sim.rules import Rules, Weights
from failgym.traces import Outcome, Trace

__all__ = [
    "Accounts",
    "LogEntry",
    "OpenDecision",
    "Order",
    "PinnedSimulator",
    "TaskOutcome",
    "asked_tasks",
    "make_state",
    "outcome_table",
]

Order = Literal["task", "time"]


class OpenDecision(NamedTuple):
    """A decision that waits for an action."""

    kind: Decision
    task: int
    """trace row of the task"""
    attempt: int
    """number of the attempt"""
    time: int
    """[ms]"""


class LogEntry(NamedTuple):
    """An entry of the event log."""

    time: int
    kind: int
    task: int
    number: int
    detail: int


class Accounts(NamedTuple):
    """Machine-time by account [machine-ms]."""

    useful: int
    in_flight: int
    lost: int
    redundant: int
    ghost: int
    checkpoint: int
    restore: int
    transfer: int


class TaskOutcome(NamedTuple):
    """What became of a task, beside what the record says; times in ms, work in machine-ms."""

    task: int
    submit: int
    recorded_end: int
    recorded_outcome: int
    end: int
    """-1 while it is not settled"""
    outcome: int
    useful: int
    lost: int
    redundant: int
    ghost: int
    checkpoint: int
    restore: int
    transfer: int
    attempts: int
    """attempts started"""
    extra: int
    """attempts that the agent asked for, clones included"""
    clones: int
    retries: int
    checkpoints: int
    """checkpoints that became durable"""
    armed: bool
    killed: bool
    """a kill was carried out"""
    departed: bool
    failures: int
    """intrinsic failures"""
    decisions: int
    recorded_work: int
    """machine-time of the attempt that finishes the task in the record, 0 if none does"""


def make_state(world: World, rules: Rules, episodes: int, order: Order, log: bool = False) -> State:
    """Room for a number of episodes over any slice of a world."""
    extra = rules.max_extra + rules.restart_limit + 1
    per_task = world.tasks["rows"][world.order].astype(np.int64) + extra
    sizes = np.diff(world.slices)
    tasks = int(sizes.max(initial=1))
    runs = int(per_task.max(initial=extra))
    if order == "time":
        total = np.concatenate([[0], np.cumsum(per_task)])
        runs = int(np.diff(total[world.slices]).max(initial=extra))
    events = 5 * runs + 4 * tasks
    return State(
        episodes=np.zeros(episodes, dtype=EPISODE),
        tasks=np.zeros((episodes, tasks), dtype=TASK_STATE),
        runs=np.zeros((episodes, runs), dtype=RUN),
        heap=np.zeros((episodes, events), dtype=EVENT),
        log=np.zeros((episodes, 4 * events + 64 if log else 0), dtype=LOG),
    )


def asked_tasks(world: World, rules: Rules, tasks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of the given tasks, those of known fate that are asked at least once under CONTINUE."""
    known = tasks[~world.tasks["censored"][tasks] & (world.tasks["rows"][tasks] > 0)]
    single = with_slices(world, known, 1)
    counts = np.zeros(len(known), dtype=np.int64)
    engine.count_decisions(single, make_state(single, rules, 1, "task"), counts)
    return single.order[counts > 0]


def outcome_table(world: World, states: Any) -> dict[str, npt.NDArray[Any]]:
    """Columns of the outcomes of TASK_STATE records: the fields of `TaskOutcome`, an array each."""
    record = world.tasks[states["task"]]
    table = {name: states[name] for name in TaskOutcome._fields if name in states.dtype.names}
    table["submit"], table["recorded_work"] = record["submit"], record["record_work"]
    table["recorded_end"], table["recorded_outcome"] = record["record_end"], record["record_outcome"]
    table["transfer"] = np.zeros(len(states), dtype=np.int64)
    return {name: table[name].copy() for name in TaskOutcome._fields}


class PinnedSimulator:
    """One episode of a pinned world, decision by decision, with its event log and accounts.

    The kernels behind it are those of the environments; `reference.ReferenceSimulator` has the same
    interface and plain Python inside.
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
        self._compiled = compile_world(trace, rules, context, weights, seed)
        self.log: list[LogEntry] = []

    def start(self, tasks: Sequence[int], order: Order = "task") -> None:
        """Begin an episode over tasks (trace rows), and run to the first decision."""
        chosen = np.asarray(tasks, dtype=np.int64)
        self.world = with_slices(self._compiled, chosen, max(len(chosen), 1))
        self.state = make_state(self.world, self.rules, 1, order, log=True)
        self.log = []
        self.terms = np.zeros(4)
        self._views = [array[0] for array in self.state]
        ep, states, runs, heap, log = self._views
        engine.start_episode(self.world, ep, states, heap, self.world.order, order == "time")
        engine.advance(self.world, ep, states, runs, heap, log)
        self._drain()

    def _drain(self) -> None:
        """Move the entries of the log to the list."""
        ep, log = self._views[0], self._views[4]
        self.log += [LogEntry(*entry) for entry in log[: ep["logged"]].tolist()]
        ep["logged"] = 0

    @property
    def decision(self) -> OpenDecision | None:
        """The open decision, None at the end."""
        ep, states, runs = self._views[:3]
        if ep["done"]:
            return None
        task, run = states[ep["local"]], runs[ep["run"]]
        kind = Decision(int(ep["decision"]))
        return OpenDecision(kind, int(task["task"]), int(run["number"]), int(ep["now"]))

    @property
    def mask(self) -> tuple[bool, ...]:
        """Legality of the five actions."""
        bits = int(self._views[0]["mask"])
        return tuple(bool(bits >> action & 1) for action in range(ACTIONS))

    @property
    def illegal(self) -> int:
        """Illegal actions so far."""
        return int(self._views[0]["illegal"])

    def observation(self) -> npt.NDArray[np.float32]:
        """The observation of the open decision, [len(FIELDS)]."""
        out, mask = np.zeros(len(FIELDS), dtype=np.float32), np.zeros(ACTIONS, dtype=np.int8)
        observe(self.world, *self._views[:3], out, mask)
        return out

    def step(self, action: int) -> float:
        """Answer the open decision and run to the next one or to the end; return the reward.

        Raises:
            ValueError: if no decision is open.
        """
        ep, states, runs, heap, log = self._views
        if ep["done"]:
            raise ValueError("step: expected an open decision, the episode is over")
        reward = engine.step_one(
            self.world, ep, states, runs, heap, log, int(Action(action)), self.terms
        )
        self._drain()
        return float(reward)

    def _elapsed(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """The attempts in memory and their machine-time up to now."""
        ep, states, runs = self._views[:3]
        runs = runs[: ep["runs"]]
        until = np.where(runs["alive"], ep["now"], runs["ended"])
        width = self.world.tasks["width"][states["task"][runs["local"]]]
        return runs, (until - runs["start"]) * width

    def accounts(self) -> Accounts:
        """Machine-time by account, now."""
        states = self._views[1]
        runs, elapsed = self._elapsed()
        unknown = runs["outcome"] == Outcome.CENSORED
        in_flight = int(elapsed[runs["alive"] | unknown].sum() + states["saved"].sum())
        names = ("lost", "redundant", "ghost", "checkpoint", "restore")
        totals = {name: int(states[name].sum()) for name in names}
        return Accounts(int(states["useful"].sum()), in_flight, **totals, transfer=0)

    def busy(self) -> int:
        """Machine-time of all attempts up to now: elapsed time x width.

        Of the tasks served before the present one (order "task") only the accounts are in memory.
        """
        ep, states = self._views[0], self._views[1]
        before = states[: 0 if ep["merged"] else max(int(ep["cursor"]), 0)]
        if ep["done"] and not ep["merged"]:
            before = states[: int(ep["tasks"]) - 1]
        names = ("useful", "lost", "redundant", "ghost", "checkpoint", "restore")
        return int(self._elapsed()[1].sum() + sum(before[name].sum() for name in names))

    def outcomes(self) -> list[TaskOutcome]:
        """What became of the tasks of the slice."""
        table = outcome_table(self.world, self._views[1][: int(self._views[0]["tasks"])])
        return [TaskOutcome(*row) for row in zip(*(x.tolist() for x in table.values()), strict=True)]
