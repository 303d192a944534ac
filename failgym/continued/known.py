"""Does a record tell what another attempt would have met?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from failgym.continued.habits import LEAST_JOBS, LEAST_ROWS
from failgym.traces import Trace
from failgym.vocabulary import Outcome

__all__ = ["restarted", "restarts", "why_unknown"]


def restarted(trace: Trace, after: tuple[Outcome, ...] = tuple(Outcome)) -> npt.NDArray[np.int64]:
    """Attempts that ran after one of the same task that ended so, and did not finish it.

    Returns:
        The job of each, [restarts].
    """
    task, outcome = trace.column("attempts", "task"), trace.column("attempts", "outcome")
    ran = trace.present("attempts", "start")
    ended = np.isin(outcome, [int(each) for each in after if each != Outcome.FINISH])
    again = (task[1:] == task[:-1]) & ended[:-1] & ran[1:]
    return trace.column("tasks", "job")[task[1:][again]]


def restarts(trace: Trace, after: tuple[Outcome, ...] = tuple(Outcome)) -> int:
    """How many they are."""
    return len(restarted(trace, after))


def why_unknown(trace: Trace, after: tuple[Outcome, ...]) -> str | None:
    """Why a record cannot tell what comes after attempts that ended so; None if it can.

    It must hold `LEAST_ROWS` restarts, of `LEAST_JOBS` jobs: of fewer the laws of attempts that are
    drawn know nothing.

    Args:
        trace: the record, or what is known of it.
        after: how the attempts ended.
    """
    jobs = restarted(trace, after)
    if len(jobs) < LEAST_ROWS:
        return (
            f"fewer than {LEAST_ROWS} restarts of failed tasks are recorded, so nobody knows what"
            " would have come of another attempt"
        )
    if len(np.unique(jobs)) < LEAST_JOBS:
        return (
            f"restarts of failed tasks of fewer than {LEAST_JOBS} jobs are recorded, so nobody"
            " knows what would have come of another attempt"
        )
    return None
