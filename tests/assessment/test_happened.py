"""What happened on a record, counted by hand and by the replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from failgym.assessment import Happened, happened
from failgym.baselines import Replay
from failgym.envs import resolve
from failgym.evaluation import Record, compare, run_policy, whole_trace_world
from failgym.traces import Meta, Trace, generate
from failgym.traces.schema import make_table
from failgym.vocabulary import HOUR, Cause, Outcome

FINISH, FAIL, KILL, EVICT, CENSORED = (
    int(Outcome[name]) for name in ("FINISH", "FAIL", "KILL", "EVICT", "CENSORED")
)


def record(attempts: list[tuple[int, int, int, int, int | None]], **jobs: Any) -> Trace:
    """A record of jobs of one task each: (job, start [h], end [h], outcome, cause) of attempts."""
    count = 1 + max(job for job, *_ in attempts)
    last = {job: outcome for job, _, _, outcome, _ in attempts}
    columns: dict[str, Any] = {
        "original_id": [f"job-{i}" for i in range(count)],
        "submit": [
            min(start for job, start, *_ in attempts if job == i) * HOUR for i in range(count)
        ],
        "width": [1] * count,
        "outcome": [last[i] for i in range(count)],
        **jobs,
    }
    return Trace.of(
        Meta("by hand"),
        jobs=columns,
        tasks={"job": list(range(count)), "index": [0] * count, "width": [1] * count},
        attempts={
            "task": [job for job, *_ in attempts],
            "queued": [start * HOUR for _, start, *_ in attempts],
            "start": [start * HOUR for _, start, *_ in attempts],
            "end": [end * HOUR for _, _, end, *_ in attempts],
            "outcome": [outcome for *_, outcome, _ in attempts],
            "cause": [cause for *_, cause in attempts],
        },
    )


BY_HAND = record(
    [
        (0, 0, 5, EVICT, int(Cause.PREEMPTION)),
        (0, 6, 9, FINISH, None),
        (1, 1, 21, KILL, int(Cause.USER)),
        (2, 2, 4, FAIL, int(Cause.INTRINSIC)),
        (2, 4, 12, CENSORED, None),
    ],
    user=["ann", "bob", "ann"],
)


def test_by_hand() -> None:
    found = happened(BY_HAND)
    assert (found.jobs, found.tasks, found.attempts) == (3, 3, 5)
    assert (found.useful, found.wasted, found.unknown) == (3.0, 25.0, 10.0)
    assert found.hours == 38.0
    assert found.wasted_share == pytest.approx(25.0 / 28.0)
    assert found.restarts == 2
    assert [(each.name, each.hours, each.jobs) for each in found.causes] == [
        ("its user cancelled it", 20.0, 1),
        ("it was evicted for others", 5.0, 1),
    ]
    assert [(each.name, each.hours, each.share) for each in found.top_users] == [
        ("bob", 20.0, 0.8),
        ("ann", 5.0, 0.2),
    ]
    assert [each.name for each in found.top_jobs] == ["job-1", "job-0"]
    assert found.top_applications == ()
    assert (found.applications, found.users) == (None, 2)
    assert found.outcomes["CENSORED"] == 1


def test_shares_of_users_are_of_all_waste() -> None:
    """That of tasks which nobody put a name to, too."""
    frame = BY_HAND.frame("jobs")
    columns: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame}
    tables = {name: getattr(BY_HAND, name) for name in ("jobs", "tasks", "attempts")}
    tables["jobs"] = make_table("jobs", {**columns, "user": ["ann", None, "ann"]})
    found = happened(Trace(BY_HAND.meta, **tables))
    assert [(each.name, each.hours, each.share) for each in found.top_users] == [("ann", 5.0, 0.2)]


def test_jobs_that_never_ran_wasted_nothing() -> None:
    """They are not among the jobs that hold what a user wasted."""
    some = record(
        [(0, 0, 5, KILL, int(Cause.USER)), (1, 1, 1, KILL, int(Cause.USER))], user=["ann"] * 2
    )
    [ann] = happened(some).top_users
    assert (ann.hours, ann.jobs) == (5.0, 1)


def test_what_an_import_repaired_is_told() -> None:
    meta = Meta("by hand", dropped={"without a time": 1_200}, noted={"end before the start": 3})
    tables = {name: getattr(BY_HAND, name) for name in ("jobs", "tasks", "attempts")}
    said = happened(Trace(meta, **tables)).silent
    assert "Rows of the log that were dropped when it was read: without a time (1,200)." in said
    assert said[-1].endswith("kept and odd when it was read: end before the start (3).")


def test_gpus_by_hand() -> None:
    tables = {name: getattr(BY_HAND, name) for name in ("jobs", "tasks", "attempts")}
    frame = BY_HAND.frame("tasks").assign(gpu=[2.0, 0.0, 4.0])
    tables["tasks"] = make_table("tasks", {str(name): frame[name].to_numpy() for name in frame})
    found = happened(Trace(BY_HAND.meta, **tables))
    assert found.gpu_hours == {"useful": 6.0, "wasted": 10.0, "unknown": 40.0}
    assert happened(BY_HAND).gpu_hours is None


def test_machine_time_is_shared_out_among_the_hours_in_which_it_was_spent() -> None:
    found = happened(BY_HAND)
    assert found.period == "hour"
    for at, each in enumerate(found.periods):
        assert each.start == at * HOUR
        assert each.useful == float(6 <= at < 9)
        assert each.wasted == float(at < 5) + float(1 <= at < 21)
        assert each.unknown == float(2 <= at < 12)


@pytest.mark.parametrize(
    "profile", ["google-2011", "system-a-applications", "lanl-20", "opencloud"]
)
def test_the_replay_divides_machine_time_in_the_same_way(profile: str) -> None:
    trace = generate(profile, jobs=300, seed=3)
    found = happened(trace)
    rules = resolve("GracePeriod-v1").reduced(kill=False, forecast="none")
    run = run_policy(whole_trace_world(trace, rules), rules, Replay())
    compared = compare(run, Record.of(trace))
    assert compared.mismatches == 0
    work, parts = compared.work, compared.trace_work
    assert found.useful * HOUR == pytest.approx(work["useful"], abs=0.5)
    wasted = work["lost"] + work["redundant"] - parts["ended"]
    assert found.wasted * HOUR == pytest.approx(wasted, abs=0.5)
    assert found.unknown * HOUR == pytest.approx(parts["ended"] + parts["running"], abs=0.5)


@pytest.mark.parametrize("profile", ["google-2011", "system-b", "lanl-20"])
def test_parts_are_the_whole(profile: str) -> None:
    trace = generate(profile, jobs=400, seed=1)
    found = happened(trace)
    assert sum(each.hours for each in found.causes) == pytest.approx(found.wasted)
    assert sum(each.share for each in found.causes) == pytest.approx(1.0)
    for name in ("useful", "wasted", "unknown"):
        total = sum(getattr(each, name) for each in found.periods)
        assert total == pytest.approx(getattr(found, name))
    assert sum(found.outcomes.values()) == found.tasks


def test_the_groups_are_those_of_a_data_frame() -> None:
    trace = generate("google-2011-applications", jobs=400, seed=2)
    found = happened(trace)
    attempts = trace.frame("attempts")
    tasks, jobs = trace.frame("tasks"), trace.frame("jobs")
    attempts["job"] = tasks["job"].to_numpy()[attempts["task"]]
    attempts["user"] = jobs["user"].to_numpy()[attempts["job"]]
    attempts["hours"] = (attempts["end"] - attempts["start"]) / HOUR
    attempts["hours"] *= tasks["width"].to_numpy()[attempts["task"]]
    known = trace.task_outcome[attempts["task"]] != CENSORED
    finished = attempts[known & (attempts["outcome"] == FINISH)]
    first = finished.sort_values("end", kind="stable").groupby("task").head(1).index
    wasted = attempts[known & ~attempts.index.isin(first)]
    by_user = wasted.groupby("user")["hours"].sum().sort_values(ascending=False)
    assert [each.name for each in found.top_users] == by_user.index[:10].tolist()
    assert [each.hours for each in found.top_users] == pytest.approx(by_user[:10].tolist())
    counts = wasted[wasted["hours"] > 0].groupby("user")["job"].nunique()
    assert [each.jobs for each in found.top_users] == counts[by_user.index[:10]].tolist()


def of_one_job() -> Trace:
    return record([(0, 0, 2, FAIL, int(Cause.INTRINSIC))])


def of_censored_tasks() -> Trace:
    return record([(0, 0, 2, CENSORED, None), (1, 1, 2, CENSORED, None)])


def that_never_ran() -> Trace:
    return Trace.of(
        Meta("by hand"),
        jobs={"original_id": ["a"], "submit": [0], "width": [1], "outcome": [KILL]},
        tasks={"job": [0], "index": [0], "width": [1]},
        attempts={
            "task": [0],
            "queued": [0],
            "end": [5],
            "outcome": [KILL],
            "cause": [int(Cause.USER)],
        },
    )


@pytest.mark.parametrize(
    ("make", "hours", "wasted"),
    [(of_one_job, 2.0, 2.0), (of_censored_tasks, 3.0, 0.0), (that_never_ran, 0.0, 0.0)],
)
def test_odd_records(make: Callable[[], Trace], hours: float, wasted: float) -> None:
    found: Happened = happened(make())
    assert (found.hours, found.wasted) == (hours, wasted)
    assert np.isfinite(found.span)


def test_a_record_of_outages_alone_has_nothing_to_assess() -> None:
    with pytest.raises(ValueError, match="expected a record with tasks"):
        happened(Trace.of(Meta("by hand")))


def test_the_longest_periods_of_which_there_are_four() -> None:
    week = 7 * 24
    found = happened(record([(0, 0, 5 * week, KILL, int(Cause.USER)), (1, 0, 1, FINISH, None)]))
    assert (found.period, len(found.periods)) == ("week", 5)
    assert [each.wasted for each in found.periods] == [float(week)] * 5
