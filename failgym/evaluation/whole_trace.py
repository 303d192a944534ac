"""A whole trace, task by task: what a policy makes of it, beside what the record says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym import metrics
from failgym.evaluation.ledger import Run
from failgym.traces import Outcome, Trace
from failgym.traces.machine_time import MachineTime, attempt_times, fate_known, machine_time
from failgym.worlds.scenario import Scenario
from failgym.worlds.split import tasks_run
from failgym.worlds.world import World

__all__ = ["Comparison", "Record", "compare", "whole_trace_world"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PARTS = ("known", "ended", "running")
"""Of a trace's machine-time."""


def whole_trace_world(trace: Trace, scenario: Scenario, *, known_only: bool = False) -> World:
    """Compile a trace with all its tasks in slices, whatever the scenario selects.

    In the scheduled world they are one slice, on the scenario's cluster.

    There is no unseen part here: expectations are those of the whole trace, and a predictor is
    fitted on what it speaks about. Costs are in machine-milliseconds and milliseconds.

    Args:
        trace: the trace; the scenario's own is not looked at.
        scenario: rules and forecast.
        known_only: leave out the tasks whose fate the record does not know.

    Raises:
        ValueError: for a forecast that is neither a predictor nor stored for this trace, or no
            task.
    """
    return scenario.kind.build_all(trace, scenario, known_only)


@dataclass(frozen=True)
class Record:
    """What a trace says of each task, counted from its tables and from nothing else."""

    end: Ints
    """[tasks] the first FINISH, else the latest end of an attempt [ms]"""
    outcome: npt.NDArray[np.int8]
    """[tasks] `Outcome`"""
    work: Ints
    """[tasks] machine-time of the attempts whose fate is known or matters no more [machine-ms]:
    `failgym.traces.machine_time`, without what still ran"""
    parts: MachineTime
    """machine-time of the whole trace"""
    ran: Bools
    """[tasks] is a run of it recorded?"""

    @classmethod
    def of(cls, trace: Trace) -> Record:
        """Recount a trace."""
        task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
        start = trace.column("attempts", "start", missing=-1)
        end = trace.column("attempts", "end", missing=-1)
        tasks = trace.rows("tasks")
        first_finish = np.full(tasks, np.iinfo(np.int64).max)
        finished = outcome == Outcome.FINISH
        np.minimum.at(first_finish, task[finished], end[finished])
        last = np.full(tasks, -1)
        np.maximum.at(last, task, np.maximum(end, start))
        fate = trace.task_outcome
        known = fate_known(trace)  # what is cut off stays in flight, unless its task has finished
        spent = np.zeros(tasks, dtype=np.int64)
        np.add.at(spent, task[known], attempt_times(trace)[known])
        return cls(
            end=np.where(fate == Outcome.FINISH, first_finish, last),
            outcome=fate,
            work=spent,
            ran=tasks_run(trace),
            parts=machine_time(trace),
        )


@dataclass(frozen=True)
class Comparison:
    """How a run over a whole trace differs from the record."""

    policy: str
    tasks: int
    unknown_fate: int
    """tasks that the end of the data cut off: replayed up to there, never asked about"""
    mismatches: int
    """tasks of which end, outcome or machine-time is not the recorded one: where nothing is asked a
    fault, else what the policy changed"""
    different_end: int
    different_outcome: int
    different_machine_time: int
    forfeited: int
    rescued: int
    completion_ratio: float
    work: dict[str, int]
    """machine-time by account [machine-ms]"""
    recorded_work: int
    """machine-time of the record of these tasks, what still ran at the end of the data left out
    [machine-ms]"""
    trace_work: dict[str, int]
    """that of the whole trace by part [machine-ms]: "known", of tasks whose fate is known; "ended"
    and "running", of the others (`failgym.traces.machine_time`)"""
    decisions: int
    seconds: float
    """of the run, without loading and compiling [s]"""
    decisions_per_second: float
    tasks_per_second: float


def compare(run: Run, record: Record) -> Comparison:
    """Compare every task of a run over a whole trace with the record."""
    outcomes, task = run.outcomes, run.outcomes["task"]
    end: Bools = outcomes["end"] != record.end[task]
    outcome: Bools = outcomes["outcome"] != record.outcome[task]
    work = metrics.task_work(outcomes) != record.work[task]
    return Comparison(
        policy=run.policy,
        tasks=len(task),
        unknown_fate=int((~metrics.known(outcomes)).sum()),
        mismatches=int((end | outcome | work).sum()),
        different_end=int(end.sum()),
        different_outcome=int(outcome.sum()),
        different_machine_time=int(work.sum()),
        forfeited=run.forfeited,
        rescued=metrics.rescued(outcomes),
        completion_ratio=metrics.completion_ratio(outcomes, record.ran[task]),
        work=_by_account(outcomes),
        recorded_work=int(record.work[task].sum()),
        trace_work={name: getattr(record.parts, name) for name in PARTS},
        decisions=run.decisions,
        seconds=run.seconds,
        decisions_per_second=run.decisions_per_second,
        tasks_per_second=run.tasks_per_second,
    )


def _by_account(outcomes: dict[str, Any]) -> dict[str, int]:
    return {name: int(outcomes[name].sum()) for name in metrics.ACCOUNTS}
