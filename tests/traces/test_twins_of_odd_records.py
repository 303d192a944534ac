"""Twins of records that are small, short, or of an odd kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from failgym.cli import run
from failgym.traces import Meta, Outcome, Trace, TraceError, twin
from failgym.vocabulary import DAY, MINUTE, SECOND


def log(
    submit: Any,
    tasks: Any = 1,
    run_time: Any = 5 * MINUTE,
    wait: Any = SECOND,
    memory: Any = 0.1,
    walltime: Any = None,
    end: int | None = None,
) -> Trace:
    """A log of single tasks that finish; of as many tasks a job as `tasks` says."""
    submit = np.asarray(submit)
    width = np.broadcast_to(tasks, submit.shape)
    job = np.repeat(np.arange(len(submit)), width)
    start = submit[job] + wait
    last = start + run_time
    limit = {} if walltime is None else {"walltime": walltime}
    return Trace.of(
        Meta("a log", end=int(max(last.max(initial=0), submit.max())) if end is None else end),
        jobs={
            "original_id": [str(at) for at in range(len(submit))],
            "submit": submit,
            "width": np.maximum(width, 1),
            "outcome": Outcome.FINISH,
            "user": [f"person {at % 5}" for at in range(len(submit))],
            "name": [f"program {at % 20}" for at in range(len(submit))],
            **limit,
        },
        tasks={
            "job": job,
            "index": np.arange(len(job)) - (np.cumsum(width) - width)[job],
            "width": 1,
            "cpu": 0.1,
            "memory": memory,
        },
        attempts={
            "task": np.arange(len(job)),
            "queued": submit[job],
            "start": start,
            "end": last,
            "outcome": Outcome.FINISH,
        },
    )


@pytest.mark.parametrize("jobs", [None, 1, 9])
def test_one_job_has_a_twin(jobs: int | None) -> None:
    made = twin(log([1]), jobs, part="all")
    assert made.rows("jobs") == (jobs or 1)


def test_jobs_that_came_at_one_moment_are_as_many() -> None:
    assert twin(log(np.full(50, 5_000)), part="all").rows("jobs") == 50


def test_a_twin_as_large_as_its_record_ends_with_it() -> None:
    record = log(1 + MINUTE * np.arange(100))
    assert twin(record, 100, 3, part="all").meta.end == record.meta.end
    assert twin(record, seed=3).meta.end == record.split("train").meta.end


def test_jobs_of_which_no_task_is_known_are_left_out() -> None:
    width = np.arange(60) % 3
    for private in (1, 3):
        made = twin(log(1 + MINUTE * np.arange(60), width), 80, private=private)
        assert made.rows("jobs") == 80
        assert (np.bincount(made.column("tasks", "job"), minlength=80) > 0).all()


def test_a_train_part_in_which_nothing_ran_teaches_nothing() -> None:
    record = log(np.full(50, 5_000))
    with pytest.raises(TraceError, match=r"\[train\]: nothing had run yet; learn from all of it"):
        twin(record)


def test_a_record_without_jobs_in_its_whole_days_cannot_be_repeated() -> None:
    record = log(int(2.5 * DAY) + MINUTE * np.arange(30), end=int(2.9 * DAY))
    with pytest.raises(TraceError, match="no jobs came in its first 2 whole days"):
        twin(record, part="all")


def test_no_twin_lasts_longer_than_times_can_be_told() -> None:
    record = log(10**11 * np.arange(1, 101))
    with pytest.raises(TraceError, match=r"expected at most 68\d: more would last 2,230 years"):
        twin(record, 1_000, part="all")


def _workflows() -> Trace:
    """Tasks that nobody has run yet, whose lengths are known."""
    number = 6 * 4
    job = np.repeat(np.arange(6), 4)
    return Trace.of(
        Meta("workflows", end=0),
        jobs={
            "original_id": [str(at) for at in range(6)],
            "submit": 0,
            "width": 4,
            "outcome": np.full(6, Outcome.CENSORED),
            "name": [f"flow {at // 2}" for at in range(6)],
        },
        tasks={"job": job, "index": np.arange(number) % 4, "width": 1},
        attempts={
            "task": np.arange(number),
            "queued": 0,
            "end": 0,
            "outcome": Outcome.CENSORED,
            "length": 60_000 + 7_001 * np.arange(number),
        },
    )


@pytest.mark.parametrize("jobs", [3, 6, 40])
def test_workflows_keep_their_lengths_about(jobs: int) -> None:
    record = _workflows()
    made = twin(record, jobs, 2)
    assert made.rows("jobs") == jobs
    length = made.column("attempts", "length", missing=-1)
    known = record.column("attempts", "length")
    assert (length > 0).all()
    assert not set(length.tolist()) & set(known.tolist())
    assert known.min() / 1.7 < length.min() < length.max() < 1.7 * known.max()
    assert (made.column("jobs", "submit") == 0).all()


def _whole(trace: Trace) -> Counter[tuple[int, ...]]:
    """Wait, run time and wall time of each job of one task [s]."""
    wait = trace.column("attempts", "start") - trace.column("attempts", "queued")
    run_time = trace.column("attempts", "end") - trace.column("attempts", "start")
    limit = trace.column("jobs", "walltime")
    return Counter(zip(*((one // SECOND).tolist() for one in (wait, run_time, limit)), strict=True))


def test_no_job_of_a_log_comes_back_whole() -> None:
    """Not even of a log in whole seconds, of jobs that wait long, run shortly, or to a limit."""
    rng, jobs = np.random.default_rng(4), 2_000
    limit = np.full(jobs, 600 * SECOND)
    run_time = rng.integers(10, 60, jobs) * SECOND
    run_time[::4] = limit[::4]
    wait = rng.integers(100, 10**6, jobs) * SECOND
    submit = 300 * SECOND * np.arange(1, jobs + 1)
    record = log(submit, run_time=run_time, wait=wait, walltime=limit)
    made = twin(record, seed=1, part="all")
    again = sum((_whole(made) & _whole(record)).values())
    assert again < 0.005 * jobs  # by chance: waits of a million seconds
    ran = made.column("attempts", "end") - made.column("attempts", "start")
    assert (ran == 600 * SECOND).mean() == pytest.approx(0.25, abs=0.1)  # limits are kept


def test_what_one_job_requests_is_not_in_a_private_twin() -> None:
    memory = np.full(200, 0.1)
    memory[77] = 0.7654321
    made = twin(log(1 + MINUTE * np.arange(200), memory=memory), part="all", private=5)
    assert set(made.column("tasks", "memory").tolist()) == {0.1}


def test_a_job_of_many_requests_is_one_job() -> None:
    """Its requests are not averaged among themselves alone."""
    width = np.where(np.isin(np.arange(200), [50, 60, 70, 80]), 6, 1)
    job = np.repeat(np.arange(200), width)
    memory = np.where(width[job] > 1, 0.3 + 0.01 * np.arange(len(job)), 0.1)
    made = twin(log(1 + MINUTE * np.arange(200), width, memory=memory), part="all", private=5)
    assert set(made.column("tasks", "memory").tolist()) == {0.1}


def test_the_command_does_not_write_over_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = log(1 + MINUTE * np.arange(30))
    record.save(tmp_path / "record")
    same = tmp_path / "." / "other" / ".." / "record"
    (tmp_path / "other").mkdir()
    assert run(["trace", "twin", str(tmp_path / "record"), "--out", str(same)]) == 2
    assert "is the record itself: not written" in capsys.readouterr().err
    assert Trace.load(tmp_path / "record").content_hash == record.content_hash
