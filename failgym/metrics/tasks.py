"""Work and time of tasks, from the table of their outcomes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from failgym.metrics.columns import Columns, ratio
from failgym.vocabulary import Outcome

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


ACCOUNTS = ("useful", "lost", "redundant", "ghost", "checkpoint", "restore", "transfer")
"""The columns among which a settled task's machine-time is divided."""
WASTED = ("lost", "redundant", "ghost")
"""Those of work that led to nothing."""
OVERHEAD = ("checkpoint", "restore")
"""Those of checkpoints and of restoring from them."""


def known(outcomes: Columns) -> Bools:
    """Which tasks have a recorded fate [tasks]."""
    return np.asarray(outcomes["recorded_outcome"] != Outcome.CENSORED)


def task_work(outcomes: Columns, accounts: Iterable[str] = ACCOUNTS) -> npt.NDArray[np.int64]:
    """Machine-time of each task in the given accounts [machine-ms]."""
    return np.asarray(sum(np.asarray(outcomes[name], dtype=np.int64) for name in accounts))


def wasted_work(outcomes: Columns) -> int:
    """Work that led to nothing: lost, redundant and ghost [machine-ms]."""
    return int(task_work(outcomes, WASTED)[known(outcomes)].sum())


def checkpoint_work(outcomes: Columns) -> int:
    """Machine-time spent on checkpoints and on restoring from them [machine-ms]."""
    return int(task_work(outcomes, OVERHEAD)[known(outcomes)].sum())


def cloning_overhead(policy: Columns, replay: Columns) -> float:
    """Increase of all work over the replay's, a ratio (El-Sayed et al. 2017, Table V).

    Both tables hold the same tasks; the sum is over those whose fate is known.
    """
    after = task_work(policy)[known(policy)].sum()
    before = task_work(replay)[known(replay)].sum()
    return ratio(after - before, before)


def completion_ratios(outcomes: Columns, where: Bools | None = None) -> Floats:
    """Completion time over the recorded one, a ratio per task (El-Sayed et al. 2017, Fig. 11).

    Only tasks whose outcome is the recorded one count, and whose recorded time is not 0; `where`
    restricts them further, for instance to tasks with a failed attempt.
    """
    took = np.asarray(outcomes["end"] - outcomes["submit"], dtype=np.float64)
    recorded = np.asarray(outcomes["recorded_end"] - outcomes["submit"], dtype=np.float64)
    counts = known(outcomes) & (outcomes["outcome"] == outcomes["recorded_outcome"])
    counts &= recorded > 0
    if where is not None:
        counts &= where
    return took[counts] / recorded[counts]


def completion_ratio(outcomes: Columns, where: Bools | None = None) -> float:
    """The median of `completion_ratios`; NaN without such a task."""
    ratios = completion_ratios(outcomes, where)
    return float(np.median(ratios)) if len(ratios) else float("nan")


def forfeited(outcomes: Columns) -> int:
    """Tasks that the record finishes and the policy did not.

    These are the tasks that forfeit something where they have no value of their own; where they do
    (``task_value``), `failgym.evaluation.Run` holds the number.
    """
    finished = outcomes["recorded_outcome"] == Outcome.FINISH
    return int(np.sum(finished & (outcomes["outcome"] != Outcome.FINISH)))


def rescued(outcomes: Columns) -> int:
    """Tasks that the policy finished and the record did not."""
    failed = known(outcomes) & (outcomes["recorded_outcome"] != Outcome.FINISH)
    return int(np.sum(failed & (outcomes["outcome"] == Outcome.FINISH)))


def falsely_killed(outcomes: Columns) -> Bools:
    """Which tasks the record finishes and the policy killed [tasks]."""
    finished = outcomes["recorded_outcome"] == Outcome.FINISH
    return np.asarray(finished & (outcomes["outcome"] != Outcome.FINISH) & outcomes["killed"])


def false_kills(outcomes: Columns) -> int:
    """Tasks that the record finishes and the policy killed."""
    return int(falsely_killed(outcomes).sum())


def resource_reduction(
    policy: Columns,
    replay: Columns,
    request: npt.ArrayLike = 1.0,
    where: Bools | None = None,
) -> float:
    """RRC = (R_o - R_p) / R_o over tasks that did not finish (Rosà et al. 2015, section IV-3).

    Args:
        policy: outcomes under the policy.
        replay: outcomes of the same tasks without it.
        request: requested amount of the resource per task; 1 is computational time.
        where: further restriction; the paper counts the failed tasks of failed jobs.
    """
    counts = known(replay) & (replay["recorded_outcome"] != Outcome.FINISH)
    if where is not None:
        counts &= where
    before = (task_work(replay) * np.asarray(request, dtype=np.float64))[counts].sum()
    after = (task_work(policy) * np.asarray(request, dtype=np.float64))[counts].sum()
    return ratio(before - after, before)
