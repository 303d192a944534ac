"""Which tasks of google-2011's killed jobs do not finish, where jobs hang as a whole."""

from __future__ import annotations

import math

import numpy as np

from failgym.traces.synthetic.batch import FAILED, KILLED, Jobs
from failgym.traces.synthetic.profiles.kills import Kills
from failgym.traces.synthetic.quantiles import Flags, Floats, Ints, ranks

MOST_POWER = 8.0
TINY = 1e-9
"""Stands for a share of nothing."""
LEAST_LOG_POWER, MOST_LOG_POWER = -5.0, 7.0
"""Logarithms of the power of a job's rank by which it hangs."""
HALVINGS = 20
"""How often the interval is halved in which a power is sought."""


def killed_shares(
    kills: Kills, jobs: Jobs, habit: Floats, luck: Floats, failed_share: Floats
) -> Floats:
    """Share of the tasks of each job that do not finish if it is killed, one entry per job.

    Killed jobs that run long, per task, hang as a whole: none of their tasks finishes. So many do
    that tasks that do not finish take the share of machine-time that the law says, if it can be.
    The others have shares such that of all tasks of these jobs as many do not finish as it says.

    Args:
        kills: the law.
        jobs: all jobs.
        habit: share of a job's tasks that do not finish, which is tempered.
        luck: a uniform number, by which jobs that run equally long hang or do not.
        failed_share: share of the tasks of a job that do not finish if it fails.
    """
    killed = jobs.multi & (jobs.fate == KILLED)
    share = np.zeros(len(jobs.tasks))
    long = np.flatnonzero(killed)
    share[long] = (ranks(jobs.time[long] / jobs.tasks[long]) + 1.0) / max(len(long), 1)
    tasks = int(jobs.tasks[killed].sum())

    def killed_share(power: float) -> Floats:
        hung = killed & (luck < share**power)
        others = killed & ~hung
        left = max(kills.unfinished * tasks - int(jobs.tasks[hung].sum()), 0.0)
        wanted = max(left / max(int(jobs.tasks[others].sum()), 1), TINY)
        return np.where(others, tempered(habit, jobs.tasks, others, wanted), 1.0)

    def lost(power: float) -> float:
        unfinished = np.where(jobs.fate == KILLED, killed_share(power), 0.0)
        unfinished += np.where(jobs.fate == FAILED, failed_share, 0.0)
        return float(np.sum(jobs.time * unfinished))

    low, high = LEAST_LOG_POWER, MOST_LOG_POWER
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = lost(math.exp(middle)) > kills.lost_time * float(jobs.time.sum())
        low, high = (middle, high) if enough else (low, middle)
    return killed_share(math.exp(low))


def tempered(share: Floats, sizes: Ints, here: Flags, wanted: float) -> Floats:
    """The shares to the power that makes them, over all that is `here`, the share `wanted`.

    What no power makes small enough is scaled.
    """
    few, size = share[here], sizes[here]

    def lost(power: float) -> float:
        whole = np.clip(np.rint(few**power * size), 1, size)
        return float(whole.sum()) / max(int(size.sum()), 1)

    low, high = 0.0, MOST_POWER
    for _ in range(HALVINGS):
        power = 0.5 * (low + high)
        low, high = (power, high) if lost(power) > wanted else (low, power)
    return share**high * (wanted / max(lost(high), wanted))
