"""The end of a twin's data: what comes later is not in it, and what goes on is CENSORED."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from failgym.traces.twins.lasting import Lasting
from failgym.traces.twins.record import Flags, Ints, Record
from failgym.traces.twins.shapes import Shapes
from failgym.traces.twins.timeline import Timeline
from failgym.vocabulary import Cause, Outcome

__all__ = ["Kept", "kept"]

CAUSES = {
    Outcome.FAIL: Cause.INTRINSIC,
    Outcome.KILL: Cause.USER,
    Outcome.EVICT: Cause.PREEMPTION,
}
"""Cause of an attempt that ends after the record of its donor did, by outcome."""


@dataclass(frozen=True)
class Kept:
    """Which jobs, tasks and attempts are in the twin, and how its attempts and jobs ended."""

    end: int
    jobs: Flags
    tasks: Flags
    attempts: Flags
    start: Ints
    """[ms]; -1 for what never ran, (attempts,)"""
    finish: Ints
    """[ms], (attempts,)"""
    outcome: Ints
    cause: Ints
    """-1 for none, (attempts,)"""
    job_outcome: Ints


def kept(record: Record, plan: Timeline, shape: Shapes, lasting: Lasting, jobs: int) -> Kept:
    """The first `jobs` jobs of a twin, and what is known of them when the last one comes.

    A twin that repeats nothing ends when the record does.
    """
    began = _began(plan, shape)
    end = max(record.period, int(began.max(initial=0)))
    if len(began) > jobs:
        end = int(np.partition(began, jobs - 1)[jobs - 1])
    chosen = np.zeros(len(began), dtype=np.bool_)
    chosen[np.lexsort((np.arange(len(began)), began))[:jobs]] = True
    attempts = (shape.queued <= end) & chosen[shape.job][shape.task]
    tasks = np.zeros(len(shape.job), dtype=np.bool_)
    tasks[shape.task[attempts]] = True
    ran = record.trace.present("attempts", "start")[shape.donor]
    cut = shape.end > end
    outcome, cause = _endings(record, plan, shape, lasting, ran)
    outcome, cause = np.where(cut, Outcome.CENSORED, outcome), np.where(cut, -1, cause)
    return Kept(
        end=end,
        jobs=chosen,
        tasks=tasks,
        attempts=attempts,
        start=np.where(ran & (shape.start <= end), shape.start, -1),
        finish=np.minimum(shape.end, end),
        outcome=outcome,
        cause=cause,
        job_outcome=_job_outcome(record, plan, shape, lasting, attempts & cut),
    )


def _began(plan: Timeline, shape: Shapes) -> Ints:
    """When each job is first heard of, (jobs,)."""
    began = np.full(len(plan.submit), np.iinfo(np.int64).max)
    np.minimum.at(began, shape.job[shape.task], shape.queued)
    return np.maximum(np.where(began == np.iinfo(np.int64).max, plan.submit, began), plan.submit)


def _endings(
    record: Record, plan: Timeline, shape: Shapes, lasting: Lasting, ran: Flags
) -> tuple[Ints, Ints]:
    """How each attempt ends if the twin goes on long enough, and why."""
    outcome = record.trace.column("attempts", "outcome")[shape.donor].astype(np.int64)
    cause = record.trace.column("attempts", "cause")[shape.donor].astype(np.int64)
    late = np.flatnonzero(shape.continued)
    job = lasting.ending[plan.donor[shape.job[shape.task[late]]]]
    ending = np.where(job >= 0, record.outcome[job], Outcome.CENSORED)
    ending = np.where(ran[late] | (ending == Outcome.CENSORED), ending, Outcome.KILL)
    outcome[late] = ending
    cause[late] = -1
    for kind, reason in CAUSES.items():
        cause[late[ending == kind]] = reason
    return outcome, cause


def _job_outcome(
    record: Record, plan: Timeline, shape: Shapes, lasting: Lasting, cut: Flags
) -> Ints:
    """How each job ended, (jobs,)."""
    outcome = record.outcome[plan.donor]
    job = lasting.ending[plan.donor]
    later = np.where(job >= 0, record.outcome[job], Outcome.CENSORED)
    outcome = np.where(lasting.open[plan.donor], later, outcome)
    outcome[shape.job[shape.task[cut]]] = Outcome.CENSORED
    return outcome
