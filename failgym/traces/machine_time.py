"""Machine-time: one definition for all that is told of a trace.

The machine-time of an attempt that ran is its run time times the slots of its task. That of a trace
has three parts, by what is known of it:

- of tasks whose fate is known: what policies are asked about and charged for;
- of tasks that the end of the data cuts off, their attempts that had ended: replayed as recorded,
  and nobody is asked;
- of the same tasks, what had not ended: seen until the data end, and in no replay, since nobody
  knows what became of it.

An attempt that still runs when the data end, of a task that has finished, is of the first part: it
is redundant whatever becomes of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.traces.schema import Outcome
from failgym.traces.trace import Trace

__all__ = ["MachineTime", "attempt_times", "machine_time"]

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


def machine_time(trace: Trace) -> MachineTime:
    """The machine-time of a trace by part."""
    spent, task = attempt_times(trace), trace.column("attempts", "task")
    cut_off = trace.task_outcome == Outcome.CENSORED
    unknown = cut_off[task]
    running = unknown & (trace.column("attempts", "outcome") == Outcome.CENSORED)
    return MachineTime(
        known=int(spent[~unknown].sum()),
        ended=int(spent[unknown & ~running].sum()),
        running=int(spent[running].sum()),
        known_tasks=int((~cut_off).sum()),
        unknown_tasks=int(cut_off.sum()),
    )
