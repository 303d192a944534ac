"""Runs that fail at their ends, and what a policy with checkpoints loses of them.

The setting of the formulas of Kumar et al. (DSN 2020, section VI-A), as it is
simulated: decisions every minute, restores for nothing, and nothing charged but the run itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.paper_worlds import CHECKPOINT
from failgym.baselines import Heuristic, Young
from failgym.baselines.base import Bools, Choices, ObservationView
from failgym.evaluation import run_policy, whole_trace_world
from failgym.predictors import Forecast
from failgym.sim.pinned.compile import with_slices
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import MINUTE, SECOND, Action
from failgym.worlds.pinned.world import PinnedWorld

__all__ = ["FirstRunOnly", "Runs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FirstRunOnly(Heuristic):
    """A heuristic that leaves the runs after the first one alone: they are not charged."""

    name: ClassVar[str] = "first_run_only"
    inner: Heuristic = Young()

    def act(self, view: ObservationView, mask: Bools) -> Choices:
        """As the heuristic within, in first runs."""
        wanted = self.inner.act(view, mask)
        return np.where(view["attempt"] > 0, int(Action.CONTINUE), wanted)


class Runs(NamedTuple):
    """Runs of given lengths, all of which fail at their ends or all of which finish."""

    trace: Trace
    length: Ints
    """[ms]"""
    attempts: int
    """of a run: one that fails is followed by one that finishes"""

    @classmethod
    def of(cls, length: Ints, fail: bool) -> Runs:
        """The trace of such runs."""
        n, tries = len(length), 2 if fail else 1
        number = np.tile(np.arange(tries), n)
        start = np.repeat(length, tries) * number
        finish = number == tries - 1
        trace = Trace.of(
            Meta("runs that fail at their ends" if fail else "runs that finish"),
            jobs={
                "original_id": [f"{i:05}" for i in range(n)],
                "submit": 0,
                "width": 1,
                "outcome": int(Outcome.FINISH),
            },
            tasks={"job": np.arange(n), "index": np.zeros(n, dtype=np.int64), "width": 1},
            attempts={
                "task": np.repeat(np.arange(n), tries),
                "start": start,
                "end": start + np.repeat(length, tries),
                "outcome": np.where(finish, int(Outcome.FINISH), int(Outcome.FAIL)),
                "cause": [None if over else Cause.MACHINE for over in finish],
                "length": np.repeat(length, tries),
            },
        )
        return cls(trace, length, tries)

    def alarms(self, time: Ints) -> Forecast:
        """Risks of 1 from these times [ms] of the first attempts on; negative: never."""
        run = np.repeat(self.length, self.attempts)
        windows = run // MINUTE + 1
        offset = np.concatenate([[0], np.cumsum(windows)]).astype(np.int64)
        risk = np.zeros(int(offset[-1]), dtype=np.float32)
        first = np.arange(len(time)) * self.attempts
        for row in np.flatnonzero(time >= 0).tolist():
            begin = int(offset[first[row]] + time[row] // MINUTE)
            risk[begin : offset[first[row] + 1]] = 1.0
        n = len(self.length)
        rows = (n, n, n * self.attempts)
        none = Forecast.none(self.trace.content_hash, *rows, MINUTE)
        told = (none.confidence, none.job_confidence)
        return Forecast(none.trace_hash, MINUTE, offset, risk, *told)

    def wasted(
        self, cost: float, mtbf: float, policy: Heuristic, time: Ints | None = None
    ) -> Floats:
        """Lost work and checkpoints of each run, as a share of it; C and MTBF [s].

        `time` is when each run has an alarm [ms], negative for never; by default none has.
        """
        scenario = CHECKPOINT.override(
            trace=self.trace,
            forecast="none" if time is None else self.alarms(time),
            checkpoint_cost=int(cost * SECOND),
            restore_cost=0,
            mtbf=int(mtbf * SECOND),
        )
        tables = whole_trace_world(self.trace, scenario).tables
        world = PinnedWorld(with_slices(tables, np.arange(len(self.length)), 1))
        table = run_policy(world, scenario, FirstRunOnly(policy)).outcomes
        spent = np.zeros(len(self.length))
        spent[table["task"]] = table["lost"] + table["checkpoint"]
        return spent / self.length
