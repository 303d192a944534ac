"""Static features: Rosà et al.'s lists, and nothing of later."""

from __future__ import annotations

import numpy as np
import pytest

from failgym.predictors.features.static import (
    JOB_STATIC,
    TASK_STATIC,
    arrivals,
    job_static,
    task_static,
)
from failgym.traces import Meta, Outcome, Trace


@pytest.fixture
def trace() -> Trace:
    """A job of three tasks, of which the last comes late; one of one; and one without tasks."""
    return Trace.of(
        Meta("three jobs"),
        jobs={
            "original_id": ["a", "b", "c"],
            "submit": [100, 200, 300],
            "width": [3, 1, 1],
            "outcome": [Outcome.FINISH, Outcome.FINISH, Outcome.KILL],
            "priority": [9, None, 1],
            "scheduling_class": [2, 3, None],
        },
        tasks={
            "job": [0, 0, 0, 1],
            "index": [0, 1, 2, 0],
            "width": 1,
            "cpu": [0.25, 0.75, 0.9, 0.1],
            "memory": [0.1, 0.1, 0.2, None],
        },
        attempts={
            "task": [0, 1, 2, 3],
            "queued": [110, 110, 111, 190],
            "start": [120, 130, 140, 210],
            "end": 500,
            "outcome": Outcome.FINISH,
        },
    )


def test_the_paper_counts_10_and_5(trace: Trace) -> None:
    assert (len(set(JOB_STATIC)), len(set(TASK_STATIC))) == (10, 5)
    (jobs, job_names), (tasks, task_names) = job_static(trace), task_static(trace)
    assert (jobs.shape, tasks.shape) == ((3, 10), (4, 5))
    assert jobs.dtype == tasks.dtype == np.float32
    assert (job_names, task_names) == (JOB_STATIC, TASK_STATIC)


def test_tasks_by_hand(trace: Trace) -> None:
    first, *_, last = task_static(trace)[0]
    expected = {"priority": 9, "cpu": 0.25, "memory": 0.1, "disk": 0, "scheduling_class": 2}
    assert dict(zip(TASK_STATIC, first.tolist(), strict=True)) == pytest.approx(expected)
    unknown = {"priority": 0, "cpu": 0.1, "memory": 0, "disk": 0, "scheduling_class": 3}
    assert dict(zip(TASK_STATIC, last.tolist(), strict=True)) == pytest.approx(unknown)


def test_jobs_by_hand_know_the_tasks_that_are_there(trace: Trace) -> None:
    first, _, without = job_static(trace)[0]
    assert dict(zip(JOB_STATIC, first.tolist(), strict=True)) == pytest.approx(
        {
            "tasks": 3,
            "scheduling_class": 2,
            "priority_mean": 9,
            "priority_deviation": 0,
            "cpu_mean": 0.5,
            "cpu_deviation": 0.25,
            "memory_mean": 0.1,
            "memory_deviation": 0,
            "disk_mean": 0,
            "disk_deviation": 0,
        }
    )
    assert first[JOB_STATIC.index("memory_deviation")] == 0.0  # exactly: it is no noise
    assert without.tolist() == [1, *[0] * 9]


def test_a_job_is_predicted_with_its_first_task_and_a_task_with_its_job(trace: Trace) -> None:
    jobs, tasks = arrivals(trace)
    assert jobs.tolist() == [110, 200, 300]
    assert tasks.tolist() == [110, 110, 111, 200]


def test_equal_requests_do_not_deviate_whatever_their_value() -> None:
    rng = np.random.default_rng(0)
    width = 77
    cpu = np.repeat(rng.random(20), width)
    trace = Trace.of(
        Meta("equal tasks"),
        jobs={
            "original_id": [str(number) for number in range(20)],
            "submit": 0,
            "width": width,
            "outcome": Outcome.FINISH,
        },
        tasks={
            "job": np.repeat(np.arange(20), width),
            "index": np.tile(np.arange(width), 20),
            "width": 1,
            "cpu": cpu,
        },
        attempts={"task": np.arange(20 * width), "start": 0, "end": 1, "outcome": Outcome.FINISH},
    )
    jobs = job_static(trace)[0]
    assert not jobs[:, JOB_STATIC.index("cpu_deviation")].any()
    assert jobs[:, JOB_STATIC.index("cpu_mean")] == pytest.approx(cpu[::width], rel=1e-6)
