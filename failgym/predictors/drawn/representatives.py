"""Whose forecast a task is given: where a predictor errs by whole jobs and applications.

What is known of a task at its arrival is known of the other tasks of its job too: learned
predictors say the same of all of them, so that jobs are flagged or missed as a whole
(`experiments.forecast_errors`). Drawn forecasts do so where a task is given what was drawn for
another: the *representative* of its job, one of its tasks, and that of another run of the job's
application. What was drawn for the representative is true of the representative alone: tasks of one
job that end differently are no longer told apart, which lowers the quality in the population.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from failgym.sim.shared.keys import Purpose, uniform
from failgym.traces.trace import Trace

__all__ = ["Representatives", "applications", "representatives"]

Ints = npt.NDArray[np.int64]

OF_TASK, OF_JOB, MEMBER, RUN = range(4)
"""Which number is drawn: does a task go with its job, a job with its application; which task of a
job, and which run of an application, stands for the others."""


class Representatives(NamedTuple):
    """Whose forecast each is given."""

    task: Ints
    """[tasks] a task"""
    job: Ints
    """[jobs] a job"""


def representatives(
    trace: Trace, job_share: float, application_share: float, seed: int
) -> Representatives:
    """Draw whose forecast each task and job is given.

    Args:
        trace: of the tasks.
        job_share: of the tasks, that go with their job.
        application_share: of the jobs, that go with their application: their user's and name's.
        seed: of the forecast.
    """
    job = trace.column("tasks", "job").astype(np.int64)
    jobs, tasks = np.arange(trace.rows("jobs")), np.arange(len(job))

    def drawn(rows: Ints, what: int) -> npt.NDArray[np.float64]:
        return uniform(seed, rows, what, Purpose.FORECAST_SHARED)

    run = _drawn_member(applications(trace), drawn(jobs, RUN))
    of_job = np.where(drawn(jobs, OF_JOB) < application_share, run, jobs)
    member = _drawn_member(job, drawn(tasks, MEMBER), len(jobs))
    goes = (drawn(tasks, OF_TASK) < job_share) & (member[of_job[job]] >= 0)
    return Representatives(np.where(goes, member[of_job[job]], tasks), of_job)


def applications(trace: Trace) -> Ints:
    """The application of each job; a job without user or name is one by itself [jobs]."""
    table = trace.jobs.select(["user", "name"]).to_pandas()
    number = table.groupby(["user", "name"], dropna=False).ngroup().to_numpy(np.int64)
    alone = table.isna().any(axis=1).to_numpy()
    return np.where(alone, len(number) + np.arange(len(number)), number)


def _drawn_member(group: Ints, latent: npt.NDArray[np.float64], groups: int | None = None) -> Ints:
    """The member with the least latent number.

    Args:
        group: [members] of each.
        latent: [members] uniform numbers.
        groups: how many there are; None: say it for each member.

    Returns:
        [groups], -1 for one without members; or [members].
    """
    order = np.lexsort((latent, group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    chosen = np.full(groups or int(group.max(initial=-1)) + 1, -1, dtype=np.int64)
    chosen[group[order[first]]] = order[first]
    return chosen if groups is not None else chosen[group]
