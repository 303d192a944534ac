"""Flags: the failures so far, of a task, of its job, of nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from failgym.predictors.features.flags import Failures, attempt_flags, job_flags, task_flags
from failgym.traces import Cause, Meta, Outcome, Trace
from failgym.traces.synthetic import generate

ENDS = ((Outcome.FAIL, Cause.INTRINSIC), (Outcome.EVICT, Cause.PREEMPTION))


def random_trace(rng: np.random.Generator) -> Trace:
    """A few jobs whose attempts fail or are evicted, with many ties and runs of no time."""
    jobs, tasks = 3, 7
    task = np.sort(np.concatenate((np.arange(tasks), rng.integers(0, tasks, 18 - tasks))))
    start = rng.integers(0, 8, 18)
    start = start[np.lexsort((start, task))]
    fate = [ENDS[pick] for pick in rng.integers(0, 2, 18)]
    return Trace.of(
        Meta("random"),
        jobs={"original_id": list("abc"), "submit": 0, "width": 7, "outcome": Outcome.FAIL},
        tasks={"job": rng.integers(0, jobs, tasks), "index": range(tasks), "width": 1},
        attempts={
            "task": task,
            "start": start,
            "end": start + rng.integers(0, 4, 18),
            "outcome": [outcome for outcome, _ in fate],
            "cause": [cause for _, cause in fate],
        },
    )


def failed(trace: Trace, group: int, by: str, time: int, row: int) -> int:
    """How many attempts of a task or job have failed by a time, by counting."""
    task, job = trace.column("attempts", "task"), trace.column("tasks", "job")
    count = 0
    for i in range(trace.rows("attempts")):
        of = task[i] if by == "task" else job[task[i]]
        end = trace.column("attempts", "end")[i]
        over = end < time or (end == time and i < row)
        fails = trace.column("attempts", "outcome")[i] == Outcome.FAIL
        count += bool(of == group and over and fails)
    return count


@pytest.mark.parametrize("seed", range(20))
def test_what_is_counted_is_what_a_count_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = random_trace(rng)
    failures = Failures.of(trace)
    task, job = trace.column("attempts", "task"), trace.column("tasks", "job")
    attempt, time = rng.integers(0, 18, 60), rng.integers(0, 12, 60)
    flags = attempt_flags(trace, failures, attempt, time).tolist()
    of_tasks = task_flags(trace, failures, task[attempt], time).tolist()
    of_jobs = job_flags(trace, failures, job[task[attempt]], time).tolist()
    for i, (row, now) in enumerate(zip(attempt.tolist(), time.tolist(), strict=True)):
        of_task, of_job = int(task[row]), int(job[task[row]])
        own = failed(trace, of_task, "task", now, row)
        siblings = failed(trace, of_job, "job", now, row)
        assert flags[i] == [siblings > 0, own > 0, own]
        own = failed(trace, of_task, "task", now, 0)
        siblings = failed(trace, of_job, "job", now, 0)
        assert of_tasks[i] == [siblings > 0, own > 0, own]
        assert of_jobs[i] == [siblings > 0, siblings]


def test_an_attempt_of_no_time_does_not_know_that_it_fails() -> None:
    trace = Trace.of(
        Meta("three at once"),
        jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.FAIL},
        tasks={"job": [0], "index": [0], "width": 1},
        attempts={
            "task": [0, 0, 0],
            "start": [5, 5, 5],
            "end": [5, 5, 5],
            "outcome": Outcome.FAIL,
            "cause": Cause.INTRINSIC,
        },
    )
    flags = attempt_flags(trace, Failures.of(trace), np.arange(3), np.full(3, 5))
    assert flags[:, 2].tolist() == [0, 1, 2]


def test_after_its_first_attempt_a_task_of_the_profile_knows_how_often_it_failed() -> None:
    trace = generate("google-2011-failing", jobs=100, seed=3, usage=False)
    started = np.flatnonzero(trace.present("attempts", "start"))
    task = trace.column("attempts", "task")
    time = trace.column("attempts", "start")[started]
    flags = attempt_flags(trace, Failures.of(trace), started, time)
    fails = trace.column("attempts", "outcome") == Outcome.FAIL
    before = np.cumsum(fails) - fails
    assert flags[:, 2].tolist() == (before - before[trace.task_first[task]])[started].tolist()
    assert flags[:, 2].max() >= 3


def test_a_trace_without_failures_has_no_flags() -> None:
    trace = Trace.of(
        Meta("one task"),
        jobs={"original_id": ["a"], "submit": [0], "width": 1, "outcome": Outcome.FINISH},
        tasks={"job": [0], "index": [0], "width": 1},
        attempts={"task": [0], "start": [0], "end": [9], "outcome": Outcome.FINISH},
    )
    none, at = Failures.of(trace), np.array([9])
    assert not attempt_flags(trace, none, np.array([0]), at).any()
    assert not job_flags(trace, none, np.array([0]), at).any()
