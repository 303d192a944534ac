"""Records whose best policy is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from failgym.traces import Meta, Trace
from failgym.traces.schema import TABLES
from failgym.vocabulary import MINUTE, Cause, Outcome
from failgym.worlds.tables import with_tables

FINISH, FAIL, KILL = (int(Outcome[name]) for name in ("FINISH", "FAIL", "KILL"))


def _single(submit: npt.NDArray[np.int64], fate: Any, **attempts: Any) -> Trace:
    """Jobs of one task on one slot.

    Args:
        submit: when each is submitted [ms].
        fate: outcome of each.
        attempts: columns of their attempts.
    """
    jobs = len(submit)
    return Trace.of(
        Meta("made up"),
        jobs={
            "original_id": [str(i) for i in range(jobs)],
            "submit": submit,
            "width": np.ones(jobs, dtype=np.int32),
            "outcome": np.asarray(fate, dtype=np.int8),
        },
        tasks={
            "job": np.arange(jobs),
            "index": np.zeros(jobs, dtype=np.int64),
            "width": [1] * jobs,
        },
        attempts=attempts,
    )


def doomed(
    jobs: int, long_ones_finish: bool, seed: int = 0, lost: float = 0.5, apart: int = 10
) -> Trace:
    """Jobs of ten minutes that finish, and as many of ten hours that are killed (or finish).

    Args:
        jobs: how many.
        long_ones_finish: do those of ten hours finish?
        seed: of what is drawn.
        lost: share of those of ten hours.
        apart: minutes from one submission to the next, on the mean.
    """
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, jobs * apart * MINUTE, jobs))
    ends = rng.random(jobs) < lost
    length = np.where(ends, 600, 10) * MINUTE + rng.integers(0, MINUTE, jobs)
    outcome = np.where(ends & (not long_ones_finish), KILL, FINISH)
    cause = [int(Cause.USER) if each == KILL else None for each in outcome]
    return _single(
        submit,
        outcome,
        task=np.arange(jobs),
        queued=submit,
        start=submit,
        end=submit + length,
        outcome=outcome.astype(np.int8),
        cause=cause,
    )


def failing(jobs: int, spared: tuple[int, int]) -> Trace:
    """Jobs of ten minutes; every third fails once and is started again, but none of some."""
    number = np.arange(jobs)
    fails = (number % 3 == 0) & ~((number >= spared[0]) & (number < spared[1]))
    task = np.sort(np.concatenate([number, number[fails]]))
    first = np.concatenate([[True], task[1:] != task[:-1]])
    lost = first & fails[task]
    submit = number * 20 * MINUTE
    start = submit[task] + np.where(first, 0, 6 * MINUTE)
    return _single(
        submit,
        np.zeros(jobs),
        task=task,
        queued=start,
        start=start,
        end=start + np.where(lost, 5, 10) * MINUTE,
        outcome=np.where(lost, FAIL, FINISH).astype(np.int8),
        cause=[int(Cause.INTRINSIC) if each else None for each in lost],
    )


def in_vain(jobs: int, of_last: int) -> Trace:
    """Jobs of ten minutes, every second of which fails; of the last so many all fail, are started
    again and fail again.
    """
    number = np.arange(jobs)
    again = number >= jobs - of_last
    fails = (number % 2 == 0) | again
    task = np.sort(np.concatenate([number, number[again]]))
    first = np.concatenate([[True], task[1:] != task[:-1]])
    submit = number * 20 * MINUTE
    start = submit[task] + np.where(first, 0, 6 * MINUTE)
    outcome = np.where(fails, FAIL, FINISH).astype(np.int8)
    return _single(
        submit,
        outcome,
        task=task,
        queued=start,
        start=start,
        end=start + np.where(fails[task], 5, 10) * MINUTE,
        outcome=outcome[task],
        cause=[int(Cause.INTRINSIC) if each else None for each in fails[task]],
    )


def retried(jobs: int) -> Trace:
    """Jobs of about ten minutes; of three one fails and is done again, one fails and is left so.

    What is done again finishes in ten minutes.
    """
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, jobs)
    task = np.sort(np.concatenate([np.arange(jobs), np.flatnonzero(kind == 1)]))
    again = np.concatenate([[False], task[1:] == task[:-1]])
    fails = (kind[task] > 0) & ~again
    submit = np.arange(jobs) * 20 * MINUTE
    start = submit[task] + np.where(again, 12 * MINUTE, 0)
    return _single(
        submit,
        np.where(kind == 2, FAIL, FINISH),
        task=task,
        queued=start,
        start=start,
        end=start + np.where(again, 600_000, rng.integers(60_000, 660_000, len(task))),
        outcome=np.where(fails, FAIL, FINISH).astype(np.int8),
        cause=[int(Cause.INTRINSIC) if each else None for each in fails],
    )


def late_ends(jobs: int) -> Trace:
    """Jobs of ten minutes that finish or of ten hours that are killed; of those submitted before
    the later half none is over before the second of its five folds.
    """
    plain = doomed(jobs, long_ones_finish=False)
    start, end = (plain.column("attempts", name) for name in ("start", "end"))
    early, second = np.arange(jobs) < jobs // 2, start[jobs // 2 + jobs // 10]
    attempts = {
        name: plain.column("attempts", name) for name in ("task", "queued", "start", "outcome")
    }
    cause = [int(Cause.USER) if each == KILL else None for each in attempts["outcome"]]
    over = np.where(early, np.maximum(end, second - MINUTE), end)
    return with_tables(plain, attempts={**attempts, "end": over, "cause": cause})


def one_long_job(jobs: int) -> Trace:
    """Jobs of ten minutes that finish, and one of a thousand hours that is killed."""
    plain = doomed(jobs, long_ones_finish=True, lost=0.0)
    long = np.arange(jobs) == 3 * jobs // 4
    start, end = (plain.column("attempts", name) for name in ("start", "end"))
    outcome = np.where(long, KILL, FINISH).astype(np.int8)
    attempts = {
        "task": np.arange(jobs),
        "queued": start,
        "start": start,
        "end": np.where(long, start + 60_000 * MINUTE, end),
        "outcome": outcome,
        "cause": [int(Cause.USER) if each else None for each in long],
    }
    return with_tables(plain, attempts=attempts)


def on_machines(trace: Trace, count: int) -> Trace:
    """The same record, and so many machines of one slot."""
    machines = {"original_id": [f"m{i}" for i in range(count)], "speed": 1.0, "slots": 1}
    return with_tables(trace, machines=machines)


def from_date(trace: Trace, unix_origin: int) -> Trace:
    """The same record, with a date of its time 0 [ms since 1970]."""
    meta = replace(trace.meta, unix_origin=unix_origin)
    return Trace(meta, **{name: trace.table(name) for name in TABLES})


def by_one_user(trace: Trace) -> Trace:
    """The same record; one user submitted all of it."""
    columns = ("original_id", "submit", "width", "outcome")
    jobs = {name: trace.column("jobs", name) for name in columns}
    return with_tables(trace, jobs={**jobs, "user": ["ann"] * trace.rows("jobs")})
