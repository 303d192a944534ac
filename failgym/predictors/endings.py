"""When tasks ended, for good or, as it seemed before they were tried again, in between."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.predictors.base import CLASS_OF
from failgym.predictors.features.system import NEVER, Load
from failgym.traces.trace import Trace
from failgym.vocabulary import Outcome

__all__ = ["Passing", "passing_ends", "task_ends"]

Ints = npt.NDArray[np.int64]


class Passing(NamedTuple):
    """Times at which a task had ended, as it seemed, with nothing of it queued or running."""

    task: Ints
    """[rows] row of the task"""
    label: Ints
    """[rows] its class as known then, a position in `CLASSES`"""
    end: Ints
    """[rows] when its last attempt by then ended [ms]"""
    until: Ints
    """[rows] when the next one arrived [ms], later than `end`"""


def passing_ends(trace: Trace) -> Passing:
    """The ends of tasks after which another attempt arrived, by task and time.

    Whoever learns at a moment in between knows of the end and not of the attempt to come. A task
    that has finished has done so for good. An attempt arrives when it is queued; else when it
    starts; else, if it never did, when it ended.
    """
    load, task = Load.of(trace), trace.column("attempts", "task").astype(np.int64)
    by_end = np.lexsort((np.arange(len(task)), load.left, task))
    arrived = load.arrived[np.lexsort((load.arrived, task))]
    again = np.flatnonzero(task[1:] == task[:-1])  # rows are ordered by task
    end, until = load.left[by_end][again], arrived[again + 1]
    # None is open after the k-th end of a task just if the next to arrive does so later.
    outcome = trace.column("attempts", "outcome")[by_end][again]
    finish = np.full(trace.rows("tasks"), NEVER, dtype=np.int64)
    finished = trace.column("attempts", "outcome") == Outcome.FINISH
    np.minimum.at(finish, task[finished], load.left[finished])
    until = np.minimum(until, finish[task[again]])
    kept = end < until
    return Passing(task[again][kept], CLASS_OF[outcome[kept]], end[kept], until[kept])


def task_ends(trace: Trace) -> Ints:
    """When each task settled [ms]: at its first FINISH, else at its last end; `NEVER` where that is
    not known, int64 [tasks].
    """
    task, end = trace.column("attempts", "task"), trace.column("attempts", "end")
    first = np.full(trace.rows("tasks"), NEVER, dtype=np.int64)
    finishes = trace.column("attempts", "outcome") == Outcome.FINISH
    np.minimum.at(first, task[finishes], end[finishes])
    last = np.full(trace.rows("tasks"), -1, dtype=np.int64)
    np.maximum.at(last, task, end)
    last[trace.task_outcome == Outcome.CENSORED] = NEVER
    return np.where(trace.task_outcome == Outcome.FINISH, first, last)
