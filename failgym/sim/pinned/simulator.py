"""`PinnedSimulator`: one episode of a pinned world, to look into decision by decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.sim.pinned.batch import Batch
from failgym.sim.pinned.compile import compile_world, with_slices
from failgym.sim.shared.context import Context
from failgym.sim.shared.continuation import Continuation
from failgym.sim.shared.outcomes import accounts_of
from failgym.sim.shared.rules import Order, Rules, Weights
from failgym.traces import Trace
from failgym.vocabulary import Accounts, Action, Decision, LogEntry, OpenDecision, TaskOutcome

__all__ = ["PinnedSimulator"]


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
        continuation: Continuation | None = None,
    ) -> None:
        self.rules = rules
        self._compiled = compile_world(trace, rules, context, weights, seed, continuation)
        self.log: list[LogEntry] = []

    def start(self, tasks: Sequence[int], order: Order = "task") -> None:
        """Begin an episode over tasks (trace rows), and run to the first decision."""
        world = with_slices(self._compiled, np.asarray(tasks, dtype=np.int64), max(len(tasks), 1))
        self.batch = Batch(world, self.rules, 1, order, log=True)
        self.log = []
        self.batch.reset(np.zeros(1, dtype=np.int64))
        self._drain()

    def _drain(self) -> None:
        """Move the entries of the log to the list."""
        episode, log = self.batch.state.episodes[0], self.batch.state.log[0]
        self.log += [LogEntry(*entry) for entry in log[: episode["logged"]].tolist()]
        episode["logged"] = 0

    @property
    def decision(self) -> OpenDecision | None:
        """The open decision, None at the end."""
        state = self.batch.state
        episode = state.episodes[0]
        if episode["done"]:
            return None
        kind = Decision(int(episode["decision"]))
        number = int(state.runs[0, episode["run"]]["number"])
        return OpenDecision(kind, int(self.batch.output.task[0]), number, int(episode["now"]))

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

    def observation(self) -> npt.NDArray[np.float32]:
        """The observation of the open decision, [len(FIELDS)]."""
        return self.batch.output.obs[0].copy()

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
    def _state(self) -> tuple[Any, Any, Any]:
        """The episode, its tasks and its attempts."""
        state = self.batch.state
        return state.episodes[0], state.tasks[0], state.runs[0]

    def _elapsed(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """The attempts in memory and their machine-time up to now."""
        ep, states, runs = self._state
        runs = runs[: ep["runs"]]
        ended, now = np.asarray(runs["ended"]), int(ep["now"])
        until = np.where(np.asarray(runs["alive"]), now, ended)
        width = self.batch.world.tasks["width"][states["task"][runs["local"]]]
        return runs, np.asarray((until - runs["start"]) * width)

    def accounts(self) -> Accounts:
        """Machine-time by account, now."""
        states = self._state[1]
        runs, elapsed = self._elapsed()
        return accounts_of(states, int(elapsed[runs["alive"]].sum()))

    def busy(self) -> int:
        """Machine-time of all attempts up to now: elapsed time x width.

        Of the tasks served before the present one (order "task") only the accounts are in memory.
        """
        ep, states, _ = self._state
        before = states[: 0 if ep["merged"] else max(int(ep["cursor"]), 0)]
        if ep["done"] and not ep["merged"]:
            before = states[: int(ep["tasks"]) - 1]
        names = ("useful", "lost", "redundant", "ghost", "checkpoint", "restore", "unknown")
        return int(self._elapsed()[1].sum() + sum(before[name].sum() for name in names))

    def outcomes(self) -> list[TaskOutcome]:
        """What became of the tasks of the slice."""
        columns = [column.tolist() for column in self.batch.outcomes(0).values()]
        return [TaskOutcome(*row) for row in zip(*columns, strict=True)]
