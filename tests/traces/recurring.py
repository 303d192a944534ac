"""A record by rule, in which applications recur: what a twin is to learn."""

from __future__ import annotations

import numpy as np

from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.vocabulary import HOUR, MINUTE

USERS, EACH = 12, 8
"""Users, and applications of each."""
SPAN = 24 * HOUR
BURST = 9 * HOUR
"""When tasks of several jobs fail together."""


def recurring(jobs: int = 900, seed: int = 0, *, days: int = 1, night: int = 0) -> Trace:
    """Jobs of 96 applications, each with a habit of width, run time, request and ending.

    A tenth of the applications fails always; at `BURST` whatever runs fails.
    Nothing comes in the last `night` ms of a day.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    number = USERS * EACH
    width = np.where(rng.random(number) < 0.6, 1, rng.integers(2, 30, number))
    run = np.exp(rng.normal(np.log(10 * MINUTE), 1.2, number))
    cpu = rng.choice([0.01, 0.02, 0.05, 0.1], number)
    fails = rng.random(number) < 0.1
    application = np.sort(rng.integers(0, number, jobs))[rng.permutation(jobs)]
    day = rng.integers(0, days, jobs) * SPAN
    submit = np.sort(day + rng.integers(1, SPAN - max(night, HOUR), jobs))
    span = days * SPAN
    tasks = width[application]
    job = np.repeat(np.arange(jobs), tasks)
    noise = np.exp(0.05 * rng.standard_normal(jobs))[job] * np.exp(
        0.01 * rng.standard_normal(len(job))
    )
    start = submit[job] + 2_000
    end = start + np.rint(run[application][job] * noise).astype(np.int64)
    failed = fails[application][job]
    hit = (start < BURST) & (end > BURST)
    end, failed = np.where(hit, BURST, end), failed | hit
    cut = end > span
    outcome = np.where(cut, Outcome.CENSORED, np.where(failed, Outcome.FAIL, Outcome.FINISH))
    some_failed = np.bincount(job, failed & ~cut, jobs) > 0
    some_cut = np.bincount(job, cut, jobs) > 0
    return Trace.of(
        Meta("by rule", end=span),
        jobs={
            "original_id": [f"job {one}" for one in range(jobs)],
            "submit": submit,
            "width": tasks,
            "outcome": np.where(
                some_cut, Outcome.CENSORED, np.where(some_failed, Outcome.FAIL, Outcome.FINISH)
            ),
            "user": [f"person {one}" for one in application // EACH],
            "name": [f"program {one}" for one in application],
        },
        tasks={
            "job": job,
            "index": np.arange(len(job)) - (np.cumsum(tasks) - tasks)[job],
            "width": 1,
            "cpu": cpu[application][job],
            "memory": cpu[application][job] / 2,
        },
        attempts={
            "task": np.arange(len(job)),
            "queued": submit[job],
            "start": start,
            "end": np.minimum(end, span),
            "outcome": outcome,
            "cause": np.ma.array(np.full(len(job), Cause.INTRINSIC), mask=~failed | cut),
        },
    )
