"""Machine-time: one definition for all that is told of a trace.

The machine-time of an attempt that ran is its run time times the slots of its task. That of a trace
has three parts, by what is known of it:

- of tasks whose fate is known: what policies are asked about and charged for;
- of tasks that the end of the data cuts off, their attempts that had ended: replayed as recorded,
  and nobody is asked;
- of attempts that were cut off: seen until then, and in no replay, since nobody knows what became
  of them.

An attempt that was cut off after its task had finished is of the first part: it is redundant
whatever became of it (rule 10 of `failgym.sim.reference`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["MachineTime", "attempt_times", "fate_known", "machine_time"]

Ints = npt.NDArray[np.int64]


class MachineTime(NamedTuple):
    """Machine-time of a trace by part [machine-ms], and of how many tasks."""

    known: int
    ended: int
    running: int
    known_tasks: int
    """tasks whose fate is known"""
    unknown_tasks: int
    """tasks that the end of the data cuts off"""

    @property
    def total(self) -> int:
        """Of all attempts that ran."""
        return self.known + self.ended + self.running

    @property
    def replayed(self) -> int:
        """Of all tasks, as far as the fate of their attempts is known."""
        return self.known + self.ended


def attempt_times(trace: Trace) -> Ints:
    """Machine-time of each attempt [machine-ms], 0 if it never ran; (attempts,)."""
    timed = trace.present("attempts", "start") & trace.present("attempts", "end")
    run_time = trace.column("attempts", "end") - trace.column("attempts", "start")
    slots = trace.column("tasks", "width").astype(np.int64)[trace.column("attempts", "task")]
    return np.where(timed, run_time, 0) * slots


def fate_known(trace: Trace) -> npt.NDArray[np.bool_]:
    """Was each attempt not cut off, or only after its task had finished? (attempts,)."""
    task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
    end, row = trace.column("attempts", "end"), np.arange(trace.rows("attempts"))
    successes = np.flatnonzero(outcome == Outcome.FINISH)
    successes = successes[np.lexsort((successes, end[successes]))][::-1]
    first = np.full(trace.rows("tasks"), -1, dtype=np.int64)
    first[task[successes]] = successes  # the last one that is written stays: the earliest
    won = first[task]
    after = (won >= 0) & ((end > end[won]) | ((end == end[won]) & (row > won)))
    return (outcome != Outcome.CENSORED) | after


def machine_time(trace: Trace) -> MachineTime:
    """The machine-time of a trace by part."""
    spent, task = attempt_times(trace), trace.column("attempts", "task")
    cut_off = trace.task_outcome == Outcome.CENSORED
    unknown = cut_off[task]
    running = ~fate_known(trace)
    return MachineTime(
        known=int(spent[~unknown & ~running].sum()),
        ended=int(spent[unknown & ~running].sum()),
        running=int(spent[running].sum()),
        known_tasks=int((~cut_off).sum()),
        unknown_tasks=int(cut_off.sum()),
    )
