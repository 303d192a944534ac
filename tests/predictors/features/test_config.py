"""Configuration features: what is known of jobs and tasks at their submission, and no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from failgym.predictors.features.config import (
    CONFIG,
    MISSING,
    job_config,
    learn_vocabulary,
    task_config,
)
from failgym.traces import Meta, Outcome, Trace
from failgym.traces.schema import make_table
from failgym.traces.synthetic import generate

USERS = ["ann", "bob", "bob", "cid", None]


def by_hand(users: Any = USERS, **jobs: Any) -> Trace:
    """Five jobs of one task each, but for the first, of three; the third is submitted late."""
    return Trace.of(
        Meta("by hand"),
        jobs={
            "original_id": list("abcde"),
            "submit": 0,
            "width": [3, 1, 1, 1, 1],
            "outcome": Outcome.FINISH,
            "user": users,
            **jobs,
        },
        tasks={
            "job": [0, 0, 1, 2, 3, 4, 0],
            "index": [0, 1, 0, 0, 0, 0, 2],
            "width": 1,
            "cpu": [0.25, 0.75, 0.5, None, 0.5, 0.5, 0.125],
            "anti_affinity": [True, True, False, None, False, False, True],
        },
        attempts={
            "task": range(7),
            "queued": [0, 0, 0, 0, 0, 0, 100],
            "start": [0, 0, 0, 0, 0, 0, 100],
            "end": 200,
            "outcome": Outcome.FINISH,
        },
    )


def column(matrix: Any, name: str) -> list[float]:
    return matrix[:, CONFIG.index(name)].tolist()


def test_a_text_is_its_rank_by_frequency() -> None:
    trace = by_hand()
    rows = job_config(trace, learn_vocabulary(trace))
    assert column(rows, "user") == [1, 0, 0, 2, np.float32(MISSING)]
    assert column(rows, "queue") == [np.float32(MISSING)] * 5


def test_a_text_that_was_not_learned_is_a_category_of_its_own() -> None:
    vocabulary = learn_vocabulary(by_hand())
    users = column(job_config(by_hand(["dee", "ann", "eve", "aaa", None]), vocabulary), "user")
    assert users == [3, 1, 3, 3, np.float32(MISSING)]


def test_only_the_chosen_jobs_count() -> None:
    chosen = np.array([True, False, False, True, True])
    assert learn_vocabulary(by_hand(), chosen)["user"].tolist() == ["ann", "cid"]


def test_requests_are_those_of_the_tasks_known_at_the_submission() -> None:
    trace = by_hand()
    vocabulary = learn_vocabulary(trace)
    jobs, tasks = job_config(trace, vocabulary), task_config(trace, vocabulary)
    missing = np.float32(MISSING)
    assert column(jobs, "requested_cpu") == [0.5, 0.5, missing, 0.5, 0.5]
    assert column(jobs, "different_machines") == [1, 0, missing, 0, 0]
    assert column(tasks, "requested_cpu") == [0.25, 0.75, 0.5, missing, 0.5, 0.5, 0.125]
    assert column(tasks, "num_tasks") == [3, 3, 1, 1, 1, 1, 3]
    assert column(tasks, "user") == [1, 1, 0, 0, 2, missing, 1]


def test_numbers_and_flags_of_jobs_come_as_they_are() -> None:
    trace = by_hand(priority=[0, 9, None, 2, 2], shared=[True, False, None, True, True])
    rows = job_config(trace, learn_vocabulary(trace))
    assert column(rows, "priority") == [0, 9, np.float32(MISSING), 2, 2]
    assert column(rows, "shared") == [1, 0, np.float32(MISSING), 1, 1]


def test_neither_ids_nor_times_nor_places_are_features() -> None:
    trace = generate("google-2011", jobs=60, seed=1, usage=False)
    vocabulary = learn_vocabulary(trace)
    count = trace.rows("jobs")
    ids = [f"z{number}" for number in range(count)]
    jobs = {str(name): list(values)[::-1] for name, values in trace.frame("jobs").items()}
    tasks = {str(name): list(values) for name, values in trace.frame("tasks").items()}
    tasks["job"] = [count - 1 - job for job in tasks["job"]]
    other = replace(
        trace,
        jobs=make_table("jobs", {**jobs, "original_id": ids}),
        tasks=make_table("tasks", tasks),
    )
    assert np.array_equal(job_config(trace, vocabulary), job_config(other, vocabulary)[::-1])
    assert np.array_equal(task_config(trace, vocabulary), task_config(other, vocabulary))
